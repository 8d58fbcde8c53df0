import type { Command } from 'commander'
import { MAX_REASON_LENGTH } from '../core/operator/operator-actions.js'
import { operatorCreditStore } from '../db/accounts/ledger.js'
import {
  type Confirm,
  MAX_CREDITS,
  REASON,
  type ReasonOption,
  requireMeant,
  requireUser,
  signedNumber,
  wholeNumber,
  words,
  YES,
} from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { jsonOf, plural, table } from './output.js'

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
    .action(run(grantCredits(confirm)))
  credits
    .command('adjust')
    .description('correct a balance; down to 0, unless told otherwise')
    .argument('<username>')
    .argument('<n>', 'how many more, or, below 0, how many fewer', signedNumber('N', MAX_CREDITS))
    .requiredOption('--reason <text>', 'why; its user sees it in the history', words('--reason', MAX_REASON_LENGTH))
    .option('--below-zero', 'take credits that the user has spent: the balance may fall below 0')
    .option(...YES)
    .action(run(adjustCredits(confirm)))
  credits.command('history <username>').description('every credit that moved, oldest first').action(run(creditHistory))
}

type GrantOptions = ReasonOption & { readonly note?: string; readonly ref?: string; readonly yes?: boolean }

const grantCredits = (confirm: Confirm) => async (operator: Operator, name: string, n: number, given: GrantOptions) => {
  const { db, recorded } = operator
  const { note, ref, yes = false, reason } = given
  const { id, username } = await requireUser(db, name)
  await requireMeant(n, yes, confirm)
  const granted = await recorded(
    reason,
    (on) => operatorCreditStore(on).grant(id, n, { note, ref }),
    ({ outcome }) => (outcome === 'granted' ? [`granted ${plural(n, 'credit')}`, username] : undefined),
  )
  if (granted.outcome === 'user_deleted') throw new OperatorError(`User "${username}" was deleted.`)
  if (granted.outcome === 'too_many')
    throw new OperatorError(`User "${username}" would hold more than ${MAX_CREDITS} credits: grant fewer.`)
  if (granted.outcome === 'ref_taken')
    throw new OperatorError(
      `"${ref}" is the reference of ${plural(granted.amount, 'credit')} granted to ${granted.username} before, so nothing was granted: give another --ref.`,
    )
  const { outcome, balance: credits } = granted
  const before = outcome === 'granted_before' ? ` "${ref}" was granted before: nothing changed.` : ''
  return {
    json: { username, credits, granted: outcome === 'granted' },
    text: `${username} now holds ${credits} credits.${before}`,
  }
}

interface AdjustOptions {
  readonly reason: string
  readonly belowZero?: boolean
  readonly yes?: boolean
}

const adjustCredits =
  (confirm: Confirm) => async (operator: Operator, name: string, n: number, given: AdjustOptions) => {
    const { db, recorded } = operator
    const { reason, belowZero = false, yes = false } = given
    const { id, username } = await requireUser(db, name)
    await requireMeant(n, yes, confirm)
    const adjusted = await recorded(
      reason,
      (on) => operatorCreditStore(on).adjust(id, n, { note: reason, belowZero }),
      (it) => (it.outcome === 'adjusted' ? [`corrected the credits by ${it.delta}`, username] : undefined),
    )
    if (adjusted.outcome === 'user_deleted') throw new OperatorError(`User "${username}" was deleted.`)
    if (adjusted.outcome === 'too_many')
      throw new OperatorError(
        `User "${username}" would hold more than ${MAX_CREDITS} credits, or owe as many: correct by fewer.`,
      )
    if (adjusted.outcome === 'nothing_to_take')
      throw new OperatorError(
        `User "${username}" holds ${adjusted.balance} credits, so nothing was taken: --below-zero lets the balance fall below 0.`,
      )
    if (adjusted.outcome === 'adjusted_before') throw new Error('a correction without a reference has none to repeat')
    const { delta, balance: credits } = adjusted
    const less = delta === n ? '' : ` Only ${-delta} of ${-n} were taken, down to 0: --below-zero takes more.`
    return { json: { username, credits, adjusted: delta }, text: `${username} now holds ${credits} credits.${less}` }
  }

async function creditHistory({ db }: Operator, username: string) {
  const user = await requireUser(db, username)
  const entries = await operatorCreditStore(db).history(user.id)
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
