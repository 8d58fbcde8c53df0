import { describe, expect, it } from 'vitest'
import { newGenerationId } from '../../src/generation/generation.js'
import { redisActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import { redisAvailable } from '../support/services.js'
import { useAudited, withRedis } from './audited.js'

const audited = useAudited()
const { violated } = audited
type Lock = ReturnType<typeof redisActiveGenerationLock>
const withLocks = (work: (lock: Lock, env: { REDIS_URL: string }) => Promise<void>) =>
  withRedis((redis, env) => work(redisActiveGenerationLock(redis, 'easel'), env))

describe.skipIf(!redisAvailable)('locks in Redis', () => {
  it('are in order with active jobs, with submits under way, and when they are just being released', async () => {
    const { user, running, succeeded } = audited
    await withLocks(async (lock, env) => {
      await lock.keep([
        { accountId: user.id, generationId: running.id, ttlMs: 60_000 },
        { accountId: 'released', generationId: succeeded.id, ttlMs: 60_000 },
      ])
      await lock.acquire('submitting', newGenerationId())
      const found = violated(env)
      await audited.firstLookDone()
      await lock.release('released', succeeded.id)
      expect(await found).toEqual({})
    })
  })

  it('are found when their job has ended, never was, is another user’s or not charged', async () => {
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
})
