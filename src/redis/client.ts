import { type Cluster, Redis } from 'ioredis'
import { reasonOf } from '../lib/causes.js'
import { type NamedBy, noTls, tlsOptions, tlsRefusal } from '../lib/tls.js'
import {
  firstNodeOf,
  isCluster,
  isNamedInUrl,
  leadsToCluster,
  masterNodes,
  type NodeOptions,
  openCluster,
  type RedisClient,
} from './cluster.js'
import { forbiddenCommand } from './rights.js'
import './second-errors.js'
import {
  isOtherwise,
  masterOf,
  REFUSED_LOGIN,
  SENTINELS_AWAY,
  type Server,
  sentinelRefusal,
  throughSentinels,
} from './sentinels.js'
import { throughSocket } from './socket.js'

type OnError = (error: Error) => void

const FAIL_FAST = {
  // What was asked on a connection that was lost fails at once. With more, ioredis never settles what it does not resend.
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  // After a reconnect, a resent command whose answer was lost would run twice.
  autoResendUnfulfilledCommands: false,
  connectTimeout: 1000,
  socketTimeout: 5000,
}

/**
 * Each `socketTimeout` ends a connection on which a command has had no answer for so long: after a failover the old server may
 * say nothing of its end, and TCP alone would wait for a quarter of an hour.
 *
 * For requests (lock, limiter, progress): fails immediately while Redis is down. A timed-out command may still run.
 * Without ioredis's automatic pipelines, which cost more than they save: what concurrent requests ask for is one command
 * already, where there are many of them.
 */
export const createFailFastRedis = (url: string, onError: OnError): RedisClient =>
  connect(url, { ...FAIL_FAST, commandTimeout: 300 }, onError)

/** For audits, which nobody waits for: a busy Redis has its time, one that is away fails. */
export const createAuditRedis = (url: string, onError: OnError): RedisClient =>
  connect(url, { ...FAIL_FAST, commandTimeout: 5000, socketTimeout: 15_000 }, onError)

/** For BullMQ's producer. No command timeout: if BullMQ's first command met it, every later add would fail. */
export const createProducerRedis = (url: string, onError: OnError): RedisClient => connect(url, FAIL_FAST, onError)

/** For BullMQ's worker. No command timeout, because its reads block, for 10 s at most. */
export const createPatientRedis = (url: string, onError: OnError): RedisClient =>
  connect(url, { maxRetriesPerRequest: null, connectTimeout: 2000, socketTimeout: 15_000 }, onError)

/**
 * Waits briefly for the connection: a process must start while Redis is down.
 * @throws Error with one sentence if Redis refuses the login, TLS does not fit, or it is a kind of server that does not
 */
export async function whenReady(redis: RedisClient, timeoutMs = 2000): Promise<void> {
  if (redis.status !== 'ready') await connected(redis, timeoutMs)
  if (redis.status !== 'ready') return
  if (isCluster(redis)) return requireFittingCluster(redis)
  const facts = await redis.info('server').catch(() => '')
  // Valkey calls it server_mode.
  const sentence = UNFIT[/^(?:redis|server)_mode:(\w+)/m.exec(facts)?.[1] ?? '']
  if (sentence) throw new Error(sentence)
}

/** A node that is away must not keep a process from starting. */
const NODE_WITHIN_MS = 1000

/** Hosted clusters may refuse scripts, or be made for caches. @throws Error with one sentence */
async function requireFittingCluster(redis: Cluster): Promise<void> {
  // Otherwise the first command to each node would have to connect in its own time, too.
  const unready = masterNodes(redis).filter(({ status }) => status !== 'ready')
  const connect = (node: Redis) => (node.status === 'wait' ? node.connect().catch(() => undefined) : undefined)
  await Promise.all(unready.map((node) => Promise.all([connect(node), connected(node, NODE_WITHIN_MS)])))
  const refused = await redis.eval('return 1', 0).then(
    () => undefined,
    ({ message }: Error) => /NOPERM|unknown command/i.exec(message),
  )
  if (refused) throw new Error('The Redis cluster runs no Lua scripts for Easel: allow them, or use another Redis.')
  const sentence = await evictionProblem(redis).catch(() => undefined)
  if (sentence) throw new Error(sentence)
}

/** By what a server says of itself. */
const UNFIT: Readonly<Record<string, string>> = {
  cluster:
    'Redis is a cluster: write redis://HOST:6379?cluster=HOST:6379,HOST:6379 into REDIS_URL, with two or more of its nodes, or redis://HOST:6379?cluster where one address leads to all, as with hosted ones.',
  sentinel: 'REDIS_URL leads to a sentinel: write redis://MASTER/0?sentinels=HOST:26379,HOST:26379 with its master.',
}

async function connected(redis: RedisClient, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer)
      redis.off('ready', ready)
      for (const event of ERRORS) redis.off(event, refused)
      settle()
    }
    const ready = () => end(resolve)
    const refused = (error: Error) => {
      // A cluster says so when no node would tell it the slots, with what the last one said.
      const cause = (error as { lastNodeError?: Error }).lastNodeError ?? error
      const sentence = redisRefusal(cause, redis)
      if (sentence) end(() => reject(new Error(sentence, { cause })))
    }
    const late = async () => {
      const { sentence, ...asked }: Server = isCluster(redis) ? firstNodeOf(redis) : await masterOf(redis.options)
      if (sentence) return end(() => reject(new Error(sentence)))
      if (isCluster(redis)) await askAlone(asked, refused)
      if (!(await isOtherwise(asked))) return ready()
      end(() => reject(new Error(asked.tls ? noTls('Redis', 'REDIS_URL') : ONLY_TLS)))
    }
    const timer = setTimeout(() => void late(), timeoutMs)
    redis.on('ready', ready)
    for (const event of ERRORS) redis.on(event, refused)
  })
}

/** The second one is of a node that a cluster has named. */
const ERRORS = ['error', 'node error']

/** Asks a node by itself: a cluster keeps to itself why its nodes refuse a connection. */
async function askAlone(options: NodeOptions, refused: (error: Error) => void): Promise<void> {
  const probe = new Redis({ ...options, lazyConnect: true, retryStrategy: null }).on('error', refused)
  await probe.connect().catch(() => undefined)
  probe.disconnect()
}

const ONLY_TLS = 'Redis takes no connection without TLS at that port: let REDIS_URL begin with rediss://.'

/** The sentence for a login or TLS that Redis or we refused; undefined for any other error. */
const redisRefusal = (error: Error, redis: RedisClient): string | undefined =>
  SENTINELS_AWAY.test(error.message)
    ? sentinelRefusal(error)
    : REFUSED_LOGIN.test(error.message)
      ? 'Redis refuses the user or the password in REDIS_URL: correct them.'
      : /^DENIED /.test(error.message)
        ? 'Redis is in protected mode and takes connections from its own machine only: give it a password (requirepass), and write that into REDIS_URL.'
        : /NOPERM/.test(error.message)
          ? `${REFUSALS.NOPERM}.`
          : /DB index is out of range/.test(error.message)
            ? 'Redis has no database with the number at the end of REDIS_URL: correct it.'
            : /cluster support disabled/.test(error.message)
              ? 'REDIS_URL says that Redis is a cluster, but it is a single one: leave ?cluster= out.'
              : tlsRefusal(error, 'Redis', 'REDIS_URL', (host) => namedBy(redis, host))

/** Who named a host, and how they come to name another; undefined: the URL. */
function namedBy(redis: RedisClient, host: string | undefined): NamedBy | undefined {
  if (isCluster(redis)) return isNamedInUrl(redis, host) ? undefined : BY_CLUSTER
  return redis.options.sentinels ? BY_SENTINELS : undefined
}
const BY_CLUSTER: NamedBy = {
  who: 'the nodes of the cluster',
  mend: 'let them announce a name of the certificate (cluster-announce-hostname NAME and cluster-preferred-endpoint-type hostname)',
}
const BY_SENTINELS: NamedBy = {
  who: 'the sentinels',
  mend: 'let them use a name of the certificate (sentinel resolve-hostnames yes and sentinel announce-hostnames yes, and replica-announce-ip NAME on each Redis)',
}

// The default backs off up to 20 s, which would add to every outage.
const retryStrategy = (attempt: number) => Math.min(100 * attempt, 500)

/** So often at most a connection to a server that takes no writes is opened anew: its name may still lead there. */
const ELSEWHERE_EVERY_MS = 1000

function connect(url: string, options: NodeOptions, onError: OnError): RedisClient {
  const { protocol, searchParams } = new URL(url)
  const tls = protocol === 'rediss:' ? { tls: tlsOptions(searchParams) } : {}
  if (leadsToCluster(url)) return openCluster(url, { ...options, ...tls }, retryStrategy).on('error', onError)
  let reopenedAt = Number.NEGATIVE_INFINITY
  // A primary that became a replica keeps its connections, while its name leads to the next one, now or soon.
  const reconnectOnError = ({ message }: Error) => {
    if (message.startsWith('UNBLOCKED ')) return true
    if (!/\bREADONLY\b/.test(message) || performance.now() - reopenedAt < ELSEWHERE_EVERY_MS) return false
    reopenedAt = performance.now()
    return true
  }
  const place = { ...throughSentinels(url, retryStrategy), ...throughSocket(url) }
  const given = { ...options, ...tls, ...place, retryStrategy, reconnectOnError }
  const redis: Redis = given.sentinels ? new Redis(given) : new Redis(url, given)
  redis.on('error', onError)
  return redis
}

type Script = (keys: readonly string[], ...values: readonly (string | number | Buffer)[]) => Promise<unknown>

/** A Lua script, which is sent once per connection and then only named by its hash. */
export function defineScript(redis: RedisClient, name: string, lua: string): Script {
  redis.defineCommand(name, { lua })
  const run = (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]
  return (keys, ...values) => run?.call(redis, keys.length, ...keys, ...values) as Promise<unknown>
}

/** After a failure no command is sent for this long, so that only one request per period waits for the time-out. */
const PAUSE_MS = 1000

/** A circuit breaker for all users of a connection: for a while after a failure their commands fail immediately. */
export function redisAvailability() {
  let pausedUntil = 0
  return {
    async run<T>(ask: () => Promise<T>): Promise<T> {
      if (performance.now() < pausedUntil) throw new Error('Redis failed a moment ago: the command is not sent')
      try {
        return await ask()
      } catch (error) {
        pausedUntil = performance.now() + PAUSE_MS
        throw error
      }
    },
  }
}

export type RedisAvailability = ReturnType<typeof redisAvailability>

/** What hides that it is a cluster until keys of two nodes are asked for. */
const BEHIND_ONE_ADDRESS =
  'Redis is a cluster behind one address: write ?cluster at the end of REDIS_URL, or use one that is no cluster'
/** Where a refusal of Redis says what it is; by its first word. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'Redis has no memory left: raise its maxmemory',
  READONLY: 'Redis is a replica and takes nothing: let REDIS_URL lead to the primary',
  MISCONF: 'Redis takes nothing because it cannot save to its disk: make room there, or correct its "dir"',
  NOREPLICAS:
    'Redis takes nothing because too few of its replicas are there: start them, or lower min-replicas-to-write',
  MASTERDOWN: 'Redis is a replica that has lost its primary: let REDIS_URL lead to the primary',
  LOADING: 'Redis is still loading its data: wait for that',
  BUSY: "Redis is held up by another client's script: end that with SCRIPT KILL",
  CLUSTERDOWN:
    'Nodes of the Redis cluster are away, and with them some of its keys: start them, or let replicas take over',
  CROSSSLOT: BEHIND_ONE_ADDRESS,
  MOVED: BEHIND_ONE_ADDRESS,
  NOPERM: 'Redis gives the user in REDIS_URL too few rights: allow all commands and keys',
}
const WITHOUT = 'Until then requests are served without it.'

/**
 * Asks what is wrong with Redis now, as one sentence; undefined: nothing.
 * @param prefix of the keys that this process may write
 */
export function redisProblem(redis: RedisClient, prefix: string): () => Promise<string | undefined> {
  /** Why there is no connection. */
  let lost: Error | undefined
  redis.on('error', (error) => {
    lost = error
  })
  return async () => {
    try {
      // As BullMQ's keys begin, and, where those of a command may lie in several slots, as those of locks.
      const keys = [`{${prefix}}:check`, ...(isCluster(redis) ? [] : [`${prefix}:check`])]
      const forbidden = await forbiddenCommand(redis, keys)
      if (forbidden)
        return `Redis does not let the user in REDIS_URL run ${forbidden}: allow all commands and keys. ${WITHOUT}`
      return await evictionProblem(redis)
    } catch (error) {
      // What takes no writes is left and opened anew all the time.
      if ((error as Error).name === 'ReplyError') lost = error as Error
      return sentenceOf(redis.status === 'ready' ? error : lost, redis)
    }
  }
}

/** One sentence if a node may drop what it holds. Not CONFIG GET, which hosted servers refuse; BullMQ needs INFO, too. */
async function evictionProblem(redis: RedisClient): Promise<string | undefined> {
  for (const facts of await Promise.all(masterNodes(redis).map((node) => node.info('memory')))) {
    const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1] ?? 'noeviction'
    if (policy === 'noeviction') continue
    return `Redis may drop jobs and locks, because its maxmemory-policy is ${policy}: set it to noeviction.`
  }
  return undefined
}

function sentenceOf(error: unknown, redis: RedisClient): string {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  const known = REFUSALS[message.split(' ', 1)[0] ?? '']
  if (known) return `${known}. ${WITHOUT}`
  const refusal = error instanceof Error && redisRefusal(error, redis)
  if (refusal) return `${refusal} ${WITHOUT}`
  if (name === 'ReplyError') return `Redis refuses what it is asked (${message}): look into its log. ${WITHOUT}`
  const why = error === undefined ? '' : ` (${reasonOf(error)})`
  return `Redis does not answer${why}, so requests are served without it: check that it runs where REDIS_URL leads, and has not reached its maxclients.`
}
