import type { Redis } from 'ioredis'

/** What is wrong with Redis now, as one sentence; undefined: nothing. */
export async function redisTrouble(redis: Redis): Promise<string | undefined> {
  // Not CONFIG GET, which hosted servers refuse.
  const facts = await redis.info().catch(() => undefined)
  if (facts === undefined)
    return 'Redis does not answer, so requests are served without it: check that it runs where REDIS_URL leads.'
  if (/^role:slave/m.test(facts))
    return 'Redis is a replica and takes nothing, so requests are served without it: let REDIS_URL lead to the primary.'
  const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1]
  if (policy === undefined || policy === 'noeviction') return undefined
  return `Redis may drop jobs and locks, because its maxmemory-policy is ${policy}: set it to noeviction.`
}
