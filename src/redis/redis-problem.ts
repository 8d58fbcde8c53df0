import type { Redis } from 'ioredis'
import { redisRefusal } from './client.js'

/** Where a refusal of Redis says what it is; by its first word. */
const REFUSALS: Readonly<Record<string, string>> = {
  OOM: 'Redis has no memory left: raise its maxmemory',
  READONLY: 'Redis is a replica and takes nothing: let REDIS_URL lead to the primary',
  MISCONF: 'Redis takes nothing because it cannot save to its disk: make room there, or correct its "dir"',
  NOREPLICAS:
    'Redis takes nothing because too few of its replicas are there: start them, or lower min-replicas-to-write',
  LOADING: 'Redis is still loading its data: wait for that',
  BUSY: "Redis is held up by another client's script: end that with SCRIPT KILL",
  NOPERM: 'Redis gives the user in REDIS_URL too few rights: allow all commands and keys',
}
const WITHOUT = 'Until then requests are served without it.'

/** As little as the lock and the queue do: a script that writes. */
const WRITE = `redis.call('SET', KEYS[1], '1', 'PX', '1000')`

/**
 * Asks what is wrong with Redis now, as one sentence; undefined: nothing.
 * @param prefix of the keys that this process may write
 */
export function redisProblem(redis: Redis, prefix: string): () => Promise<string | undefined> {
  /** Why there is no connection. */
  let lost: Error | undefined
  redis.on('error', (error) => {
    lost = error
  })
  return async () => {
    let facts = ''
    try {
      await redis.eval(WRITE, 1, `${prefix}:check`)
      // Not CONFIG GET, which hosted servers refuse. BullMQ needs INFO, too.
      facts = await redis.info('memory')
    } catch (error) {
      return sentenceOf(redis.status === 'ready' ? error : lost)
    }
    const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1] ?? 'noeviction'
    if (policy === 'noeviction') return undefined
    return `Redis may drop jobs and locks, because its maxmemory-policy is ${policy}: set it to noeviction.`
  }
}

function sentenceOf(error: unknown): string {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  const known = REFUSALS[message.split(' ', 1)[0] ?? '']
  if (known) return `${known}. ${WITHOUT}`
  const refusal = error instanceof Error && redisRefusal(error)
  if (refusal) return `${refusal} ${WITHOUT}`
  if (name === 'ReplyError') return `Redis refuses what it is asked (${message}): look into its log. ${WITHOUT}`
  return 'Redis does not answer, so requests are served without it: check that it runs where REDIS_URL leads, and has not reached its maxclients.'
}
