import type { Command } from 'commander'
import { requireAccount } from '../core/operator/accounts.js'
import { adjustCredits, grantCredits, MAX_CREDITS } from '../core/operator/credits.js'
import { MAX_REASON_LENGTH } from '../core/operator/operator-actions.js'
import {
  type Confirm,
  REASON,
  type ReasonOption,
  requireMeant,
  signedNumber,
  wholeNumber,
  words,
  YES,
} from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { jsonOf, table } from './output.js'

export function creditCommands(program: Command, run: Runner, confirm: Confirm): void {
  const credits = program.command('credits').description('what users can spend')
  credits
    .command('grant <username>')
    .description('give credits')
    .argument('<n>', 'how many', wholeNumber('N', 1, MAX_CREDITS))
    .option('--note <text>', 'what for; shown in the history', words('--note', 500))
    .option(
      '--ref <id>',
      'your own reference, like an invoice number; a repeat with the same one grants nothing',
      words('--ref', 200),
    )
    .option(...YES)
    .option(...REASON)
    .action(run(grant(confirm)))
  credits
    .command('adjust')
    .description('correct a balance; down to 0, unless told otherwise')
    .argument('<username>')
    .argument('<n>', 'how many more, or, below 0, how many fewer', signedNumber('N', MAX_CREDITS))
    .requiredOption('--reason <text>', 'why; its user sees it in the history', words('--reason', MAX_REASON_LENGTH))
    .option('--below-zero', 'take credits that the user has spent: the balance may fall below 0')
    .option(...YES)
    .action(run(adjust(confirm)))
  credits.command('history <username>').description('every credit that moved, oldest first').action(run(creditHistory))
}

type GrantOptions = ReasonOption & { readonly note?: string; readonly ref?: string; readonly yes?: boolean }

const grant =
  (confirm: Confirm) =>
  async ({ acting }: Operator, name: string, n: number, given: GrantOptions) => {
    const { note, ref, yes = false, reason } = given
    await requireMeant(n, yes, confirm)
    const { username, credits, granted } = await grantCredits(acting(reason), name, n, { note, ref })
    const before = granted ? '' : ` "${ref}" was granted before: nothing changed.`
    return { json: { username, credits, granted }, text: `${username} now holds ${credits} credits.${before}` }
  }

interface AdjustOptions {
  readonly reason: string
  readonly belowZero?: boolean
  readonly yes?: boolean
}

const adjust =
  (confirm: Confirm) =>
  async ({ acting }: Operator, name: string, n: number, given: AdjustOptions) => {
    const { reason, belowZero = false, yes = false } = given
    await requireMeant(n, yes, confirm)
    const done = await adjustCredits(acting(reason), name, n, { note: reason, belowZero })
    const { username, credits, adjusted } = done
    const less = adjusted === n ? '' : ` Only ${-adjusted} of ${-n} were taken, down to 0: --below-zero takes more.`
    return { json: done, text: `${username} now holds ${credits} credits.${less}` }
  }

async function creditHistory({ stores }: Operator, username: string) {
  const entries = await stores.credits.history((await requireAccount(stores, username)).id)
  return {
    json: entries.map((e) =>
      jsonOf(e, 'kind', 'delta', 'balance', 'expiringDelta', 'generationId', 'note', 'ref', 'createdAt'),
    ),
    text: table(
      entries.map(({ createdAt: time, kind, delta, balance, generationId: job, note, ref }) => ({
        ...{ time, kind, delta, balance, job, note, ref },
      })),
      'No credits ever moved.',
    ),
  }
}
