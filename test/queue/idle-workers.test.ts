import { Redis } from 'ioredis'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { startOwnRedis } from '../redis/own-redis.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'
import { givenQueue } from './given-queue.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function serviceOn(redis: boolean): Promise<Service> {
  // Worker processes know no test namespace.
  const service = await startService({ redis, env: { RATE_LIMIT_MAX: '100000' }, server: { namespace: 'easel' } })
  closers.push(() => service.close())
  return service
}

/** It looks for work often, but checks its server seldom: a check would start what waits, too. */
const LOOKS_OFTEN = { namespace: 'easel', times: { pollMs: 100, checkMs: 600_000 } }

describe.each([
  ['Redis', true],
  ['one machine', false],
])('an idle worker on %s', (_mode, redis) => {
  const on = it.skipIf(redis && !redisAvailable)

  on('starts a generation that nothing rings for', async () => {
    const service = await serviceOn(redis)
    // Else the reconciler would ring for it.
    await service.db.pool.query(
      `INSERT INTO leases (name, holder, until) VALUES ('reconciler', 'nobody', now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
    )
    await service.worker(LOOKS_OFTEN)
    const generation = await givenGeneration(service.db, await givenUser(service.db), { width: 64, height: 64 })
    await until(async () => (await rowOf(service.db, generation)).started_at, 'the start')
  })

  on('starts generations although another worker stands still and may have taken their deliveries', async () => {
    const service = await serviceOn(redis)
    const other = await startWorkerProcess(service.config, {})
    closers.push(async () => {
      other.kill('SIGKILL')
      await other.ended
    })
    await service.worker(LOOKS_OFTEN)
    const up = () => service.db.pool.query('SELECT 1 FROM backends WHERE up')
    await until(async () => (await up()).rowCount === 2, 'both workers')
    other.kill('SIGSTOP')
    for (let n = 0; n < 2; n++) {
      const user = await givenUser(service.db)
      const body = { ...PROMPT, width: 256, height: 256 }
      const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
      expect(await endOf(service, user, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    }
  })
})

it.skipIf(!redisAvailable)(
  'an idle worker gives each read of the queue up after its time, and begins another',
  async () => {
    const redis = await startOwnRedis()
    onTestFinished(() => redis.kill())
    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    givenQueue('redis', redis.url).listen(async () => undefined)
    const reads = async () => Number(/cmdstat_bzpopmin:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0)
    await until(async () => (await reads()) > 2, 'several reads')
  },
)
