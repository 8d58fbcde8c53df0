import type { Command } from 'commander'
import { operatorCreditStore } from '../db/accounts/ledger.js'
import {
  type Confirm,
  MAX_CREDITS,
  REASON,
  type ReasonOption,
  requireMeant,
  requireUser,
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

async function creditHistory({ db }: Operator, username: string) {
  const user = await requireUser(db, username)
  const entries = await operatorCreditStore(db).history(user.id)
  return {
    json: entries.map((e) => jsonOf(e, 'kind', 'delta', 'balance', 'generationId', 'note', 'ref', 'createdAt')),
    text: table(
      entries.map(({ createdAt: time, kind, delta, balance, generationId: job, note, ref }) => ({
        ...{ time, kind, delta, balance, job, note, ref },
      })),
      'No credits ever moved.',
    ),
  }
}
