/** Command lines as requests of /admin/v1: the tests of the command line are those of the API, too. */
import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { pino } from 'pino'
import { apiKeyHint, hashApiKey, newApiKey } from '../../src/core/accounts/api-key.js'
import { accountStore } from '../../src/db/accounts/accounts.js'
import type { Database } from '../../src/db/client.js'
import { administration } from '../../src/db/operator/administration.js'
import type { App } from '../../src/http/shared/fastify-app.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { adminPorts } from '../../src/process/admin-ports.js'
import { parseConfig } from '../../src/process/config.js'
import { type Foundation, openFoundation } from '../../src/process/foundation.js'
import { buildBareApp } from '../support/bare-app.js'
import { expectDescribed } from '../support/described.js'

export const ADMIN_ACTOR = 'zz-operator (key tests)'

// biome-ignore lint/suspicious/noExplicitAny: whatever JSON came back
type Json = any

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
  /** The answer as the command shows it. */
  readonly shown?: (body: Json) => Json
}

interface Line {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, string | true | readonly string[]>>
}

/** By the words that a command begins with. Undefined: this form of it has no endpoint. */
export const CALLS: Readonly<Record<string, (line: Line) => Call | undefined>> = {
  'user create': ({ args: [username], options }) => ({
    ...post('/accounts', {
      ...{ username, credits: number(options.credits), plan: options.plan, until: options.until },
      ...{ unlisted: options.unlisted },
      ...{ email: options.email, role: options.operator && 'operator', ...asked(options) },
    }),
    shown: ({ id, username, credits, subscription }) => ({ id, username, credits, subscription }),
  }),
  'user show': ({ args: [name] }) => ({
    ...get(`/accounts/${part(name)}`),
    shown: ({ active_generations, ...account }) => ({ ...account, active_jobs: active_generations }),
  }),
  'user delete': ({ args: [name], options }) => ({
    ...{ method: 'DELETE', path: `/accounts/${part(name)}${options.purge ? '?purge=true' : ''}` },
    shown: ({ canceled_generations, ...rest }) => ({ ...rest, canceled_jobs: canceled_generations }),
  }),
  'user email': ({ args: [name, address], options }) =>
    (address === undefined) === (options.none === undefined)
      ? undefined
      : {
          ...patch(`/accounts/${part(name)}`, { email: address ?? null, ...asked(options) }),
          shown: ({ username, email }) => ({ username, email }),
        },
  'user role': ({ args: [name, role], options }) => ({
    ...patch(`/accounts/${part(name)}`, { role, ...asked(options) }),
    shown: ({ username, role }) => ({ username, role }),
  }),
  'subscription set': ({ args: [name], options: { plan, status, until, none, unlisted, ...options } }) => {
    const path = `/accounts/${part(name)}/subscription`
    if (none) return plan || status || until ? undefined : { method: 'DELETE', path }
    return { method: 'PUT', path, body: { plan, status, until, unlisted, ...asked(options) } }
  },
  'credits grant': ({ args: [name, n], options }) =>
    post(`/accounts/${part(name)}/credits/grants`, {
      ...{ amount: number(n), note: options.note, ref: options.ref, ...asked(options) },
    }),
  'credits adjust': ({ args: [name, n], options }) =>
    post(`/accounts/${part(name)}/credits/adjustments`, {
      ...{ amount: number(n), below_zero: options['below-zero'], ...asked(options) },
    }),
  'credits history': ({ args: [name] }) => ({
    ...get(`/accounts/${part(name)}/credits/history?limit=100`),
    shown: ({ entries }) => entries.reverse(),
  }),
  'key create': ({ args: [name], options }) =>
    post(`/accounts/${part(name)}/keys`, {
      ...{ kind: options.developer ? 'developer' : options.operator ? 'operator' : undefined, name: options.name },
      ...{ concurrency: number(options.concurrency), scope: options.scope, ...limits(options), ...asked(options) },
    }),
  'key change': ({ args: [id], options }) => ({
    ...patch(`/keys/${part(id)}`, { name: options.name, ...limits(options), ...asked(options) }),
    shown: (body) => body,
  }),
  'key list': ({ args: [name] }) => ({ ...get(`/accounts/${part(name)}/keys`), shown: ({ keys }) => keys }),
  'key revoke': ({ args: [id] }) => ({ method: 'DELETE', path: `/keys/${part(id)}` }),
  'user sign-in-link': ({ args: [name], options: { valid, reason } }) => {
    const [, count, unit = ''] = /^(\d+)([dhm])$/.exec(`${valid}`) ?? []
    const minutes = count && Number(count) * ({ d: 1440, h: 60, m: 1 }[unit] ?? 0)
    return post(`/accounts/${part(name)}/sign-in-link`, { minutes: minutes ?? valid, reason })
  },
  'user rotate-webhook-secret': ({ args: [name], options: { reason } }) =>
    post(`/accounts/${part(name)}/webhook-secret`, { reason }),
  'plans import': ({ args: [file], options: { reason } }) => {
    const plans = jsonIn(file)
    return plans && post('/plans/import', { plans, reason })
  },
  'plans list': () => ({ ...get('/plans'), shown: ({ plans }) => plans.map(asEntry) }),
  'plans show': ({ args: [name] }) => get(`/plans/${part(name)}`),
  'plans retire': ({ args: [name] }) => ({ method: 'DELETE', path: `/plans/${part(name)}` }),
  'packs import': ({ args: [file], options: { reason } }) => {
    const packs = jsonIn(file)
    return packs && post('/packs/import', { packs, reason })
  },
  'packs list': () => ({ ...get('/packs'), shown: ({ packs }) => packs.map(asEntry) }),
  'packs retire': ({ args: [name] }) => ({ method: 'DELETE', path: `/packs/${part(name)}` }),
  'payments list': ({ options }) =>
    options.unmatched
      ? { ...get('/payments/unmatched'), shown: ({ unmatched }) => unmatched }
      : { ...get('/payments'), shown: ({ payments }) => payments },
  'payments match': ({ args: [customer, username], options: { reason } }) =>
    post(`/payments/customers/${part(customer)}/match`, { username, reason }),
  'payments retry': ({ args: [id], options: { reason } }) => post('/payments/retry', { id, reason }),
  'payments dismiss': ({ args: [id] }) => ({ method: 'DELETE', path: `/payments/unmatched/${part(id)}` }),
  'models list': () => ({ ...get('/models'), shown: ({ models }) => models }),
  'models import': ({ args: [file], options }) => {
    const models = jsonIn(file)
    // Such a file lies beside the list.
    const isWhole = models?.every((it: Json) => it?.workflow_file === undefined)
    return isWhole && post('/models/import', { models, ...asked(options) })
  },
  'jobs list': ({ options: { status, user, limit = '50' } }) => ({
    ...get(`/generations${query({ status, username: user, limit })}`),
    shown: ({ generations }) => generations,
  }),
  'jobs show': ({ args: [id] }) => get(`/generations/${part(id)}`),
  'jobs cancel': ({ args: [id], options: { reason } }) => post(`/generations/${part(id)}/cancel`, { reason }),
  'user import': ({ args: [file], options }) => {
    const accounts = rowsIn(file)
    return (
      accounts && {
        ...post('/accounts/import', {
          accounts,
          dry_run: options['dry-run'] === true,
          unlisted: options.unlisted,
          reason: options.reason,
        }),
        shown: ({ accounts: users, ...rest }) => ({ ...rest, users }),
      }
    )
  },
  'models enable': ({ args: [id], options: { reason } }) => patch(`/models/${part(id)}`, { enabled: true, reason }),
  'models disable': ({ args: [id], options: { reason } }) => patch(`/models/${part(id)}`, { enabled: false, reason }),
  'models price': ({ args: [id, n], options: { reason } }) =>
    patch(`/models/${part(id)}`, { credits_per_image: number(n), reason }),
  queue: () => get('/queue'),
  pause: ({ options }) => post('/pauses', { ...pausable(options), reason: options.reason }),
  resume: ({ options }) => ({ method: 'DELETE', path: `/pauses${query(pausable(options))}` }),
  'images remove': ({ args: [slug] }) => ({ method: 'DELETE', path: `/images/${part(slug)}` }),
  'moderation list': ({ options: { user, category, limit } }) => ({
    ...get(`/moderation/refusals${query({ username: user, category, limit })}`),
    shown: ({ refusals }) => refusals,
  }),
  'moderation repeated': ({ options: { limit } }) => ({
    ...get(`/moderation/repeated${query({ limit })}`),
    shown: ({ accounts }) => accounts,
  }),
  'moderation wrong': ({ args: [id] }) => post(`/moderation/refusals/${part(id)}/wrong`, {}),
  'reports list': ({ options: { limit } }) => ({
    ...get(`/reports${query({ limit })}`),
    shown: ({ images }) => images,
  }),
  'reports dismiss': ({ args: [slug], options }) => ({
    method: 'DELETE',
    path: `/reports/${part(slug)}${query({ up_to: options['up-to'] })}`,
  }),
  usage: ({ args: [name], options: { since, until } }) => ({
    ...get(`/accounts/${part(name)}/usage${query({ since, until })}`),
    shown: ({ usage }) => usage,
  }),
}

const jsonIn = (path = ''): Json => {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
/** Of a file that has the columns that it should. */
const rowsIn = (path = ''): Json => {
  const text = readFileSync(path, 'utf8')
  const delimiter = text.includes(';') ? ';' : ','
  try {
    const rows: Json[] = parse(text, { columns: true, skip_empty_lines: true, delimiter })
    const known = rows.length > 0 && rows.every((row) => 'name' in row)
    return known
      ? rows.map(({ credits, ...row }) => {
          const fields = Object.entries({ ...row, ...(credits && { credits: number(credits) }) })
          return Object.fromEntries(fields.filter(([, value]) => value !== ''))
        })
      : undefined
  } catch {
    return undefined
  }
}
const asEntry = ({ subscribers: _, retired_at, ...entry }: Json) => ({ ...entry, ...(retired_at && { retired_at }) })
const pausable = ({ model, backend }: Line['options']) => {
  const [file] = (model as string[] | undefined) ?? []
  if (file !== undefined) return { scope: 'model', target: backend === undefined ? file : undefined }
  return backend === undefined ? { scope: 'all' } : { scope: 'backend', target: backend }
}

const part = (text: string | undefined) => encodeURIComponent(text ?? '')
const get = (path: string): Call => ({ method: 'GET', path })
const post = (path: string, body: object): Call => ({ method: 'POST', path, body })
const patch = (path: string, body: object): Call => ({ method: 'PATCH', path, body })
const number = (text: unknown) => (typeof text === 'string' && /^[+-]?\d+$/.test(text) ? Number(text) : text)
const asked = ({ yes, reason }: Line['options']) => ({ meant: yes, reason })
const limits = (options: Line['options']) => ({
  until: options['no-until'] ? null : options.until,
  monthly_limit: options['no-monthly-limit'] ? null : number(options['monthly-limit']),
  models: options['no-model'] ? null : (options.model as string[] | undefined)?.map(number),
})
const query = (fields: Readonly<Record<string, unknown>>) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length > 0 ? `?${new URLSearchParams(given as [string, string][])}` : ''
}

const FLAGS = [
  'dry-run',
  'unlisted',
  'yes',
  'purge',
  'none',
  'unmatched',
  'operator',
  'developer',
  'below-zero',
  'no-until',
  'no-monthly-limit',
  'no-model',
]

function lineOf(words: readonly string[]): Line {
  const args: string[] = []
  const options: Record<string, string | true | string[]> = {}
  for (let n = 0; n < words.length; n++) {
    const word = words[n] as string
    const name = word.startsWith('--') ? word.slice(2) : undefined
    if (name === undefined) args.push(word)
    else if (FLAGS.includes(name)) options[name] = true
    else if (name === 'model')
      options.model = [...((options.model as string[] | undefined) ?? []), words[++n] as string]
    else options[name] = words[++n] as string
  }
  return { args, options }
}

/** The commands that were sent. */
export const driven = new Set<string>()

export interface AdminDriver {
  /** Undefined: the command has no endpoint. */
  call(words: readonly string[]): Promise<{ readonly status: number; readonly body: Json } | undefined>
  close(): Promise<void>
}

/** No command of the command line submits anything. */
const noSubmits = {} as Parameters<typeof adminPorts>[3]

export function adminDriver(db: Database, env: Readonly<Record<string, string>>): AdminDriver {
  let opened: Promise<{ app: App; foundation: Foundation; key: string }> | undefined
  const open = async () => {
    const config = parseConfig(env)
    const foundation = await openFoundation(config, pino({ level: 'silent' }), { maxConnections: 4 })
    const { counter } = foundation
    const app = await buildBareApp({
      admin: {
        ports: adminPorts(config, foundation, imageStore(config), noSubmits, undefined),
        authentication: { accounts: accountStore(foundation.db), guesses: counter, keyPrefix: 'easel' },
        limit: { counter, max: 0, windowSeconds: 1 },
        baseUrl: config.baseUrl,
      },
    })
    return { app, foundation, key: await givenOperatorKey(db) }
  }
  return {
    async call(words) {
      const two = words.slice(0, 2).join(' ')
      const command = CALLS[two] ? two : (words[0] as string)
      const asked = CALLS[command]?.(lineOf(words.slice(command.split(' ').length)))
      if (!asked) return undefined
      driven.add(command)
      opened ??= open()
      const { app, key } = await opened
      const { method, body, shown = (it: Json) => it } = asked
      const url = `/admin/v1${asked.path}`
      const { reason } = lineOf(words).options
      const why = method === 'DELETE' && typeof reason === 'string' ? { 'x-reason': reason } : {}
      const answer = await app.inject({
        method,
        url,
        headers: { authorization: `Bearer ${key}`, ...why },
        ...(body && { payload: body }),
      })
      const { statusCode: status, headers } = answer
      expectDescribed(method, url, { status, headers: new Headers(headers as Record<string, string>) })
      return { status, body: status < 400 ? shown(answer.json()) : answer.json() }
    },
    async close() {
      const { app, foundation } = (await opened) ?? {}
      await app?.close()
      await foundation?.close()
    },
  }
}

/** Straight into the tables: what operators did is what the tests look at. */
async function givenOperatorKey(db: Database): Promise<string> {
  const { accounts, keys } = administration(db)
  const [username] = ADMIN_ACTOR.split(' ') as [string]
  const created = await accounts.create({
    username,
    credits: 0,
    subscription: undefined,
    email: undefined,
    role: 'operator',
  })
  if (!('id' in created)) throw new Error(`there is a ${username} already`)
  const key = newApiKey('easel-operator')
  const facts = { hash: hashApiKey(key), hint: apiKeyHint(key), name: 'tests' }
  await keys.create({ userId: created.id, kind: 'operator', scope: 'all', ...facts })
  return key
}
