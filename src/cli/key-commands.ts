/** API keys, and what was made with them. */
import type { Command } from 'commander'
import { OPERATOR_SCOPES, type OperatorScope } from '../core/accounts/account.js'
import { MAX_CREDITS } from '../core/operator/credits.js'
import { changeKey, createKey, type KeyChange, listKeys, revokeKey, usageOf } from '../core/operator/keys.js'
import { renamed, snakeCase } from '../lib/names.js'
import { before, end, oneOf, REASON, type ReasonOption, since, wholeNumber, words } from './arguments.js'
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
    .option('--operator', 'for /admin/v1 alone; its user must be an operator')
    .option(
      '--scope <scope>',
      'what an operator key may change: read, accounts, models or all (default)',
      oneOf('--scope', OPERATOR_SCOPES),
    )
    .option('--until <date>', 'its end, a day or a moment', end('--until'))
    .option(
      '--monthly-limit <credits>',
      'what it may spend in a calendar month',
      wholeNumber('--monthly-limit', 1, MAX_CREDITS),
    )
    .option('--model <id...>', 'the model versions that it is for', modelIds)
    .option(...REASON)
    .action(run(create))
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
    .action(run(change))
  key.command('list <username>').description("list a user's keys").action(run(list))
  key
    .command('revoke')
    .description('make a key stop working')
    .argument('<id>', 'its ID from "easel key list"')
    .option(...REASON)
    .action(run(revoke))
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
  readonly operator?: boolean
  readonly scope?: OperatorScope
  readonly concurrency?: number
}

async function create({ config, acting }: Operator, username: string, options: CreateOptions) {
  const { developer, operator, concurrency, scope, reason } = options
  if (developer && operator) throw new OperatorError('Give --developer or --operator, not both.')
  const kind = developer ? 'developer' : operator ? 'operator' : 'personal'
  const asked = { kind, concurrency, scope, ...changeOf(options) } as const
  const { id, key } = await createKey(acting(reason), username, asked, config.keyPrefix)
  return { json: { id, key }, text: `${facts({ key, id })}\nStore the key now: it is not shown again.` }
}

/** IDs, which may come one by one. */
const modelIds = (text: string, before: readonly number[] | boolean | undefined) => [
  ...(Array.isArray(before) ? before : []),
  wholeNumber('--model', 1, Number.MAX_SAFE_INTEGER)(text),
]

/** What the options change. */
const changeOf = ({ name, until, monthlyLimit, model }: LimitOptions): KeyChange => ({
  ...(name !== undefined && { name }),
  ...(until !== undefined && { expiresAt: until || null }),
  ...(monthlyLimit !== undefined && { monthlyLimit: monthlyLimit || null }),
  ...(model !== undefined && { models: model || null }),
})

async function change({ acting }: Operator, id: string, options: LimitOptions) {
  const changed = changeOf(options)
  if (Object.keys(changed).length === 0)
    throw new OperatorError('Nothing to change: give --name, --until, --monthly-limit or --model.')
  await changeKey(acting(options.reason), id, changed)
  return { json: { id, ...renamed(changed, snakeCase) }, text: `Key ${id} is changed.` }
}

async function list({ stores, config }: Operator, name: string) {
  const { username, keys } = await listKeys(stores, name, config.keyPrefix)
  return {
    json: keys.map((key) => jsonOf(key)),
    text: table(
      keys.map(({ id, kind, name, hint, scope, concurrency, createdAt, lastUsedAt, revokedAt, ...limits }) => ({
        ...{ id, kind: scope ? `${kind} (${scope})` : kind, name, key: hint, 'at once': concurrency },
        'this month':
          limits.monthlyLimit === null ? limits.spentThisMonth : `${limits.spentThisMonth} of ${limits.monthlyLimit}`,
        models: limits.models?.join(' ') ?? 'all',
        ...{ created: createdAt, until: limits.expiresAt, 'last used': lastUsedAt, revoked: revokedAt },
      })),
      `${username} has no keys.`,
    ),
  }
}

async function revoke({ acting }: Operator, id: string, { reason }: ReasonOption) {
  const revokedAt = await revokeKey(acting(reason), id)
  return { json: { id, revoked_at: revokedAt }, text: `Key ${id} is revoked.` }
}

export function usageCommand(program: Command, run: Runner): void {
  program
    .command('usage <username>')
    .description('images and credits, per key and model; of developer keys and others, and of the website')
    .option('--since <date>', 'from this day or moment on', since('--since'))
    .option('--until <date>', 'to the end of this day, or before this moment', before('--until'))
    .action(run(showUsage))
}

type Period = { readonly since?: Date; readonly until?: Date }

async function showUsage({ stores, config }: Operator, username: string, period: Period) {
  const rows = await usageOf(stores, username, period, config.keyPrefix)
  return {
    json: rows.map((row) => jsonOf(row)),
    text: table(
      rows.map((row) => ({
        ...{ key: row.hint, name: row.keyName, kind: row.kind, model: row.modelName, version: row.modelVersionName },
        ...{ 'version id': row.modelVersionId, images: row.images, credits: row.credits },
      })),
      'Nothing was made in that time.',
    ),
  }
}
