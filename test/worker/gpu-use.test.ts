import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../src/catalog/seed.js'
import { seedOf } from '../support/effort.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { type LoopsOptions, startLoops, startWatchedGpu, type WatchedGpu } from '../support/gpu-loops.js'
import { seeded } from '../support/seeded.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** FULL_TIMES=true for the times of real GPUs; else all are divided by ten. */
const FULL = process.env.FULL_TIMES === 'true'
const scaled = (ms: number) => (FULL ? ms : ms / 10)
const LIMIT_MS = FULL ? 600_000 : 120_000

const SEED = seedOf(61)
const MODELS = SEED_MODELS.slice(0, 6)
const FILES = MODELS.map(({ filename }) => filename)

/** The same generations for every service: models at random, one user each. */
async function givenQueue(count: number, models = MODELS): Promise<Service> {
  const service = await startService()
  closers.push(() => service.close())
  const chance = seeded(SEED)
  for (let i = 0; i < count; i++) {
    const user = await givenUser(service.db)
    await givenGeneration(service.db, user, { model: chance.pick(models), width: 64, height: 64, steps: 2 })
  }
  return service
}

async function workOff(service: Service, options: LoopsOptions, total: number): Promise<void> {
  const loops = await startLoops(service, options)
  closers.push(() => loops.close())
  await until(async () => (await ended(service)) >= total, `${total} generations to end`, LIMIT_MS)
}

const ended = async ({ db }: Service): Promise<number> =>
  (await db.pool.query(`SELECT count(*)::integer AS n FROM generations WHERE status = 'succeeded'`)).rows[0].n

/** How many inferences began while the image before them was still being stored. */
async function overlaps({ db }: Service, { runs }: WatchedGpu): Promise<number> {
  const { rows } = await db.pool.query<{ seed: string; finished_at: Date }>('SELECT seed, finished_at FROM generations')
  const stored = new Map(rows.map(({ seed, finished_at }) => [Number(seed), finished_at.getTime()]))
  return runs.filter(({ from }, i) => from < (stored.get(runs[i - 1]?.seed ?? -1) ?? 0)).length
}

const loadsPerImage = ({ runs }: WatchedGpu): number =>
  runs.filter(({ model }, i) => model !== runs[i - 1]?.model).length / runs.length

describe('a backend', () => {
  it.each([1, 2])(
    'draws the next image while the last one is being stored: %i on one worker',
    async (backends) => {
      const count = (FULL ? 100 : 12) * backends
      // Divided by four only: what an image costs beside them would count for too much.
      const [latencyMs, putMs] = FULL ? [1000, 500] : [250, 125]
      const service = await givenQueue(count, MODELS.slice(0, 1))
      const gpus = []
      for (let n = 0; n < backends; n++) {
        const gpu = await startWatchedGpu({ models: FILES, latencyMs })
        closers.push(() => gpu.close())
        gpus.push(gpu)
      }
      await workOff(service, { inferenceUrls: gpus.map((gpu) => gpu.inferenceUrl), putMs }, count)
      for (const gpu of gpus) {
        expect(gpu.mostAtOnce()).toBe(1)
        console.log(`busy for ${(gpu.busyShare() * 100).toFixed(2)} % of the time, ${gpu.answered()} images`)
        expect(await overlaps(service, gpu)).toBeGreaterThan((gpu.answered() - 1) / 2)
      }
    },
    LIMIT_MS,
  )

  it(`stays with the model it holds, within the bound (seed ${SEED})`, { timeout: LIMIT_MS }, async () => {
    const [strict, kind] = [await givenQueue(40), await givenQueue(100)]
    const times = { models: FILES, latencyMs: scaled(1000), swapMs: scaled(3000) }
    const [slow, quick] = [await startWatchedGpu(times), await startWatchedGpu(times)]
    closers.push(
      () => slow.close(),
      () => quick.close(),
    )
    const maxDelayMs = scaled(15_000)
    await Promise.all([
      workOff(strict, { inferenceUrls: [slow.inferenceUrl] }, 40),
      workOff(kind, { inferenceUrls: [quick.inferenceUrl], affinityMaxDelayMs: maxDelayMs }, 100),
    ])
    const { rows } = await kind.db.pool.query(
      `SELECT count(DISTINCT passed.id)::integer AS passed, count(late.id)::integer AS late
         FROM generations passed
              LEFT JOIN generations late ON late.started_at < passed.started_at
                    AND late.started_at > passed.passed_over_at + make_interval(secs => $1)
        WHERE passed.passed_over_at IS NOT NULL`,
      [maxDelayMs / 1000],
    )
    const [{ passed, late }] = rows
    console.log(`loads per image: ${loadsPerImage(quick)}, in strict order ${loadsPerImage(slow)}`)
    expect(loadsPerImage(quick)).toBeLessThan(loadsPerImage(slow) / 2)
    expect(passed).toBeGreaterThan(0)
    expect(late).toBe(0)
  })

  it('loses nothing to an outage of its server, and goes on within 5 s of its end', { timeout: LIMIT_MS }, async () => {
    const service = await givenQueue(20, MODELS.slice(0, 1))
    const gpu = await startWatchedGpu({ models: FILES, latencyMs: 100 })
    closers.push(() => gpu.close())
    const all = workOff(service, { inferenceUrls: [gpu.inferenceUrl] }, 20)
    await until(() => gpu.answered() >= 5, 'some images')
    await gpu.refuse()
    await delay(scaled(60_000))
    const before = gpu.answered()
    await gpu.accept()
    const back = performance.now()
    await until(() => gpu.answered() > before, 'the next image')
    expect(performance.now() - back).toBeLessThan(5000)
    await all
    const { rows } = await service.db.pool.query(
      'SELECT status, count(*)::integer AS n, sum(tries)::integer AS tries FROM generations GROUP BY 1',
    )
    expect(rows).toEqual([{ status: 'succeeded', n: 20, tries: 0 }])
  })
})
