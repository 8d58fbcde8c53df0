import { Redis, type RedisOptions } from 'ioredis'

type OnError = (error: Error) => void
type Options = Omit<RedisOptions, 'replyMapping'>

const FAIL_FAST = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  // Resending after a reconnect would run a command twice whose answer was lost.
  autoResendUnfulfilledCommands: false,
  connectTimeout: 1000,
}

/**
 * For what a request waits on (lock, limiter, progress): fails within a moment instead of queueing while Redis is
 * away. A command that timed out may still be executed later.
 */
export function createFailFastRedis(url: string, onError: OnError): Redis {
  return connect(url, { ...FAIL_FAST, commandTimeout: 300 }, onError)
}

/**
 * For BullMQ's producing end. Without a command timeout: one that hits BullMQ's first look at Redis would fail every
 * later add, too. Whoever adds sets a deadline of their own.
 */
export function createProducerRedis(url: string, onError: OnError): Redis {
  return connect(url, FAIL_FAST, onError)
}

/** For BullMQ's worker, whose blocking reads must wait as long as it takes; never with a command timeout. */
export function createPatientRedis(url: string, onError: OnError): Redis {
  return connect(url, { maxRetriesPerRequest: null, connectTimeout: 2000 }, onError)
}

/**
 * Resolves once connected, or after a moment anyway: Redis being away must not keep a process from starting.
 * @throws Error with one sentence where waiting cannot help: Redis wants another user or password
 */
export async function whenReady(redis: Redis, timeoutMs = 2000): Promise<void> {
  if (redis.status === 'ready') return
  await new Promise<void>((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer)
      redis.off('ready', ready)
      redis.off('error', refused)
      settle()
    }
    const ready = () => end(resolve)
    const refused = (error: Error) => {
      if (!/NOAUTH|WRONGPASS|NOPERM|invalid password/.test(error.message)) return
      end(() =>
        reject(new Error('Redis refuses the user or the password in REDIS_URL: correct them.', { cause: error })),
      )
    }
    const timer = setTimeout(ready, timeoutMs)
    redis.on('ready', ready)
    redis.on('error', refused)
  })
}

// The default backs off up to 20 s, which would add to every outage.
const retryStrategy = (attempt: number) => Math.min(100 * attempt, 500)

function connect(url: string, options: Options, onError: OnError): Redis {
  const given = { ...options, ...throughSentinels(url), retryStrategy }
  const redis = given.sentinels ? new Redis(given) : new Redis(url, given)
  redis.on('error', onError)
  return redis
}

/** Of `redis://:password@NAME/0?sentinels=HOST:PORT,HOST:PORT`: whichever server these sentinels call the master NAME. */
function throughSentinels(url: string): Options {
  const { protocol, username, password, hostname, pathname, searchParams } = new URL(url)
  const sentinels = searchParams.get('sentinels')
  if (sentinels === null) return {}
  return {
    sentinels: sentinels.split(',').map((address) => {
      const { hostname: host, port } = new URL(`redis://${address}`)
      return { host, port: Number(port || 26379) }
    }),
    name: hostname,
    db: Number(pathname.slice(1)),
    sentinelRetryStrategy: retryStrategy,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {}, enableTLSForSentinelMode: true }),
  }
}
