/** Users and their subscriptions. */
import type { Command } from 'commander'
import type { Subscription } from '../core/accounts/account.js'
import {
  type AdministeredAccount,
  countsOf,
  createAccount,
  endAccount,
  type ImportOutcome,
  importAccounts,
  requireAccount,
  rotateWebhookSecret,
  sayCounts,
} from '../core/operator/accounts.js'
import { MAX_CREDITS } from '../core/operator/credits.js'
import { inOneYear, removeSubscription, setSubscription } from '../core/operator/subscriptions.js'
import { purgeOf } from '../process/purge-account.js'
import { readAccountFile } from './account-file.js'
import {
  type Confirm,
  emailAddress,
  end,
  newUsername,
  planName,
  REASON,
  type ReasonOption,
  requireMeant,
  subscriptionStatus,
  UNLISTED,
  wholeNumber,
  YES,
} from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { exportUser } from './export-command.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf, table } from './output.js'
import { type ReadPassword, signInCommands } from './sign-in-commands.js'

/** What commands ask of whoever types them. */
interface Asking {
  readonly readPassword: ReadPassword
  readonly confirm: Confirm
}

export function userCommands(program: Command, run: Runner, { readPassword, confirm }: Asking): void {
  const user = program.command('user').description('who may generate')
  user
    .command('create')
    .description('create a user, with 0 credits and no subscription unless told otherwise')
    .argument('<username>', 'letters, digits and . _ @ + -', newUsername)
    .option('--credits <n>', 'credits to begin with', wholeNumber('--credits', 0, MAX_CREDITS))
    .option('--plan <name>', 'start an active subscription to this plan', planName('--plan'))
    .option(...UNLISTED)
    .option('--until <date>', 'its end, a day or a moment (default: in one year)', end('--until'))
    .option('--email <address>', 'where sign-in links for the website are sent', emailAddress)
    .option('--operator', 'may open the operator pages of the website')
    .option(...YES)
    .option(...REASON)
    .action(run(createUser(confirm)))
  user
    .command('import <file>')
    .description('create the users of a CSV file, and change those of the same name; all or nothing')
    .option('--dry-run', 'only say what it would do')
    .option(...UNLISTED)
    .option(...REASON)
    .action(run(importUsers))
  user
    .command('show <username>')
    .description('show a user; if nobody has the name now, the last one who had it')
    .action(run(showUser))
  user.command('list').description('list all users, deleted ones at the end').action(run(listUsers))
  user
    .command('export <username>')
    .description('write all that is held on a user, images included, into a ZIP file')
    .option('--output <file>', 'the file, which must not be there yet (default: easel-<username>.zip)')
    .action(run(exportUser))
  user
    .command('delete <username>')
    .description('delete a user: keys stop working, what was generated stays')
    .option('--purge', "wipe the user's prompts and images too, also of a user deleted before")
    .option(...REASON)
    .action(run(deleteUser))
  user
    .command('rotate-webhook-secret <username>')
    .description("replace the secret that signs requests to a user's webhook_url, and show the new one")
    .option(...REASON)
    .action(run(rotateSecret))
  signInCommands(user, run, readPassword)
}

export function subscriptionCommands(program: Command, run: Runner): void {
  program
    .command('subscription')
    .description('what a user is subscribed to')
    .command('set <username>')
    .description('start or change a subscription; what is not given stays unchanged')
    .option('--plan <name>', 'the plan', planName('--plan'))
    .option(...UNLISTED)
    .option('--status <status>', 'active, canceled, past_due, …; only "active" may generate', subscriptionStatus)
    .option('--until <date>', 'its end, a day or a moment (default for a new one: in one year)', end('--until'))
    .option('--none', 'remove the subscription')
    .option(...REASON)
    .action(run(changeSubscription))
}

interface UnlistedOption {
  readonly unlisted?: boolean
}

type SubscriptionOptions = ReasonOption & UnlistedOption & { readonly plan?: string; readonly until?: Date }
type CreateOptions = SubscriptionOptions & {
  readonly credits?: number
  readonly email?: string
  readonly operator?: boolean
  readonly yes?: boolean
}

const createUser = (confirm: Confirm) => async (operating: Operator, username: string, options: CreateOptions) => {
  const { credits = 0, plan, until, email, operator, yes = false, reason, unlisted } = options
  if (until && plan === undefined) throw new OperatorError('--until is the end of a subscription: give --plan too.')
  await requireMeant(credits, yes, confirm)
  const subscription = plan === undefined ? undefined : { plan, endDate: until ?? inOneYear() }
  const role = operator ? 'operator' : 'subscriber'
  const account = { username, credits, subscription, email, role } as const
  const user = await createAccount(operating.acting(reason), account, unlisted)
  const json = jsonOf(user, 'id', 'username', 'credits', 'subscription')
  const hint = `\nWithout a subscription ${username} cannot make images: "easel subscription set ${username} --plan NAME" begins one.`
  return { json, text: facts(userFacts(user)), ...(plan === undefined && { hint }) }
}

type ImportOptions = ReasonOption & UnlistedOption & { readonly dryRun?: boolean }

async function importUsers({ acting }: Operator, file: string, { dryRun = false, reason, unlisted }: ImportOptions) {
  const accounts = await readAccountFile(file)
  const outcomes = await importAccounts(acting(reason), accounts, dryRun, unlisted)
  const users = accounts.map(({ username }, n) => ({ username, outcome: outcomes[n] as ImportOutcome }))
  const told = `${dryRun ? 'This would be: ' : ''}${sayCounts(outcomes)}.`
  return {
    json: { dry_run: dryRun, ...countsOf(outcomes), users },
    text: `${users.length > 0 ? `${table(users)}\n\n` : ''}${told}`,
  }
}

async function showUser({ stores }: Operator, username: string) {
  const user = await requireAccount(stores, username, { orDeleted: true })
  const active = await stores.generations.activeOf(user.id)
  const { createdAt: created, deletedAt: deleted } = user
  return {
    json: { ...userJson(user), active_jobs: active },
    text: facts({ ...userFacts(user), created, deleted, 'active jobs': active.join(', ') }),
  }
}

async function listUsers({ stores }: Operator) {
  const users = await stores.accounts.list()
  return {
    json: users.map(userJson),
    text: table(
      users.map(({ username, credits, subscription, email, role, createdAt, deletedAt }) => ({
        ...{ username, credits, ...subscriptionFacts(subscription), email, role },
        ...{ created: createdAt, deleted: deletedAt },
      })),
      'No users yet.',
    ),
  }
}

const userJson = (user: AdministeredAccount) =>
  jsonOf(user, 'id', 'username', 'credits', 'subscription', 'email', 'role', 'createdAt', 'deletedAt')

const userFacts = ({ id, username, credits, subscription, email, role }: AdministeredAccount) => ({
  ...{ username, id, credits, ...subscriptionFacts(subscription), email, role },
})

const subscriptionFacts = (it: Subscription | null) => ({ plan: it?.plan, status: it?.status, until: it?.endDate })

async function rotateSecret({ acting }: Operator, name: string, { reason }: ReasonOption) {
  const { username, secret, oldSecretUntil: until } = await rotateWebhookSecret(acting(reason), name)
  const advice =
    'Put it in place of the old one at every receiver of webhook_url: until then they trust whoever has the old one.'
  const text = `${facts({ secret, 'old signs until': until })}\n${advice}`
  return { json: { username, secret, old_secret_until: until }, text }
}

type DeleteOptions = ReasonOption & { readonly purge?: boolean }

async function deleteUser(operator: Operator, name: string, { purge = false, reason }: DeleteOptions) {
  const { db, config } = operator
  const ended = await endAccount(operator.acting(reason), name, purge ? purgeOf(db, config) : undefined)
  const { id, username, deletedAt, canceled, purged } = ended
  return {
    json: { id, username, deleted_at: deletedAt, canceled_jobs: canceled, purged },
    text: facts({
      deleted: username,
      'canceled jobs': canceled.join(', '),
      ...(purged && { 'prompts wiped': purged.prompts, 'images removed': purged.images }),
    }),
  }
}

type SetOptions = SubscriptionOptions & { readonly status?: string; readonly none?: boolean }

async function changeSubscription({ acting }: Operator, name: string, options: SetOptions) {
  const { none, plan, status, until, reason, unlisted } = options
  const isEmpty = plan === undefined && status === undefined && until === undefined
  if (none && !isEmpty) throw new OperatorError('--none takes the subscription away: give it alone.')
  if (!none && isEmpty) throw new OperatorError('Nothing to set: give --plan, --status, --until or --none.')
  if (none) {
    const username = await removeSubscription(acting(reason), name)
    return { json: { username, subscription: null }, text: `${username} has no subscription.` }
  }
  const change = { plan, status, endDate: until }
  const { username, subscription } = await setSubscription(acting(reason), name, change, unlisted)
  return {
    json: { username, subscription },
    text: facts({ username, ...subscriptionFacts(subscription) }),
    remark:
      subscription.status === 'expired'
        ? `warning: This subscription ended on ${dayOf(subscription.endDate)}, so nothing can be generated with it: give --until, too.`
        : undefined,
  }
}

const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)
