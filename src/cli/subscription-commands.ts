import type { Command } from 'commander'
import { operatorSubscriptionStore } from '../db/account-store.js'
import { moment, oneYearOn, words } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { type Answer, facts, type Runner } from './output.js'
import { requireUser, subscriptionCells, subscriptionJson } from './user-view.js'

export function subscriptionCommands(program: Command, run: Runner): void {
  program
    .command('subscription')
    .description('what a user is subscribed to')
    .command('set')
    .description('begin or change a subscription; what is not given stays as it is')
    .argument('<username>')
    .option('--plan <name>', 'the plan', words('--plan', 100))
    .option('--status <status>', 'active, canceled, past_due, …; only "active" may generate', status)
    .option('--until <date>', 'its end; a new subscription ends one year on unless given', moment('--until'))
    .option('--none', 'take the subscription away')
    .action(run.connected(setSubscription))
}

interface SetOptions {
  readonly plan?: string
  readonly status?: string
  readonly until?: Date
  readonly none?: boolean
}

async function setSubscription({ db }: Operator, username: string, options: SetOptions): Promise<Answer> {
  const { plan, status, until: endDate, none } = options
  const isEmpty = plan === undefined && status === undefined && endDate === undefined
  if (none && !isEmpty) throw new OperatorError('--none takes the subscription away: give it alone.')
  if (!none && isEmpty) throw new OperatorError('Nothing to set: give --plan, --status, --until or --none.')
  const user = await requireUser(db, username)
  const subscriptions = operatorSubscriptionStore(db)
  if (none) {
    await subscriptions.remove(user.id)
    return { json: { username: user.username, subscription: null }, text: `${user.username} has no subscription.` }
  }
  const set = await subscriptions.set(user.id, { plan, status, endDate }, oneYearOn(new Date()))
  if (!set) throw new OperatorError(`User "${user.username}" has no subscription yet: give --plan to begin one.`)
  const [planCell, statusCell, end] = subscriptionCells(set)
  return {
    json: { username: user.username, subscription: subscriptionJson(set) },
    text: facts([
      ['username', user.username],
      ['plan', planCell],
      ['status', statusCell],
      ['until', end],
    ]),
  }
}

function status(text: string): string {
  // "Active" would look right and keep its owner from generating.
  if (/^[a-z][a-z_]{0,39}$/.test(text)) return text
  throw new OperatorError(`--status must be lowercase letters and underscores, like active or past_due, not "${text}".`)
}
