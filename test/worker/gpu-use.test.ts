import { afterEach, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../src/catalog/seed.js'
import { seeded } from '../chaos/seeded.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { type LoopsOptions, startLoops, startWatchedGpu } from '../support/gpu-loops.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const MODELS = SEED_MODELS.slice(0, 6)
const FILES = MODELS.map(({ filename }) => filename)

/** The same generations for every service: models at random, one user each. */
async function givenQueue(count: number, models = MODELS): Promise<Service> {
  const service = await startService()
  closers.push(() => service.close())
  const chance = seeded('queue')
  for (let i = 0; i < count; i++) {
    const user = await givenUser(service.db)
    await givenGeneration(service.db, user, { model: chance.pick(models), width: 64, height: 64, steps: 2 })
  }
  return service
}

async function workOff(service: Service, options: LoopsOptions, total: number): Promise<void> {
  const loops = await startLoops(service, options)
  closers.push(() => loops.close())
  await until(async () => (await ended(service)) >= total, `${total} generations to end`, 80_000)
}

const ended = async ({ db }: Service): Promise<number> =>
  (await db.pool.query(`SELECT count(*)::integer AS n FROM generations WHERE status = 'succeeded'`)).rows[0].n

describe('a backend', () => {
  it('draws the next picture while the last one is being stored', { timeout: 60_000 }, async () => {
    const service = await givenQueue(30, [MODELS[0] as (typeof MODELS)[0]])
    const gpu = await startWatchedGpu({ models: FILES, latencyMs: 150 })
    closers.push(() => gpu.close())
    await workOff(service, { inferenceUrls: [gpu.inferenceUrl], putMs: 75 }, 30)
    expect(gpu.mostAtOnce()).toBe(1)
    // One after the other it would be at work for at most two thirds of the time.
    expect(gpu.busyShare()).toBeGreaterThan(0.75)
  })

  it('stays with the model it holds, within the bound, and so gets far more done', { timeout: 120_000 }, async () => {
    const [strict, kind] = [await givenQueue(60), await givenQueue(200)]
    const times = { models: FILES, latencyMs: 100, swapMs: 300 }
    const [slow, quick] = [await startWatchedGpu(times), await startWatchedGpu(times)]
    closers.push(
      () => slow.close(),
      () => quick.close(),
    )
    const maxDelayMs = 1500
    await Promise.all([
      workOff(strict, { inferenceUrls: [slow.inferenceUrl] }, 60),
      workOff(kind, { inferenceUrls: [quick.inferenceUrl], affinityMaxDelayMs: maxDelayMs }, 200),
    ])
    const perSecond = (gpu: typeof slow) => gpu.answered() / gpu.spanMs()
    expect(perSecond(quick) / perSecond(slow)).toBeGreaterThan(2.2)
    const { rows } = await kind.db.pool.query(
      `SELECT max(extract(epoch FROM started_at - passed_over_at))::float8 * 1000 AS longest, count(passed_over_at)::integer AS n
         FROM generations`,
    )
    expect(rows[0].n).toBeGreaterThan(0)
    // The last inference that went before it may have taken longer than expected.
    expect(rows[0].longest).toBeLessThan(maxDelayMs + 400)
  })
})
