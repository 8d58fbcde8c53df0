import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../src/catalog/seed.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import type { Fault } from '../stand-ins/a1111/faults.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { startLoops } from '../support/gpu-loops.js'
import { type Service, startService } from '../support/service.js'
import { unguarded } from '../support/unguarded.js'
import { until } from '../support/until.js'

let gpu: A1111StandIn
let service: Service

beforeAll(async () => {
  gpu = await startA1111StandIn({ models: ['ponyDiffusionV6XL.safetensors', 'sd_xl_base_1.0.safetensors'] })
  service = await startService({
    worker: true,
    env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000', INFERENCE_TIMEOUT_SECONDS: '1' },
  })
})
afterAll(async () => {
  await service?.close()
  await gpu?.close()
})
beforeEach(() => gpu.set({ fault: 'none', sampler: null, scope: 'txt2img', latencyMs: 0 }))

const SMALL = { ...PROMPT, width: 256, height: 256 }

async function submit(more: object = {}) {
  const user = await givenUser(service.db)
  const { status, body } = await call(service.url, 'POST', '/api/v1/generate', {
    key: user.key,
    body: { ...SMALL, ...more },
  })
  expect(status).toBe(201)
  return { user, id: body.id as string }
}

const CHARGED = [['charge', -1]]
const GIVEN_BACK = [
  ['charge', -1],
  ['refund', 1],
]

describe('a fault that names the job', () => {
  it.each<[string, Fault]>([
    ['a 500', { status: 500 }],
    ['out of memory', 'out_of_memory'],
    ['garbage', 'garbage'],
    ['another size', 'wrong_size'],
    ['too few images', 'wrong_count'],
    ['another sampler', 'default_sampler'],
    ['a black image', 'black'],
    ['a broken image', 'broken_image'],
  ])('is tried again, and the second try delivers: %s', async (_name, fault) => {
    gpu.set({ fault, times: 1 })
    const { user, id } = await submit()
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ tries: 1, attempt: 2 })
    expect(await chargesOf(service.db, user)).toEqual(CHARGED)
  })

  it('fails after three tries and is given back, in a sentence without hosts', async () => {
    gpu.set({ fault: 'black', times: 3 })
    const { user, id } = await submit()
    const { status, error } = await endOf(service, user, id)
    expect(status).toBe('failed')
    expect(error).toMatch(/^[A-Z].*\.$/)
    expect(error).not.toMatch(/127\.0\.0\.1|http|Error|undefined/)
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })

  it('counts a hang after the time limit', async () => {
    gpu.set({ fault: 'hang', times: 1 })
    const { user, id } = await submit()
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ tries: 1 })
  })
})

describe('a fault of the server', () => {
  it.each<[string, Fault, number]>([
    ['dropped connections', 'drop', 2],
    ['replies cut off', 'drop_mid_reply', 1],
    ['503', { status: 503 }, 3],
  ])('costs no try: %s', async (_name, fault, times) => {
    gpu.set({ fault, times })
    const { user, id } = await submit()
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ tries: 0 })
    expect(await chargesOf(service.db, user)).toEqual(CHARGED)
  })

  it('leaves generations waiting in their place until it answers again', async () => {
    await gpu.refuse()
    const waiting = [await submit(), await submit(), await submit()]
    await until(async () => {
      const { rows } = await service.db.pool.query('SELECT 1 FROM backends WHERE NOT up')
      return rows.length === 1
    }, 'the backend being seen as down')
    for (const [i, { user, id }] of waiting.entries()) {
      const { body } = await call(service.url, 'GET', `/api/v1/generate/${id}`, { key: user.key })
      expect(body).toEqual({ id, status: 'queued', queue_position: i + 1 })
    }
    await gpu.accept()
    for (const { user, id } of waiting) expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    for (const { id } of waiting) expect(await rowOf(service.db, { id })).toMatchObject({ tries: 0 })
  })
})

describe('a server that is out of order', () => {
  it('costs no generation, whatever it makes of each, until it works again', async () => {
    gpu.set({ fault: { status: 500 } })
    const waiting = await Promise.all(Array.from({ length: 5 }, () => submit()))
    await until(async () => {
      const rows = await Promise.all(waiting.map(({ id }) => rowOf(service.db, { id })))
      return rows.reduce((sum, { attempt }) => sum + attempt - 1, 0) >= 5
    }, 'five attempts that failed')
    gpu.set({ fault: 'none' })
    for (const { user, id } of waiting) expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    const rows = await Promise.all(waiting.map(({ id }) => rowOf(service.db, { id })))
    // The first ones could still have been the generations' own.
    expect(rows.reduce((sum, { tries }) => sum + tries, 0)).toBeLessThan(5)
  })

  it('with one sampler goes on with the others, and is not down', async () => {
    gpu.set({ fault: { status: 500 }, sampler: 'Heun' })
    const failing = await Promise.all(Array.from({ length: 3 }, () => submit({ sampler: 'heun' })))
    const attempts = async () => {
      const rows = await Promise.all(failing.map(({ id }) => rowOf(service.db, { id })))
      return rows.reduce((sum, { attempt }) => sum + attempt - 1, 0)
    }
    await until(async () => (await attempts()) >= 5, 'five attempts that failed')
    const { user, id } = await submit()
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect((await service.db.pool.query('SELECT up FROM backends')).rows).toEqual([{ up: true }])
    gpu.set({ fault: 'none', sampler: null })
    for (const each of failing) expect(await endOf(service, each.user, each.id)).toMatchObject({ status: 'succeeded' })
  })

  it('is not asked again for a model that it lists but does not have; another one that has it is', async () => {
    const other = await startService()
    const models = SEED_MODELS.slice(0, 1).map(({ filename }) => filename)
    const [without, having] = [await startA1111StandIn({ models }), await startA1111StandIn({ models, latencyMs: 300 })]
    without.set({ fault: 'wrong_model' })
    const ids: string[] = []
    for (let n = 0; n < 4; n++) ids.push((await givenGeneration(other.db, await givenUser(other.db))).id)
    const loops = await startLoops(other, { inferenceUrls: [without.inferenceUrl, having.inferenceUrl] })
    try {
      const rows = () => Promise.all(ids.map((id) => rowOf(other.db, { id })))
      await until(async () => (await rows()).every(({ status }) => status === 'succeeded'), 'all of them')
      expect((await rows()).map(({ tries }) => tries)).toEqual([0, 0, 0, 0])
      // The next one may have been claimed already.
      expect([1, 2]).toContain(without.asked().length)
      const { rows: said } = await other.db.pool.query('SELECT models FROM backends ORDER BY cardinality(models)')
      expect(said.map((backend) => backend.models)).toEqual([[], models])
    } finally {
      await loops.close()
      await Promise.all([without.close(), having.close(), other.close()])
    }
  })
})

describe('what no server can do', () => {
  it('fails at once with a sentence that names the sampler, and is given back', async () => {
    // As if the server had been there for a minute: others may be about to start, too.
    await service.db.pool.query(`UPDATE backends SET changed_at = now() - interval '70 seconds'`)
    const { user, id } = await submit({ sampler: 'deis' })
    const ended = await endOf(service, user, id)
    expect(ended).toEqual({ id, status: 'failed', error: expect.stringContaining('"deis"') })
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })

  it('waits a minute for its model, then fails', async () => {
    const { user, id } = await submit({ model_version_id: 12 })
    const other = await submit()
    expect(await endOf(service, other.user, other.id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ status: 'queued' })
    // As if both the generation and the server's list of models were a minute older.
    await service.db.pool.query(`UPDATE generations SET not_before = now() + interval '1 hour' WHERE id = $1`, [id])
    await service.db.pool.query(`UPDATE backends SET changed_at = now() - interval '70 seconds'`)
    await expectStillQueued(id)
    await unguarded(service.db, `UPDATE generations SET created_at = now() - interval '70 seconds' WHERE id = $1`, [id])
    expect(await endOf(service, user, id)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('Animagine XL'),
    })
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })
})

/** The reconciler has made at least one whole pass meanwhile. */
async function expectStillQueued(id: string) {
  const renewed = async () =>
    (await service.db.pool.query(`SELECT until FROM leases WHERE name = 'reconciler'`)).rows[0].until.getTime()
  const first = await renewed()
  const second = await until(async () => (await renewed()) > first && renewed(), 'a pass of the reconciler')
  await until(async () => (await renewed()) > second, 'another pass of the reconciler')
  expect(await rowOf(service.db, { id })).toMatchObject({ status: 'queued' })
}

describe('cancellation', () => {
  it('stops the inference on the server within a heartbeat', async () => {
    gpu.set({ latencyMs: 900 })
    const { user, id } = await submit()
    await until(async () => (await rowOf(service.db, { id })).status === 'processing', 'the start')
    const { cancelGeneration } = await import('../../src/generation/cancel.js')
    const { cancelStore } = await import('../../src/db/failure-store.js')
    const { noActiveGenerationLock } = await import('../../src/redis/active-generation-lock.js')
    const queue = { enqueue: async () => true, withdraw: async () => undefined }
    const images = { remove: async () => undefined }
    const ports = { cancels: cancelStore(service.db), lock: noActiveGenerationLock, queue, images }
    expect(await cancelGeneration(ports, id, 'Canceled.', { onlyQueued: false })).toBe(true)
    expect(await endOf(service, user, id)).toEqual({ id, status: 'failed', error: 'Canceled.' })
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })
})
