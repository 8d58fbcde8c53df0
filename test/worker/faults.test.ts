import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import type { Fault } from '../stand-ins/a1111/faults.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { startLoops } from '../support/gpu-loops.js'
import { type Service, startService } from '../support/service.js'
import { unguarded } from '../support/unguarded.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'
import { aPass } from './reconciler.js'

let gpu: A1111StandIn
let service: Service

beforeAll(async () => {
  gpu = await startA1111StandIn({ models: ['ponyDiffusionV6XL.safetensors', 'sd_xl_base_1.0.safetensors'] })
  const env = { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' }
  service = await startService({ worker: { times: QUICK }, env })
})
afterAll(async () => {
  await service?.close()
  await gpu?.close()
})
beforeEach(() => gpu.set({ fault: 'none', sampler: null }))

const SMALL = { ...PROMPT, width: 256, height: 256 }

async function submit(more: object = {}, to = service) {
  const user = await givenUser(to.db)
  const body = { ...SMALL, ...more }
  const submitted = await call(to.url, 'POST', '/api/v1/generate', { key: user.key, body })
  expect(submitted.status).toBe(201)
  return { user, id: submitted.body.id as string }
}

/**
 * From here on a generation whose try was counted waits until `goOn`, so that the others fail, too, before it comes again:
 * its pause is random, and after three tries it would have failed for good.
 */
async function heldAfterCountedTry({ db }: Service) {
  await db.pool.query(`
    CREATE FUNCTION hold_after_counted_try() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.not_before := now() + interval '1 hour'; RETURN NEW; END $$;
    CREATE TRIGGER hold_after_counted_try BEFORE UPDATE ON generations FOR EACH ROW
      WHEN (NEW.tries > OLD.tries AND NEW.status = 'queued') EXECUTE FUNCTION hold_after_counted_try()`)
  onTestFinished(() => db.pool.query('DROP FUNCTION IF EXISTS hold_after_counted_try CASCADE').then(() => undefined))
  return {
    goOn: () =>
      db.pool.query(`
        DROP FUNCTION hold_after_counted_try CASCADE;
        UPDATE generations SET not_before = now() WHERE status = 'queued' AND not_before > now() + interval '10 minutes'`),
  }
}

const CHARGED = [['charge', -1]]
const GIVEN_BACK = [
  ['charge', -1],
  ['refund', 1],
]

describe('a generation whose drawing goes wrong', () => {
  it.each<[string, Fault]>([
    ['a 500', { status: 500 }],
    ['out of memory', 'out_of_memory'],
    ['garbage', 'garbage'],
    ['another size', 'wrong_size'],
    ['too few images', 'wrong_count'],
    ['another sampler', 'default_sampler'],
    ['a black image', 'black'],
    ['a broken image', 'broken_image'],
  ])('is drawn again, and costs one try and one charge: %s', async (_name, fault) => {
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

  it('is drawn again after the time limit of an inference that hangs, which costs a try', async () => {
    const hanging = await startA1111StandIn()
    hanging.set({ held: true })
    const env = { INFERENCE_URL: hanging.inferenceUrl, INFERENCE_TIMEOUT_SECONDS: '4' }
    const other = await startService({ worker: { times: QUICK }, env })
    try {
      const { user, id } = await submit({}, other)
      const putBack = async () =>
        (await other.db.pool.query('SELECT reason, counted FROM put_back_attempts ORDER BY attempt')).rows[0]
      expect(await until(putBack, 'the first attempt being put back')).toEqual({ reason: 'timeout', counted: true })
      hanging.set({ held: false })
      expect(await endOf(other, user, id)).toMatchObject({ status: 'succeeded' })
    } finally {
      await other.close()
      await hanging.close()
    }
  })
})

describe('a server that cannot be reached or refuses everything for a while', () => {
  it.each<[string, Fault, number]>([
    ['it drops connections', 'drop', 2],
    ['it cuts replies off', 'drop_mid_reply', 1],
    ['it answers 503', { status: 503 }, 3],
  ])('costs a generation no try: %s', async (_name, fault, times) => {
    gpu.set({ fault, times })
    const { user, id } = await submit()
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ tries: 0 })
    expect(await chargesOf(service.db, user)).toEqual(CHARGED)
  })

  it('leaves generations waiting in their places until it answers again', async () => {
    await gpu.refuse()
    onTestFinished(() => gpu.accept())
    const waiting = [await submit(), await submit(), await submit()]
    await until(async () => {
      const { rows } = await service.db.pool.query('SELECT 1 FROM backends WHERE NOT up')
      return rows.length === 1
    }, 'the backend being seen as down')
    for (const [i, { user, id }] of waiting.entries()) {
      const seen = async () => (await call(service.url, 'GET', `/api/v1/generate/${id}`, { key: user.key })).body
      // The first one may still be on its way back from an attempt that found the server away.
      await until(async () => (await seen()).queue_position === i + 1, `place ${i + 1} in the queue`)
      expect(await seen()).toMatchObject({ id, status: 'queued' })
    }
    await gpu.accept()
    for (const { user, id } of waiting) expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    for (const { id } of waiting) expect(await rowOf(service.db, { id })).toMatchObject({ tries: 0 })
  })
})

describe('a server that is out of order', () => {
  it('fails no generation, however many it spoils, and draws them all when it works again', async () => {
    gpu.set({ fault: { status: 500 } })
    const { goOn } = await heldAfterCountedTry(service)
    const waiting = await Promise.all(Array.from({ length: 5 }, () => submit()))
    await until(async () => {
      const rows = await Promise.all(waiting.map(({ id }) => rowOf(service.db, { id })))
      return rows.reduce((sum, { attempt }) => sum + attempt - 1, 0) >= 5
    }, 'five attempts that failed')
    gpu.set({ fault: 'none' })
    await goOn()
    for (const { user, id } of waiting) expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    const rows = await Promise.all(waiting.map(({ id }) => rowOf(service.db, { id })))
    // The first ones could still have been the generations' own.
    expect(rows.reduce((sum, { tries }) => sum + tries, 0)).toBeLessThan(5)
  })

  it('goes on with other samplers, and is not down, if it fails with one of them only', async () => {
    gpu.set({ fault: { status: 500 }, sampler: 'Heun' })
    const { goOn } = await heldAfterCountedTry(service)
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
    await goOn()
    for (const each of failing) expect(await endOf(service, each.user, each.id)).toMatchObject({ status: 'succeeded' })
  })

  it('is not asked again for a model that it lists but does not have, which another server draws', async () => {
    const other = await startService()
    const models = SEED_MODELS.slice(0, 1).map(({ filename }) => filename)
    const [without, having] = [await startA1111StandIn({ models }), await startA1111StandIn({ models })]
    without.set({ fault: 'wrong_model' })
    having.set({ held: true })
    const ids: string[] = []
    for (let n = 0; n < 4; n++)
      ids.push((await givenGeneration(other.db, await givenUser(other.db), { width: 64, height: 64 })).id)
    const inferenceUrls = [without.inferenceUrl, having.inferenceUrl]
    const loops = await startLoops(other, { inferenceUrls, times: QUICK })
    try {
      const announced = async () => {
        const { rows } = await other.db.pool.query('SELECT models FROM backends ORDER BY cardinality(models)')
        return rows.map((backend) => backend.models)
      }
      await until(async () => (await announced())[0]?.length === 0, 'the model being left out')
      having.set({ held: false })
      const rows = () => Promise.all(ids.map((id) => rowOf(other.db, { id })))
      await until(async () => (await rows()).every(({ status }) => status === 'succeeded'), 'all of them')
      expect((await rows()).map(({ tries }) => tries)).toEqual([0, 0, 0, 0])
      // The next one may have been claimed already.
      expect([1, 2]).toContain(without.asked().length)
      expect(await announced()).toEqual([[], models])
    } finally {
      await loops.close()
      await Promise.all([without.close(), having.close(), other.close()])
    }
  })
})

describe('a generation that no server can draw', () => {
  it('fails at once with a sentence that names the sampler that all of them lack, and is given back', async () => {
    // As if the server had been there for a minute: others may be about to start, too.
    await service.db.pool.query(`UPDATE backends SET changed_at = now() - interval '70 seconds'`)
    const { user, id } = await submit({ sampler: 'deis' })
    const ended = await endOf(service, user, id)
    expect(ended).toEqual({ id, status: 'failed', error: expect.stringContaining('"deis"') })
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })

  it('waits a minute for a server that has its model, then fails and is given back', async () => {
    const { user, id } = await submit({ model_version_id: 12 })
    const other = await submit()
    expect(await endOf(service, other.user, other.id)).toMatchObject({ status: 'succeeded' })
    expect(await rowOf(service.db, { id })).toMatchObject({ status: 'queued' })
    // As if both the generation and the server's list of models were a minute older.
    await service.db.pool.query(`UPDATE generations SET not_before = now() + interval '1 hour' WHERE id = $1`, [id])
    await service.db.pool.query(`UPDATE backends SET changed_at = now() - interval '70 seconds'`)
    await aPass(service.db)
    expect(await rowOf(service.db, { id })).toMatchObject({ status: 'queued' })
    await unguarded(service.db, `UPDATE generations SET created_at = now() - interval '70 seconds' WHERE id = $1`, [id])
    expect(await endOf(service, user, id)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('Animagine XL'),
    })
    expect(await chargesOf(service.db, user)).toEqual(GIVEN_BACK)
  })
})
