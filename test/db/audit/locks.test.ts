import { describe, expect, it } from 'vitest'
import { newGenerationId } from '../../../src/core/generations/generation.js'
import { lockKey, redisActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { redisAvailable } from '../../support/services.js'
import { useAudited, withRedis } from './audited.js'

const audited = useAudited()
const { violated } = audited
type Lock = ReturnType<typeof redisActiveGenerationLock>
const withLocks = (work: (lock: Lock, env: { REDIS_URL: string }) => Promise<void>) =>
  withRedis((redis, env) => work(redisActiveGenerationLock(redis, 'easel'), env))

describe.skipIf(!redisAvailable)('locks in Redis', () => {
  it('are no violation if they are of active jobs or of submits under way, or are released between the two looks', async () => {
    const { user, running, succeeded } = audited
    await withLocks(async (lock, env) => {
      await lock.keep([
        { accountId: user.id, generationId: running.id, ttlMs: 60_000 },
        { accountId: 'released', generationId: succeeded.id, ttlMs: 60_000 },
      ])
      await lock.acquire('submitting', newGenerationId())
      const between = async (afterMs: number) => {
        expect(afterMs).toBe(2000)
        await lock.release('released', succeeded.id)
      }
      expect(await violated(env, { between })).toEqual({})
    })
  })

  it('are a violation if their job has ended, never existed, is another user’s or is not charged', async () => {
    const { user, queued, succeeded, metered, developer, set } = audited
    await set(metered, `status = 'queued', finished_at = NULL`)
    await withLocks(async (lock, env) => {
      await lock.keep([
        { accountId: 'a', generationId: succeeded.id, ttlMs: 14_000 },
        { accountId: 'b', generationId: newGenerationId(), ttlMs: 60_000 },
        { accountId: user.id, generationId: queued.id, ttlMs: 14_000 },
        { accountId: developer.id, generationId: metered.id, ttlMs: 14_000 },
      ])
      expect(await violated(env)).toMatchObject({ 'locks-belong-to-active-jobs': 4 })
    })
  })

  it('are a violation if they never expire, though nothing is known of their job', async () => {
    await withRedis(async (redis, env) => {
      await redisActiveGenerationLock(redis, 'easel').acquire('a', newGenerationId())
      await redis.persist(lockKey(redis, 'easel')('a'))
      expect(await violated(env)).toEqual({ 'locks-belong-to-active-jobs': 1 })
    })
  })
})
