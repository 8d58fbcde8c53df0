import type { Command } from 'commander'
import { type OperatorUser, operatorUserStore } from '../db/account-store.js'
import { cancelStore } from '../db/failure-store.js'
import { operatorGenerationStore } from '../db/history-store.js'
import { operatorImageStore } from '../db/image-records.js'
import { operatorWebhookStore } from '../db/webhook-endpoint-store.js'
import { cancelGeneration } from '../generation/cancel.js'
import { CANCELED } from '../generation/failure-reason.js'
import { fileImageStore } from '../images/file-image-store.js'
import { createImageStore } from '../images/open-image-store.js'
import { newWebhookSecret, OLD_SECRET_HOURS } from '../webhooks/webhook.js'
import { MAX_CREDITS, moment, newUsername, oneYearOn, wholeNumber, words } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import { type Answer, type Cell, facts, type Runner, table } from './output.js'
import { requireUser, requireUserOrDeleted, subscriptionCells, userJson } from './user-view.js'

export function userCommands(program: Command, run: Runner): void {
  const user = program.command('user').description('who may generate')
  user
    .command('create')
    .description('create a user, with 0 credits and no subscription unless told otherwise')
    .argument('<username>', 'letters, digits and . _ @ + -', newUsername)
    .option('--credits <n>', 'credits to begin with', wholeNumber('--credits', 0, MAX_CREDITS))
    .option('--plan <name>', 'begin an active subscription to this plan', words('--plan', 100))
    .option('--until <date>', 'its end, one year on unless given', moment('--until'))
    .action(run.connected(createUser))
  user
    .command('show')
    .description('show one user, the one deleted last if nobody has the name now')
    .argument('<username>')
    .action(run.connected(showUser))
  user.command('list').description('list all users, deleted ones at the end').action(run.connected(listUsers))
  user
    .command('delete')
    .description('delete a user: keys stop working, what was generated stays')
    .argument('<username>')
    .option('--purge', "wipe the user's prompts and images too, also of a user deleted before")
    .action(run.connected(deleteUser))
  user
    .command('rotate-webhook-secret')
    .description("replace what signs a user's webhook_url, and show the new secret")
    .argument('<username>')
    .action(run.connected(rotateWebhookSecret))
}

interface CreateOptions {
  readonly credits?: number
  readonly plan?: string
  readonly until?: Date
}

async function createUser({ db }: Operator, username: string, options: CreateOptions): Promise<Answer> {
  const { credits = 0, plan, until } = options
  if (until && plan === undefined) throw new OperatorError('--until is the end of a subscription: give --plan too.')
  const subscription = plan === undefined ? undefined : { plan, endDate: until ?? oneYearOn(new Date()) }
  const users = operatorUserStore(db)
  if ((await users.create(username, credits, subscription)) === undefined) {
    throw new OperatorError(`User "${username}" already exists.`)
  }
  const user = await requireUserOrDeleted(db, username)
  return { json: userJson(user), text: facts(userFacts(user)) }
}

async function showUser({ db }: Operator, username: string): Promise<Answer> {
  const user = await requireUserOrDeleted(db, username)
  const active = await operatorGenerationStore(db).activeOf(user.id)
  return {
    json: {
      ...userJson(user),
      created_at: user.createdAt,
      deleted_at: user.deletedAt,
      active_jobs: active,
    },
    text: facts([
      ...userFacts(user),
      ['created', user.createdAt],
      ['deleted', user.deletedAt],
      ['active jobs', active.join(', ')],
    ]),
  }
}

function userFacts({ id, username, credits, subscription }: OperatorUser): (readonly [string, Cell])[] {
  const [plan, status, end] = subscriptionCells(subscription)
  return [
    ['username', username],
    ['id', id],
    ['credits', credits],
    ['plan', plan],
    ['status', status],
    ['until', end],
  ]
}

async function listUsers({ db }: Operator): Promise<Answer> {
  const users = await operatorUserStore(db).list()
  return {
    json: users.map((user) => ({ ...userJson(user), created_at: user.createdAt, deleted_at: user.deletedAt })),
    text: table(
      ['username', 'credits', 'plan', 'status', 'until', 'created', 'deleted'],
      users.map(({ username, credits, subscription, createdAt, deletedAt }) => [
        username,
        credits,
        ...subscriptionCells(subscription),
        createdAt,
        deletedAt,
      ]),
      'No users yet.',
    ),
  }
}

async function rotateWebhookSecret({ db }: Operator, name: string): Promise<Answer> {
  const { id, username } = await requireUser(db, name)
  const secret = newWebhookSecret()
  const until = await operatorWebhookStore(db).rotateSecret(id, secret, OLD_SECRET_HOURS)
  if (!until) {
    throw new OperatorError(
      `User "${username}" has no webhook secret yet: the first request with a webhook_url makes it.`,
    )
  }
  const text = facts([
    ['secret', secret],
    ['old signs until', until],
  ])
  const advice =
    'Put it in place of the old one at every receiver of webhook_url: until then they believe whoever has that.'
  return { json: { username, secret, old_secret_until: until }, text: `${text}\n${advice}` }
}

const PURGED = 'The account was deleted.'
/** Files taken away at a time. */
const AT_ONCE = 8

/** Deletes first, so that nothing new can be charged, then its webhooks and what is active. Every step can be repeated. */
async function deleteUser(
  operator: Operator,
  username: string,
  { purge = false }: { readonly purge?: boolean },
): Promise<Answer> {
  const { db } = operator
  const user = await requireUserOrDeleted(db, username)
  if (user.deletedAt && !purge) {
    throw new OperatorError(`User "${user.username}" is already deleted; --purge wipes prompts and images.`)
  }
  const deletedAt = await operatorUserStore(db).delete(user.id)
  await operatorWebhookStore(db).endAllOf(user.id)
  const canceled = await cancelAll(operator, user.id)
  const purged = purge ? await purgeUser(operator, user.id) : null
  return {
    json: {
      id: user.id,
      username: user.username,
      deleted_at: deletedAt,
      canceled_jobs: canceled,
      purged,
    },
    text: facts([
      ['deleted', user.username],
      ['canceled jobs', canceled.join(', ')],
      ...(purged
        ? ([
            ['prompts wiped', purged.prompts],
            ['images removed', purged.images],
          ] as const)
        : []),
    ]),
  }
}

async function cancelAll({ db, config, foundation }: Operator, userId: string): Promise<string[]> {
  const active = await operatorGenerationStore(db).activeOf(userId)
  if (active.length === 0) return []
  const { lock, queue } = await foundation()
  const images = fileImageStore({ root: config.storagePath, cdnBaseUrl: config.cdnBaseUrl })
  const ports = { cancels: cancelStore(db), lock, queue, images }
  const canceled: string[] = []
  for (const id of active) {
    if (await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })) canceled.push(id)
  }
  return canceled
}

/** Rows first: from then on the pages say that the images are gone, even if this ends before the files are. */
async function purgeUser({ db, config }: Operator, userId: string): Promise<{ prompts: number; images: number }> {
  const store = operatorImageStore(db)
  const files = await createImageStore(config)
  await operatorWebhookStore(db).forgetAllOf(userId)
  const prompts = await store.wipePromptsOf(userId)
  const images = await store.removeAllOf(userId, PURGED)
  for await (const slugs of store.slugsOf(userId)) {
    const waiting = [...slugs]
    const remove = async () => {
      for (let slug = waiting.pop(); slug; slug = waiting.pop()) await files.remove(slug)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, remove))
  }
  return { prompts, images }
}
