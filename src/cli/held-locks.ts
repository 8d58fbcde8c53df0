import type { Redis } from 'ioredis'
import type { Locks } from '../audit/lock-check.js'
import { redisActiveGenerationLock } from '../redis/active-generation-lock.js'
import { createFailFastRedis, whenReady } from '../redis/client.js'
import { OperatorError } from './operator-error.js'

/** As wiring.ts and active-generation-lock.ts name them. */
const NAMESPACE = 'easel'
const keyOf = (accountId: string) => `${NAMESPACE}:lock:${accountId}`

export interface OpenLocks extends Locks {
  close(): void
}

/** The locks in Redis, only read. @throws OperatorError when Redis doesn't answer */
export async function openLocks(redisUrl: string): Promise<OpenLocks> {
  const redis = createFailFastRedis(redisUrl, () => undefined)
  await whenReady(redis)
  if (redis.status !== 'ready') {
    redis.disconnect()
    throw unreachable()
  }
  return {
    async *all() {
      try {
        yield* redisActiveGenerationLock(redis, NAMESPACE).all()
      } catch (cause) {
        throw unreachable(cause)
      }
    },
    look: (accountId) => look(redis, keyOf(accountId)),
    close: () => redis.disconnect(),
  }
}

const unreachable = (cause?: unknown) =>
  new OperatorError("Redis can't be reached: check REDIS_URL and that it is running.", { cause })

async function look(redis: Redis, key: string) {
  const [generationId, ttlMs] = await Promise.all([redis.get(key), redis.pttl(key)]).catch((cause) => {
    throw unreachable(cause)
  })
  return generationId === null ? undefined : { generationId, ttlMs }
}
