/** Users and their subscriptions. */
import type { Command } from 'commander'
import type { Subscription } from '../core/accounts/account.js'
import { cancelAll, deleteAccount } from '../core/accounts/delete-account.js'
import { inOneYear } from '../core/operator/administration.js'
import { newWebhookSecret, OLD_SECRET_HOURS } from '../core/webhooks/webhook.js'
import { type OperatorUser, operatorUserStore } from '../db/accounts/accounts.js'
import { sessionStore } from '../db/accounts/sessions.js'
import { operatorSubscriptionStore } from '../db/accounts/subscriptions.js'
import { type Database, Rollback } from '../db/client.js'
import { operatorGenerationStore } from '../db/generations/history.js'
import { operatorImageStore } from '../db/images/removals.js'
import { administration, forgetPerson } from '../db/operator/administration.js'
import { EmailTaken, type ImportOutcome, importAccounts } from '../db/operator/import-accounts.js'
import { operatorWebhookStore } from '../db/webhooks/endpoints.js'
import { createImageStore } from '../images/open-image-store.js'
import { readAccountFile } from './account-file.js'
import {
  type Confirm,
  emailAddress,
  end,
  MAX_CREDITS,
  newUsername,
  REASON,
  type ReasonOption,
  requireMeant,
  requireUser,
  subscriptionStatus,
  wholeNumber,
  words,
  YES,
} from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { cancelAsOperator } from './job-commands.js'
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
    .option('--plan <name>', 'start an active subscription to this plan', words('--plan', 100))
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
    .option(...REASON)
    .action(run(importUsers))
  user
    .command('show <username>')
    .description('show a user; if nobody has the name now, the last one who had it')
    .action(run(showUser))
  user.command('list').description('list all users, deleted ones at the end').action(run(listUsers))
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
    .action(run(rotateWebhookSecret))
  signInCommands(user, run, readPassword)
}

export function subscriptionCommands(program: Command, run: Runner): void {
  program
    .command('subscription')
    .description('what a user is subscribed to')
    .command('set <username>')
    .description('start or change a subscription; what is not given stays unchanged')
    .option('--plan <name>', 'the plan', words('--plan', 100))
    .option('--status <status>', 'active, canceled, past_due, …; only "active" may generate', subscriptionStatus)
    .option('--until <date>', 'its end, a day or a moment (default for a new one: in one year)', end('--until'))
    .option('--none', 'remove the subscription')
    .option(...REASON)
    .action(run(setSubscription))
}

type SubscriptionOptions = ReasonOption & { readonly plan?: string; readonly until?: Date }
type CreateOptions = SubscriptionOptions & {
  readonly credits?: number
  readonly email?: string
  readonly operator?: boolean
  readonly yes?: boolean
}

const createUser = (confirm: Confirm) => async (operating: Operator, username: string, options: CreateOptions) => {
  const { db, recorded } = operating
  const { credits = 0, plan, until, email, operator, yes = false, reason } = options
  if (until && plan === undefined) throw new OperatorError('--until is the end of a subscription: give --plan too.')
  await requireMeant(credits, yes, confirm)
  const subscription = plan === undefined ? undefined : { plan, endDate: until ?? inOneYear() }
  const website = { email, role: operator ? 'operator' : 'subscriber' } as const
  const created = await recorded(
    reason,
    (on) => operatorUserStore(on).create(username, credits, subscription, website),
    (made) => (made === undefined || made === 'email taken' ? undefined : ['created user', username]),
  )
  if (created === 'email taken')
    throw new OperatorError(`Another user has the address ${email}: "easel user list" shows who.`)
  if (created === undefined) throw new OperatorError(`User "${username}" already exists.`)
  const user = await requireUser(db, username)
  return { json: jsonOf(user, 'id', 'username', 'credits', 'subscription'), text: facts(userFacts(user)) }
}

type ImportOptions = ReasonOption & { readonly dryRun?: boolean }

async function importUsers({ recorded }: Operator, file: string, { dryRun = false, reason }: ImportOptions) {
  const accounts = await readAccountFile(file)
  let outcomes: ImportOutcome[] = []
  const work = async (on: Database) => {
    outcomes = await importAccounts(on, accounts)
    if (dryRun) throw new Rollback()
  }
  const count = (outcome: ImportOutcome) => outcomes.filter((it) => it === outcome).length
  const told = () => `${count('created')} created, ${count('changed')} changed, ${count('unchanged')} unchanged`
  try {
    await recorded(reason, work, () =>
      count('created') + count('changed') > 0 ? [`imported users: ${told()}`, ''] : undefined,
    )
  } catch (error) {
    if (error instanceof EmailTaken)
      throw new OperatorError(
        `Another user than "${error.account.username}" has the address ${error.account.email}, so nothing was imported: "easel user list" shows who.`,
      )
    if (!(error instanceof Rollback)) throw error
  }
  const users = accounts.map(({ username }, n) => ({ username, outcome: outcomes[n] as ImportOutcome }))
  return {
    json: {
      ...{ dry_run: dryRun, created: count('created'), changed: count('changed'), unchanged: count('unchanged') },
      users,
    },
    text: `${users.length > 0 ? `${table(users)}\n\n` : ''}${dryRun ? 'This would be: ' : ''}${told()}.`,
  }
}

async function showUser({ db }: Operator, username: string) {
  const user = await requireUser(db, username, { orDeleted: true })
  const active = await operatorGenerationStore(db).activeOf(user.id)
  const { createdAt: created, deletedAt: deleted } = user
  return {
    json: { ...userJson(user), active_jobs: active },
    text: facts({ ...userFacts(user), created, deleted, 'active jobs': active.join(', ') }),
  }
}

async function listUsers({ db }: Operator) {
  const users = await operatorUserStore(db).list()
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

const userJson = (user: OperatorUser) =>
  jsonOf(user, 'id', 'username', 'credits', 'subscription', 'email', 'role', 'createdAt', 'deletedAt')

const userFacts = ({ id, username, credits, subscription, email, role }: OperatorUser) => ({
  ...{ username, id, credits, ...subscriptionFacts(subscription), email, role },
})

const subscriptionFacts = (it: Subscription | null) => ({ plan: it?.plan, status: it?.status, until: it?.endDate })

async function rotateWebhookSecret({ db, recorded }: Operator, name: string, { reason }: ReasonOption) {
  const { id, username } = await requireUser(db, name)
  const secret = newWebhookSecret()
  const until = await recorded(
    reason,
    (on) => operatorWebhookStore(on).rotateSecret(id, secret, OLD_SECRET_HOURS),
    (end) => end && ['rotated webhook secret', username],
  )
  if (!until)
    throw new OperatorError(
      `User "${username}" has no webhook secret yet: the first request with a webhook_url makes it.`,
    )
  const advice =
    'Put it in place of the old one at every receiver of webhook_url: until then they trust whoever has the old one.'
  const text = `${facts({ secret, 'old signs until': until })}\n${advice}`
  return { json: { username, secret, old_secret_until: until }, text }
}

/** Files removed at a time. */
const AT_ONCE = 8

type DeleteOptions = ReasonOption & { readonly purge?: boolean }

async function deleteUser(operator: Operator, name: string, { purge = false, reason }: DeleteOptions) {
  const { db, recorded } = operator
  const { id, username, deletedAt: before } = await requireUser(db, name, { orDeleted: true })
  if (before && !purge)
    throw new OperatorError(`User "${username}" is already deleted; --purge wipes prompts and images.`)
  const deletedAt = await recorded(
    reason,
    (on) => deleteAccount({ ...administration(on), sessions: sessionStore(on) }, id),
    () => [purge ? 'deleted user and everything of theirs' : 'deleted user', username],
  )
  const cancel = (job: string) => cancelAsOperator(operator, job)
  const canceled = await cancelAll({ ...administration(db), cancel }, id)
  const purged = purge ? await purgeUser(operator, id) : null
  return {
    json: { id, username, deleted_at: deletedAt, canceled_jobs: canceled, purged },
    text: facts({
      deleted: username,
      'canceled jobs': canceled.join(', '),
      ...(purged && { 'prompts wiped': purged.prompts, 'images removed': purged.images }),
    }),
  }
}

/** Rows first: from then on the pages say that the images are gone, even if this ends before the files are. */
async function purgeUser({ db, config }: Operator, userId: string) {
  const store = operatorImageStore(db)
  const files = await createImageStore(config)
  await operatorWebhookStore(db).forgetAllOf(userId)
  await forgetPerson(db, userId)
  const prompts = await store.wipePromptsOf(userId)
  const images = await store.removeAllOf(userId, 'The account was deleted.')
  for await (const slugs of store.slugsOf(userId)) {
    const waiting = slugs.values()
    const remove = async () => {
      for (const slug of waiting) await files.remove(slug)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, remove))
  }
  return { prompts, images }
}

type SetOptions = SubscriptionOptions & { readonly status?: string; readonly none?: boolean }

async function setSubscription({ db, recorded }: Operator, name: string, options: SetOptions) {
  const { none, plan, status, until, reason } = options
  const isEmpty = plan === undefined && status === undefined && until === undefined
  if (none && !isEmpty) throw new OperatorError('--none takes the subscription away: give it alone.')
  if (!none && isEmpty) throw new OperatorError('Nothing to set: give --plan, --status, --until or --none.')
  const { id, username } = await requireUser(db, name)
  if (none) {
    const remove = (on: Database) => operatorSubscriptionStore(on).remove(id)
    await recorded(reason, remove, () => ['took the subscription away', username])
    return { json: { username, subscription: null }, text: `${username} has no subscription.` }
  }
  const subscription = await recorded(
    reason,
    (on) => operatorSubscriptionStore(on).set(id, { plan, status, endDate: until }, inOneYear()),
    (it) => it && [`set the subscription: ${it.plan}, ${it.status}, until ${dayOf(it.endDate)}`, username],
  )
  if (!subscription) throw new OperatorError(`User "${username}" has no subscription yet: give --plan to begin one.`)
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
