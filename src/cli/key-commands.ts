/** API keys, and what was made with them. */
import type { Command } from 'commander'
import { z } from 'zod'
import { apiKeyHint, hashApiKey, newApiKey } from '../core/accounts/api-key.js'
import { operatorKeyStore } from '../db/accounts/api-keys.js'
import type { Database } from '../db/client.js'
import type { Config } from '../process/config.js'
import { before, REASON, type ReasonOption, requireUser, since, wholeNumber, words } from './arguments.js'
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
    .option(...REASON)
    .action(run(createKey))
  key.command('list <username>').description("list a user's keys").action(run(listKeys))
  key
    .command('revoke')
    .description('make a key stop working')
    .argument('<id>', 'its ID from "easel key list"')
    .option(...REASON)
    .action(run(revokeKey))
}

type CreateOptions = ReasonOption & {
  readonly name?: string
  readonly developer?: boolean
  readonly concurrency?: number
}

async function createKey({ db, config, recorded }: Operator, username: string, options: CreateOptions) {
  const { name = '', developer, concurrency, reason } = options
  if (concurrency !== undefined && !developer)
    throw new OperatorError('--concurrency is for developer keys: give --developer too.')
  const user = await requireUser(db, username)
  const key = newApiKey(config.keyPrefix)
  const kind = developer ? 'developer' : 'personal'
  const stored = { hash: hashApiKey(key), hint: apiKeyHint(key), concurrency }
  const id = await recorded(
    reason,
    (on) => operatorKeyStore(on).create({ userId: user.id, kind, name, ...stored }),
    (created) => [`created ${kind} key ${created}`, user.username],
  )
  return { json: { id, key }, text: `${facts({ key, id })}\nStore the key now: it is not shown again.` }
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
      keys.map(({ id, kind, name, hint, concurrency, createdAt, lastUsedAt, revokedAt }) => ({
        ...{ id, kind, name, key: hint, 'at once': concurrency },
        ...{ created: createdAt, 'last used': lastUsedAt, revoked: revokedAt },
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
