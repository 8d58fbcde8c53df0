import { createPostgresBackend, type Queue, Worker, withBackend } from 'bullmq'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newGenerationId } from '../../../src/core/generations/generation.js'
import type { QueueConnection } from '../../../src/queue/job-queue.js'
import { GENERATION_QUEUE, openGenerationQueue } from '../../../src/queue/queues.js'
import { createPatientRedis, createProducerRedis } from '../../../src/redis/client.js'
import { redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import { useAudited, withRedis } from './audited.js'

const audited = useAudited()
const { violated, set } = audited
const LEFT = 'queue-holds-only-jobs-to-run'
const TOKEN = 'its token'

interface Given {
  readonly queue: Queue
  readonly env: Record<string, string>
  add(...ids: string[]): Promise<unknown>
  /** Takes the next job, holds it for so long and says nothing more. */
  take(lockMs: number): Promise<void>
}

describe.each([
  ['Redis', 'redis'],
  ['Postgres', 'postgres'],
] as const)('an audit of BullMQ on %s', (_name, kind) => {
  const on = (name: string, test: (given: Given) => Promise<void>) =>
    it.skipIf(kind === 'redis' && !redisAvailable)(
      name,
      () =>
        kind === 'postgres'
          ? test(given(() => ({ kind, url: audited.easel.databaseUrl, prefix: 'easel' }), {}))
          : withRedis((_redis, env) => test(given((patient) => onRedis(env.REDIS_URL, patient), env))),
      60_000,
    )

  on(
    'finds nothing wrong with jobs of attempts that are to run, or that a worker has taken',
    async ({ add, take, env }) => {
      await add(`${audited.succeeded.id}-1`)
      await take(60_000)
      await add(`${audited.running.id}-1`, `${audited.queued.id}-1`)
      expect(await violated(env)).toEqual({})
    },
  )

  on(
    'finds jobs that no worker will take, and jobs of attempts that are not to run',
    async ({ queue, add, take, env }) => {
      const { queued, running, succeeded, failed, metered } = audited
      await queue.add('generation', {}, { jobId: `${queued.id}-3`, delay: 3_600_000 })
      const failing = await queue.add('generation', {}, { jobId: `${running.id}-1`, removeOnFail: false })
      await take(60_000)
      await failing.moveToFailed(new Error('deaf'), TOKEN)
      // Heard by a worker that then went away.
      await add(`${metered.id}-1`)
      await take(1)
      await set(queued, 'attempt = 2')
      await add(`${succeeded.id}-1`, `${failed.id}-1`, `${queued.id}-1`, `${queued.id}-2`)
      expect(await queue.getJobCounts('wait', 'active', 'delayed', 'failed')).toEqual({
        ...{ wait: 4, active: 1, delayed: 1, failed: 1 },
      })
      expect(await violated(env)).toEqual({ [LEFT]: 6 })
    },
  )

  on(
    'finds nothing wrong while every worker is busy, or with a job that is taken between the two looks',
    async ({ queue, add, env }) => {
      const { succeeded, failed } = audited
      await add(`${succeeded.id}-1`, `${failed.id}-1`)
      const announce = (worker: string) =>
        audited.breaking(
          `INSERT INTO backends (worker, name, up, seen_at) VALUES ($1, 'preview:', true, now() + interval '1 hour')`,
          [worker],
        )
      await announce('busy')
      expect(await violated(env)).toEqual({})
      await announce('free')
      const between = async (afterMs: number) => {
        expect(afterMs).toBe(25_000)
        await queue.remove(`${succeeded.id}-1`)
      }
      expect(await violated(env, { between })).toEqual({ [LEFT]: 1 })
    },
  )
})

describe.skipIf(!redisAvailable)('an audit of BullMQ’s records in Redis', () => {
  it('finds records that are in no list, which would swallow every new job, and events of jobs that Postgres does not know', async () => {
    await withRedis(async (redis, env) => {
      const { queue, add } = given((patient) => onRedis(env.REDIS_URL, patient), env)
      const ids = [`${newGenerationId()}-1`, `${audited.succeeded.id}-1`]
      await add(...ids)
      for (const id of ids) await queue.remove(id)
      await redis.hset(`{easel}:generations:${audited.queued.id}-1`, 'name', 'generation')
      expect(await violated(env)).toEqual({ [LEFT]: 1, 'queue-events-are-of-known-jobs': 1 })
    })
  })
})

function onRedis(url: string, patient: boolean): QueueConnection {
  const redis = (patient ? createPatientRedis : createProducerRedis)(url, () => undefined)
  onTestFinished(() => redis.disconnect())
  return { kind: 'redis', redis, prefix: '{easel}' }
}

function given(connection: (patient: boolean) => QueueConnection, env: Record<string, string>): Given {
  const queue = openGenerationQueue(connection(false))
  queue.on('error', () => undefined)
  onTestFinished(() => queue.close())
  return {
    queue,
    env,
    add: (...ids) =>
      queue.addBulk(ids.map((jobId) => ({ name: 'generation', data: {}, opts: { jobId, removeOnComplete: true } }))),

    async take(lockMs) {
      const on = connection(true)
      const options = { prefix: on.prefix, lockDuration: lockMs, skipStalledCheck: true }
      const worker =
        on.kind === 'redis'
          ? new Worker(GENERATION_QUEUE, null, { ...options, connection: on.redis })
          : new (withBackend(createPostgresBackend).Worker)(GENERATION_QUEUE, null, {
              ...options,
              connection: { connectionString: on.url, max: 2 },
            })
      worker.on('error', () => undefined)
      await until(() => worker.getNextJob(TOKEN), 'a job to take')
      await worker.close(true)
    },
  }
}
