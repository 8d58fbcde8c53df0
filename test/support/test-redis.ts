/** A test's own look into the run's Redis, which with TEST_REDIS=cluster is a cluster. */
import { createPatientRedis, whenReady } from '../../src/redis/client.js'
import { masterNodes, type RedisClient, scanKeys } from '../../src/redis/cluster.js'
import { redisAvailable, redisUrl } from './services.js'

const OPEN_WITHIN_MS = 60_000

/** @param url that of the file's own Redis unless given */
export async function openRedis(url?: string): Promise<RedisClient> {
  const redis = createPatientRedis(url ?? (await redisUrl()), () => undefined)
  await whenReady(redis, OPEN_WITHIN_MS)
  return redis
}

/** Undefined where this run has none. */
export const openRedisIfAny = async (): Promise<RedisClient | undefined> =>
  redisAvailable ? await openRedis() : undefined

export async function emptyRedis(redis: RedisClient): Promise<void> {
  await Promise.all(masterNodes(redis).map((node) => node.flushdb()))
}

export async function keysLike(redis: RedisClient, pattern: string): Promise<string[]> {
  const keys = new Set<string>()
  for await (const page of scanKeys(redis, pattern, 1000)) for (const key of page) keys.add(key)
  return [...keys]
}
