/** API keys, and what was made with them. */
import type { Command } from 'commander'
import { z } from 'zod'
import { apiKeyHint, hashApiKey, newApiKey } from '../core/accounts/api-key.js'
import { type KeyChange, operatorKeyStore } from '../db/accounts/api-keys.js'
import type { Database } from '../db/client.js'
import { operatorModelStore } from '../db/operator/catalog.js'
import { renamed, snakeCase } from '../lib/names.js'
import type { Config } from '../process/config.js'
import {
  before,
  end,
  MAX_CREDITS,
  REASON,
  type ReasonOption,
  requireUser,
  since,
  wholeNumber,
  words,
} from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { facts, jsonOf, table } from './output.js'

export function keyCommands(program: Command, run: Runner): void {
  const key = program.command('key').description('API keys')
  key
    .command('create <username>')
    .description('create a key and show it once')
    .option('--name <text>', 'what it is for', words('--name', 100))
    .option('--developer', 'for Create Image alone: metered instead of charged, several generations at once')
    .option('--concurrency <n>', 'how many at once, 4 unless given', wholeNumber('--concurrency', 1, 1000))
    .option('--until <date>', 'its end, a day or a moment', end('--until'))
    .option(
      '--monthly-limit <credits>',
      'what it may spend in a calendar month',
      wholeNumber('--monthly-limit', 1, MAX_CREDITS),
    )
    .option('--model <id...>', 'the model versions that it is for', modelIds)
    .option(...REASON)
    .action(run(createKey))
  key
    .command('change')
    .description('rename or limit a key; what is not given stays unchanged')
    .argument('<id>', 'its ID from "easel key list"')
    .option('--name <text>', 'what it is for', words('--name', 100))
    .option('--until <date>', 'its end, a day or a moment', end('--until'))
    .option('--no-until', 'it has no end')
    .option(
      '--monthly-limit <credits>',
      'what it may spend in a calendar month',
      wholeNumber('--monthly-limit', 1, MAX_CREDITS),
    )
    .option('--no-monthly-limit', 'it may spend all')
    .option('--model <id...>', 'the model versions that it is for', modelIds)
    .option('--no-model', 'it is for all of them')
    .option(...REASON)
    .action(run(changeKey))
  key.command('list <username>').description("list a user's keys").action(run(listKeys))
  key
    .command('revoke')
    .description('make a key stop working')
    .argument('<id>', 'its ID from "easel key list"')
    .option(...REASON)
    .action(run(revokeKey))
}

/** `false`: the limit is taken away. */
interface LimitOptions extends ReasonOption {
  readonly name?: string
  readonly until?: Date | false
  readonly monthlyLimit?: number | false
  readonly model?: readonly number[] | false
}

type CreateOptions = LimitOptions & {
  readonly developer?: boolean
  readonly concurrency?: number
}

async function createKey({ db, config, recorded }: Operator, username: string, options: CreateOptions) {
  const { name = '', developer, concurrency, reason } = options
  if (concurrency !== undefined && !developer)
    throw new OperatorError('--concurrency is for developer keys: give --developer too.')
  if (developer && options.monthlyLimit) throw meteredKey()
  const limits = await limitsOf(db, options)
  const user = await requireUser(db, username)
  const key = newApiKey(config.keyPrefix)
  const kind = developer ? 'developer' : 'personal'
  const stored = { hash: hashApiKey(key), hint: apiKeyHint(key), concurrency, ...limits }
  const id = await recorded(
    reason,
    (on) => operatorKeyStore(on).create({ userId: user.id, kind, name, ...stored }),
    (created) => [`created ${kind} key ${created}`, user.username],
  )
  return { json: { id, key }, text: `${facts({ key, id })}\nStore the key now: it is not shown again.` }
}

const meteredKey = () => new OperatorError('A developer key is metered, not charged: it can have no --monthly-limit.')

/** IDs, which may come one by one. */
const modelIds = (text: string, before: readonly number[] | boolean | undefined) => [
  ...(Array.isArray(before) ? before : []),
  wholeNumber('--model', 1, Number.MAX_SAFE_INTEGER)(text),
]

/** What the options change. @throws OperatorError for a model version that there is not */
async function limitsOf(db: Database, { name, until, monthlyLimit, model }: LimitOptions): Promise<KeyChange> {
  const known = model ? new Set((await operatorModelStore(db).list()).map(({ id }) => id)) : undefined
  const unknown = (model || undefined)?.find((id) => !known?.has(id))
  if (unknown) throw new OperatorError(`No model version has the ID ${unknown}: "easel models list" shows them.`)
  return {
    ...(name !== undefined && { name }),
    ...(until !== undefined && { expiresAt: until || null }),
    ...(monthlyLimit !== undefined && { monthlyLimit: monthlyLimit || null }),
    ...(model !== undefined && { models: model ? [...model] : null }),
  }
}

async function changeKey({ db, recorded }: Operator, id: string, options: LimitOptions) {
  const change = await limitsOf(db, options)
  if (Object.keys(change).length === 0)
    throw new OperatorError('Nothing to change: give --name, --until, --monthly-limit or --model.')
  const changed = z.guid().safeParse(id).success
    ? await recorded(
        options.reason,
        async (on) => {
          const kind = await operatorKeyStore(on).change(id, change)
          if (kind === 'developer' && change.monthlyLimit) throw meteredKey()
          return kind
        },
        (kind) => kind && ['changed key', id],
      )
    : undefined
  if (!changed) throw new OperatorError(`No key that works has the ID "${id}": "easel key list USERNAME" shows them.`)
  return { json: { id, ...renamed(change, snakeCase) }, text: `Key ${id} is changed.` }
}

async function listKeys({ db, config }: Operator, username: string) {
  const user = await requireUser(db, username)
  const keys = (await operatorKeyStore(db).list(user.id)).map((key) => ({
    ...key,
    hint: hintOf(key, config),
    concurrency: key.kind === 'developer' ? key.concurrency : null,
  }))
  return {
    json: keys.map((key) => jsonOf(key)),
    text: table(
      keys.map(({ id, kind, name, hint, concurrency, createdAt, lastUsedAt, revokedAt, ...limits }) => ({
        ...{ id, kind, name, key: hint, 'at once': concurrency },
        'this month':
          limits.monthlyLimit === null ? limits.spentThisMonth : `${limits.spentThisMonth} of ${limits.monthlyLimit}`,
        models: limits.models?.join(' ') ?? 'all',
        ...{ created: createdAt, until: limits.expiresAt, 'last used': lastUsedAt, revoked: revokedAt },
      })),
      `${user.username} has no keys.`,
    ),
  }
}

const hintOf = ({ hint }: { readonly hint: string }, { keyPrefix }: Config) => `${keyPrefix}_…${hint}`

async function revokeKey({ recorded }: Operator, id: string, { reason }: ReasonOption) {
  const revoke = (db: Database) => operatorKeyStore(db).revoke(id)
  const isId = z.guid().safeParse(id).success
  const revokedAt = isId ? await recorded(reason, revoke, (at) => at && ['revoked key', id]) : undefined
  if (!revokedAt) throw new OperatorError(`No key has the ID "${id}": "easel key list USERNAME" shows them.`)
  return { json: { id, revoked_at: revokedAt }, text: `Key ${id} is revoked.` }
}

export function usageCommand(program: Command, run: Runner): void {
  program
    .command('usage <username>')
    .description('images made with developer keys, per key and model')
    .option('--since <date>', 'from this day or moment on', since('--since'))
    .option('--until <date>', 'to the end of this day, or before this moment', before('--until'))
    .action(run(showUsage))
}

type Period = { readonly since?: Date; readonly until?: Date }

async function showUsage({ db, config }: Operator, username: string, { since, until }: Period) {
  if (since && until && since >= until) throw new OperatorError('--since must be before --until.')
  const user = await requireUser(db, username)
  const usage = await operatorKeyStore(db).usage(user.id, since, until)
  const rows = usage.map((row) => ({ ...row, hint: hintOf(row, config) }))
  return {
    json: rows.map((row) => jsonOf(row)),
    text: table(
      rows.map((row) => ({
        ...{ key: row.hint, name: row.keyName, model: row.modelName, version: row.modelVersionName },
        ...{ 'version id': row.modelVersionId, images: row.images },
      })),
      'No images were made with developer keys in that time.',
    ),
  }
}
