import type { Command } from 'commander'
import { operatorCreditStore } from '../db/credit-store.js'
import { MAX_CREDITS, wholeNumber, words } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { type Answer, type Runner, table } from './output.js'
import { requireUser } from './user-view.js'

export function creditCommands(program: Command, run: Runner): void {
  const credits = program.command('credits').description('what users can spend')
  credits
    .command('grant')
    .description('give credits')
    .argument('<username>')
    .argument('<n>', 'how many', wholeNumber('N', 1, MAX_CREDITS))
    .option('--note <text>', 'what for; shown in the history', words('--note', 500))
    .option(
      '--ref <id>',
      'your own reference, like an invoice number: the same one grants a user once',
      words('--ref', 200),
    )
    .action(run.connected(grantCredits))
  credits
    .command('history')
    .description('every credit that moved, oldest first')
    .argument('<username>')
    .action(run.connected(creditHistory))
}

interface GrantOptions {
  readonly note?: string
  readonly ref?: string
}

async function grantCredits({ db }: Operator, username: string, n: number, options: GrantOptions): Promise<Answer> {
  const user = await requireUser(db, username)
  const granted = await operatorCreditStore(db).grant(user.id, n, { note: options.note, ref: options.ref })
  switch (granted.outcome) {
    case 'user_deleted':
      throw new OperatorError(`User "${user.username}" was deleted.`)
    case 'too_many':
      throw new OperatorError(`User "${user.username}" would hold more than ${MAX_CREDITS} credits: grant fewer.`)
    default: {
      const before =
        granted.outcome === 'granted_before' ? ` "${options.ref}" was granted before: nothing changed.` : ''
      return {
        json: { username: user.username, credits: granted.balance },
        text: `${user.username} now holds ${granted.balance} credits.${before}`,
      }
    }
  }
}

async function creditHistory({ db }: Operator, username: string): Promise<Answer> {
  const user = await requireUser(db, username)
  const entries = await operatorCreditStore(db).history(user.id)
  return {
    json: entries.map(({ kind, delta, balance, generationId, note, ref, createdAt }) => ({
      kind,
      delta,
      balance,
      generation_id: generationId,
      note,
      ref,
      created_at: createdAt,
    })),
    text: table(
      ['time', 'kind', 'delta', 'balance', 'job', 'note', 'ref'],
      entries.map(({ kind, delta, balance, generationId, note, ref, createdAt }) => [
        ...[createdAt, kind, delta, balance, generationId, note, ref],
      ]),
      'No credits ever moved.',
    ),
  }
}
