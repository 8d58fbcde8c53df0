import { afterEach, describe, expect, it } from 'vitest'
import type { ModelVersion } from '../../src/core/catalog/model-version.js'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { type A1111StandIn, type StandInOptions, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { seedOf } from '../support/effort.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { type LoopsOptions, startLoops } from '../support/gpu-loops.js'
import { seeded } from '../support/seeded.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const SEED = seedOf(61)
const MODELS = SEED_MODELS.slice(0, 6)
const FILES = MODELS.map(({ filename }) => filename)
const [ONE, OTHER] = MODELS as [ModelVersion, ModelVersion]
const HOUR_MS = 3_600_000

/** A service with one queued generation of each of these models, in this order. */
async function givenQueue(models: readonly ModelVersion[]) {
  const service = await startService()
  closers.push(() => service.close())
  const ids: string[] = []
  for (const model of models) {
    const user = await givenUser(service.db)
    ids.push((await givenGeneration(service.db, user, { model, width: 64, height: 64, steps: 2 })).id)
  }
  return { service, ids }
}

async function givenGpu(options: StandInOptions = {}): Promise<A1111StandIn> {
  const gpu = await startA1111StandIn({ models: FILES, ...options })
  closers.push(() => gpu.close())
  return gpu
}

async function start(service: Service, options: LoopsOptions): Promise<void> {
  const loops = await startLoops(service, { times: QUICK, ...options })
  closers.push(() => loops.close())
}

const countOf = async ({ db }: Service, status: string): Promise<number> =>
  (await db.pool.query('SELECT count(*)::integer AS n FROM generations WHERE status = $1', [status])).rows[0].n

const allSucceeded = async (service: Service, count: number): Promise<void> => {
  await until(async () => (await countOf(service, 'succeeded')) === count, `${count} generations to succeed`)
}

/** The model file of each inference, in the order in which the server was asked. */
const drawnModels = (gpu: A1111StandIn) =>
  gpu.asked().map((body) => {
    // The name, a space and the file's hash in brackets.
    const { sd_model_checkpoint: title } = body.override_settings as { sd_model_checkpoint: string }
    return title.replace(/ .*/, '')
  })

const changesIn = (models: readonly string[]) => models.filter((model, i) => model !== models[i - 1]).length

describe('a backend of a worker', () => {
  it.each([1, 2])(
    'draws on while its last four images are being stored, one at a time (%i backends)',
    async (backends) => {
      const count = 8 * backends
      const { service } = await givenQueue(Array(count).fill(ONE))
      const gpus: A1111StandIn[] = []
      for (let n = 0; n < backends; n++) gpus.push(await givenGpu())
      let release: (() => void) | undefined
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      let storing = 0
      const beforePut = () => {
        storing++
        return released
      }
      await start(service, { inferenceUrls: gpus.map(({ inferenceUrl }) => inferenceUrl), beforePut })
      // The fifth is drawn, and no sixth claimed: its image would be one more in memory.
      await until(() => storing === 5 * backends, 'five drawn images of each backend')
      for (const gpu of gpus) await anotherCheck(gpu)
      expect(gpus.map((gpu) => gpu.asked().length)).toEqual(gpus.map(() => 5))
      expect(await countOf(service, 'processing')).toBe(5 * backends)
      release?.()
      await allSucceeded(service, count)
      for (const gpu of gpus) expect(gpu.mostAtOnce()).toBe(1)
    },
  )

  it(`loads each model once if generations may be passed over for long, else in the queue's order (seed ${SEED})`, async () => {
    const chance = seeded(SEED)
    const models = Array.from({ length: 30 }, () => chance.pick(MODELS))
    const [strict, kind] = [await givenQueue(models), await givenQueue(models)]
    const [slow, quick] = [await givenGpu(), await givenGpu()]
    await start(strict.service, { inferenceUrls: [slow.inferenceUrl] })
    await start(kind.service, { inferenceUrls: [quick.inferenceUrl], affinityMaxDelayMs: HOUR_MS })
    await Promise.all([allSucceeded(strict.service, models.length), allSucceeded(kind.service, models.length)])
    expect(drawnModels(slow)).toEqual(models.map(({ filename }) => filename))
    expect(changesIn(drawnModels(quick))).toBe(new Set(models).size)
  })

  it('loads another model when a generation of it has been passed over for as long as it may be', async () => {
    const { service, ids } = await givenQueue([ONE, OTHER, ...Array(6).fill(ONE)])
    let asked = 0
    // From its second inference on, which passes the second generation over, the server is held.
    const gpu: A1111StandIn = await givenGpu({ onTxt2img: () => ++asked === 2 && gpu.set({ held: true }) })
    await start(service, { inferenceUrls: [gpu.inferenceUrl], affinityMaxDelayMs: HOUR_MS })
    await until(() => asked === 2, 'the second inference')
    const { rowCount } = await service.db.pool.query(
      `UPDATE generations SET passed_over_at = passed_over_at - interval '1 hour' WHERE id = $1`,
      [ids[1]],
    )
    expect(rowCount).toBe(1)
    gpu.set({ held: false })
    await allSucceeded(service, ids.length)
    // The third one may have been claimed before.
    expect([2, 3]).toContain(drawnModels(gpu).indexOf(OTHER.filename))
  })

  it('loses nothing to an outage of its server, and draws on when that is back', async () => {
    const { service, ids } = await givenQueue(Array(8).fill(ONE))
    const gpu: A1111StandIn = await givenGpu({ onTxt2img: () => gpu.asked().length === 3 && gpu.set({ held: true }) })
    await start(service, { inferenceUrls: [gpu.inferenceUrl] })
    await until(() => gpu.asked().length === 3, 'the third inference')
    await gpu.refuse()
    const isUp = async () => (await service.db.pool.query('SELECT up FROM backends')).rows[0].up
    await until(async () => !(await isUp()), 'the outage being seen')
    gpu.set({ held: false })
    await gpu.accept()
    await allSucceeded(service, ids.length)
    const { rows } = await service.db.pool.query('SELECT DISTINCT tries FROM generations')
    expect(rows).toEqual([{ tries: 0 }])
  })
})

/** The backend has been asked once more what it serves, and was told of, which makes it claim if it is idle. */
async function anotherCheck(gpu: A1111StandIn): Promise<void> {
  const checks = () => gpu.journal.filter(({ path }) => path === '/sdapi/v1/sd-models').length
  const before = checks()
  await until(() => checks() > before + 1, 'another check of the backend')
}
