/** Tries that were made already: each real one would hash a password, which takes a tenth of a second of a core. */
import { redisSlidingWindow } from '../../src/redis/sliding-window.js'
import type { Service } from './service.js'
import { openRedis } from './test-redis.js'

/** Counts them where all servers of the service count. Needs Redis. @param counter as the route calls it */
export async function givenTries({ namespace }: Service, counter: string, count: number, windowMs: number) {
  const redis = await openRedis()
  const window = redisSlidingWindow(redis, namespace)
  try {
    for (let n = 0; n < count; n++) await window.hit(counter, windowMs, count)
  } finally {
    redis.disconnect()
  }
}
