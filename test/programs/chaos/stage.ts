/** Everything a run needs, started and ended in order; nothing of it outlives this process. */
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { hashPassword } from '../../../src/core/accounts/password.js'
import { type ModelVersion, SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { newEndpointId, newWebhookSecret, WEBHOOK_EVENTS } from '../../../src/core/webhooks/webhook.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { administration } from '../../../src/db/operator/administration.js'
import { webhookEndpointStore } from '../../../src/db/webhooks/endpoints.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import { type Config, parseConfig } from '../../../src/process/config.js'
import { SECRET_KEY, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { compile } from '../../support/compile.js'
import { freePort } from '../../support/free-port.js'
import { givenUser, type UserOptions } from '../../support/givens.js'
import type { Seeded } from '../../support/seeded.js'
import { sharedTemporaryDirectory } from '../../support/temporary.js'
import { givenGoods } from '../payments/buyers.js'
import type { Visitor } from './browser.js'
import { named, recordEvents } from './event-checks.js'
import type { Victims } from './faults.js'
import { type Gpus, startGpus } from './gpus.js'
import { imageDirectory } from './image-directory.js'
import { creditsOfKey } from './key-limits.js'
import type { ChaosUser } from './load.js'
import { givenOperator, type Operator } from './operators.js'
import { type Payer, STRIPE_BEHIND_MS, type Till } from './payers.js'
import { CHAOS_PLAN, givenChaosPlan } from './periods.js'
import { type AttackedPostgres, startAttackedPostgres } from './postgres.js'
import { startProxy, type TcpProxy } from './proxy.js'
import { startReceiver, type WebhookReceiver } from './receiver.js'
import { type AttackedRedis, type RedisKind, startAttackedRedis } from './redis.js'
import { HOSTS, SERVERS } from './schedule.js'
import { Supervised, type SupervisedOptions } from './supervised.js'
import { startWatchdog } from './watchdog.js'
import type { Windows } from './windows.js'
import { importWorkflow, WORKFLOW } from './workflow.js'

/** Long enough that no healthy generation meets it, short enough to wait for at the end. */
export const DEADLINE_SECONDS = 60
/** Longer than a heartbeat's interval, so that a hung GPU lets one happen. */
const INFERENCE_TIMEOUT_SECONDS = 4
const GPU_LATENCY_MS = 25
const GRANTED = 1_000_000
const POORLY_GRANTED = 30

/** What every prompt holds and nothing else may say. */
export const CANARY = 'quokkaverb'
/** A prompt, or an API key. */
export const SECRET = new RegExp(`${CANARY}|easel(-operator)?_[0-9A-Za-z]{38}`, 'i')
/** The prompt's second and third word. */
export const readPrompt = (prompt: string) => {
  const [, kind = '', tag = ''] = prompt.split(' ')
  return { kind, tag }
}

/** Checkpoints on the GPUs; the last one of the catalog's is on none. */
const CHECKPOINTS = [1, 10, 11]
export const MISSING_MODEL = 13
/** What the keys with a limit may use. */
const MODELS_OF_KEY = [CHECKPOINTS[0] as number, WORKFLOW]
const STRIPE_WEBHOOK_SECRET = 'whsec_of_the_chaos'

export interface StageOptions {
  readonly chance: Seeded
  readonly users: number
  readonly windows: Windows
  readonly redis: RedisKind
  /** Of every server and worker, beside what a run always sets. */
  readonly env: Readonly<Record<string, string>>
  /** FAILPOINTS of one start; undefined for none. */
  readonly failpoints: (chance: Seeded) => string | undefined
  /** Whether the subscribers' receiver of webhooks fails now and then. */
  readonly faulty: () => boolean
  readonly onKilled: SupervisedOptions['onKilled']
  readonly onUnexpectedEnd: SupervisedOptions['onUnexpectedEnd']
}

export interface Stage extends Victims {
  readonly directory: string
  readonly config: Config
  readonly users: readonly ChaosUser[]
  readonly visitors: readonly Visitor[]
  readonly payers: readonly Payer[]
  readonly operator: Operator
  readonly models: readonly number[]
  /** A checkpoint that nobody generates with. */
  readonly unusedFile: string
  readonly serverUrls: readonly string[]
  readonly failpointsLog: string
  readonly receiver: WebhookReceiver
  /** One connection past the proxies. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

export async function startStage(options: StageOptions): Promise<Stage> {
  const directory = await realpath(await mkdtemp(join(sharedTemporaryDirectory(), 'easel-chaos-')))
  await chmod(directory, 0o755) // as root the services' users must get through
  const compiled = join(directory, 'compiled')
  const watchdog = startWatchdog(directory)
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const end of closing.reverse()) await end()
    closing.length = 0
    watchdog.dismiss()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  const closedBy = <T extends { stop(): Promise<void> }>(opened: T): T => {
    closing.push(() => opened.stop())
    return opened
  }

  try {
    let proxy: TcpProxy | undefined
    const [, postgres, redis] = await Promise.all([
      compile(compiled),
      startAttackedPostgres(directory, watchdog, (port) => proxy?.target(port)).then(closedBy<AttackedPostgres>),
      startAttackedRedis(options.redis, { directory, watchdog, chance: options.chance.fork('redis') }).then(
        closedBy<AttackedRedis>,
      ),
    ])
    const postgresNet = await startProxy(postgres.port)
    proxy = postgresNet
    closing.push(() => postgresNet.close())
    const unused = SEED_MODELS.find(({ id }) => ![...CHECKPOINTS, MISSING_MODEL].includes(id)) as ModelVersion
    const files = SEED_MODELS.filter(({ id }) => CHECKPOINTS.includes(id)).map(({ filename }) => filename)
    const gpus: Gpus = closedBy(
      await startGpus(join(compiled, 'test/programs/chaos/gpu-process.js'), {
        setup: { hosts: HOSTS, latencyMs: GPU_LATENCY_MS, models: files },
        read: readPrompt,
      }),
    )

    await migrateDatabase(postgres.url)
    const connect = async () => {
      const client = new pg.Client({ connectionString: postgres.url })
      client.on('error', () => undefined)
      await client.connect()
      return client
    }
    const client = await connect()
    await recordEvents(client)
    await client.end()
    let changes = 0
    const changeWorkflow = () => importWorkflow(postgres.url, files[0] as string, ++changes)
    await changeWorkflow()
    const receiver = await startReceiver(options.chance.fork('receiver'), options.faulty)
    closing.push(() => receiver.close())
    const users = await givenUsers(postgres.url, options.users, receiver)
    const visitors = await givenVisitors(postgres.url, Math.ceil(options.users / 8))
    const till = await openTill(postgres.url)
    closing.push(() => till.stripe.close())
    const payers = await givenPayers(postgres.url, Math.ceil(options.users / 8))
    const operator = await withDatabase(postgres.url, givenOperator)

    const images = imageDirectory(directory)
    const failpointsLog = join(directory, 'failpoints.log')
    const taken = new Set<number>()
    while (taken.size < SERVERS) taken.add(await freePort())
    const ports = [...taken]
    const serverUrls = ports.map((port) => `http://127.0.0.1:${port}`)
    const proxied = Object.assign(new URL(postgres.url), { port: String(postgresNet.port) }).href
    const shared = {
      REDIS_URL: redis.serviceUrl,
      STORAGE_URL: `file:${images.path}`,
      BASE_URL: serverUrls[0] as string,
      INFERENCE_TIMEOUT_SECONDS: String(INFERENCE_TIMEOUT_SECONDS),
      GENERATION_DEADLINE_SECONDS: String(DEADLINE_SECONDS),
      // Load is what a run is about; the limit has its own tests.
      RATE_LIMIT_MAX: '1000000',
      // Each visitor of the website has an address of their own.
      TRUST_PROXY: '127.0.0.1',
      ...{ STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_URL: till.stripe.url },
      ...{ WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' },
      ...options.env,
    }
    const supervise = (role: 'server' | 'worker', index: number, more: Record<string, string>) => {
      const name = `${role}-${index}`
      const chance = options.chance.fork(name)
      const { windows, onKilled, onUnexpectedEnd } = options
      const supervised = new Supervised({
        ...{ name, watchdog, windows, onKilled, onUnexpectedEnd },
        command: [join(compiled, 'test/programs/chaos/service-process.js'), role],
        logFile: join(directory, `${name}.log`),
        env: (incarnation) => {
          const failpoints = options.failpoints(chance)
          return {
            ...shared,
            ...more,
            DATABASE_URL: named(proxied, `${name}.${incarnation}`),
            ...(failpoints && { FAILPOINTS: failpoints, FAILPOINTS_LOG: failpointsLog }),
          }
        },
      })
      closing.push(() => supervised.close())
      return supervised
    }
    const servers = ports.map((port, i) => supervise('server', i, { PORT: String(port) }))
    const workers = gpus.urls.map((url, i) => supervise('worker', i, { INFERENCE_URL: url }))
    await Promise.all([...servers, ...workers].map((each) => each.start()))
    return {
      ...{
        directory,
        users,
        visitors,
        payers,
        operator,
        till,
        models: [...CHECKPOINTS, WORKFLOW],
        unusedFile: unused.filename,
        serverUrls,
        failpointsLog,
        receiver,
        connect,
        close,
      },
      ...{ servers, workers, redis, postgres, gpus, images, changeWorkflow, windows: options.windows },
      postgresNet,
      config: parseConfig({ ...shared, DATABASE_URL: postgres.url, PORT: String(ports[0]) }),
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function withDatabase<T>(url: string, use: (db: Database) => Promise<T>): Promise<T> {
  const db = createDatabase(url, { maxConnections: 2, onError: () => undefined })
  try {
    return await use(db)
  } finally {
    await db.pool.end()
  }
}

/** An account at Stripe, and what is sold for it. */
async function openTill(databaseUrl: string): Promise<Till> {
  const stripe = await startStripeStandIn({ start: new Date(Date.now() - STRIPE_BEHIND_MS) })
  const webhookSecret = STRIPE_WEBHOOK_SECRET
  const provider = await stripeProvider({ secretKey: SECRET_KEY, webhookSecret, apiUrl: stripe.url })
  return { stripe, provider, webhookSecret, goods: await withDatabase(databaseUrl, (db) => givenGoods(db, stripe)) }
}

/**
 * Mostly rich ones, a quarter with a plan that grants credits, a few who run out of credits, a few with developer keys, a few
 * whose keys have limits, and a few who are told by webhooks.
 */
async function givenUsers(databaseUrl: string, count: number, receiver: WebhookReceiver): Promise<ChaosUser[]> {
  const db = createDatabase(databaseUrl, { maxConnections: 2, onError: () => undefined })
  const endpoints = webhookEndpointStore(db, newEndpointId, async () => undefined)
  await givenChaosPlan(db)
  const users: ChaosUser[] = []
  for (let i = 0; i < count; i++) {
    const developer = i % 8 === 7
    const granted = developer ? 0 : i % 8 === 6 ? POORLY_GRANTED : GRANTED
    const { id, username, key, keyId } = await givenUser(db, {
      credits: granted,
      ...(i % 4 === 2 && { subscription: { plan: CHAOS_PLAN } }),
      ...(developer && { developer: { concurrency: 4 } }),
    })
    const limit = i % 8 === 4 ? { credits: creditsOfKey(Math.floor(i / 8)), models: MODELS_OF_KEY } : undefined
    if (limit) await administration(db).keys.change(keyId, { monthlyLimit: limit.credits, models: limit.models })
    users.push({ name: username, key, developer, granted, limit })
    if (i % 4 === 1 || developer) {
      const [endpointId, secret] = [newEndpointId(), newWebhookSecret()]
      const endpoint = {
        id: endpointId,
        url: receiver.url(endpointId),
        description: '',
        events: WEBHOOK_EVENTS,
        secret,
      }
      await endpoints.create(id, endpoint, 1)
      receiver.expect(endpointId, secret)
    }
  }
  await db.pool.end()
  return users
}

/** Rich subscribers of the website. */
const givenVisitors = (databaseUrl: string, count: number): Promise<Visitor[]> =>
  givenPeople(databaseUrl, count, { credits: GRANTED }, 0)

/** Who has nothing yet. */
const givenPayers = async (databaseUrl: string, count: number): Promise<Payer[]> =>
  (await givenPeople(databaseUrl, count, { credits: 0, subscription: null }, 1)).map((it) => ({
    ...it,
    subscription: undefined,
  }))

/** With a password for the website. @param group tells their marks and addresses from another one's */
const givenPeople = (databaseUrl: string, count: number, its: UserOptions, group: number) =>
  withDatabase(databaseUrl, async (db) => {
    const password = randomUUID()
    const passwordHash = await hashPassword(password)
    const people: (Visitor & { readonly accountId: string })[] = []
    for (let i = 0; i < count; i++) {
      const { id: accountId, username: name } = await givenUser(db, its)
      await credentialStore(db).setPassword(accountId, passwordHash, undefined)
      const place = { mark: `visitor${group}${i}mark`, address: `10.0.${group}.${i + 1}` }
      people.push({ accountId, name, password, ...place })
    }
    return people
  })
