import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import type { Fault } from '../stand-ins/a1111/faults.js'
import { givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { startGivingUpProxy } from '../support/giving-up-proxy.js'
import { startLoops } from '../support/gpu-loops.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

let service: Service
let broken: A1111StandIn
let good: A1111StandIn

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.close())
beforeEach(async () => {
  await service.db.pool.query('DELETE FROM backends; DELETE FROM put_back_attempts')
  const models = [MODEL.filename]
  ;[broken, good] = await Promise.all([startA1111StandIn({ models }), startA1111StandIn({ models })])
})
afterEach(() => Promise.all([broken?.close(), good?.close()]))

const HTML = '<html><title>Welcome to nginx!</title></html>'

/** Ten generations of ten accounts, and both backends at work on them. */
async function givenTen(brokenUrl = broken.inferenceUrl) {
  const ids: string[] = []
  for (let n = 0; n < 10; n++)
    ids.push((await givenGeneration(service.db, await givenUser(service.db), { width: 64, height: 64 })).id)
  const loops = await startLoops(service, { inferenceUrls: [brokenUrl, good.inferenceUrl], times: QUICK })
  onTestFinished(() => loops.close())
  const rows = () => Promise.all(ids.map((id) => rowOf(service.db, { id })))
  const isOver = async () => (await rows()).every(({ finished_at: at }) => at !== null)
  return { rows, ended: () => until(isOver, 'the end of all ten') }
}

const faultsOf = async () => (await service.db.pool.query('SELECT generation_id, backend FROM put_back_attempts')).rows

describe('a broken backend beside a good one', () => {
  it.each<[string, Fault]>([
    ['fails each inference', { status: 500 }],
    ['is out of memory', 'out_of_memory'],
    ['refuses each request', { status: 400 }],
    [
      'knows none of the fields',
      { status: 422, body: { detail: [{ loc: ['body', 'prompt'], msg: 'not permitted' }] } },
    ],
    ['refuses each body for its size', { status: 413 }],
    ['lists a sampler that it does not find', { status: 400, body: { detail: 'Sampler not found' } }],
    ['answers with HTML', 'garbage'],
    ['answers with other JSON', { status: 200, body: { html: HTML } }],
    ['sends no image', 'wrong_count'],
    ['sends what is no image', 'broken_image'],
    ['draws black', 'black'],
    ['drops its connections', 'drop'],
    ['answers 503', { status: 503 }],
    ['does not have the model that it lists', 'wrong_model'],
  ])('fails no generation, and is given each at most once: it %s', async (_name, fault) => {
    broken.set({ fault })
    // The good one is slower: it must not matter that the broken one is always free.
    good.set({ held: true })
    const { rows, ended } = await givenTen()
    await until(() => good.jobs() > 0 && broken.asked().length > 0, 'both at work')
    await until(async () => (await faultsOf()).length > 0, 'a fault')
    good.set({ held: false })
    await ended()
    expect((await rows()).map(({ status }) => status)).toEqual(Array(10).fill('succeeded'))
    const failed = (await faultsOf()).map(({ generation_id: id }) => id)
    expect(failed).toHaveLength(new Set(failed).size)
  })

  it('fails no generation where a proxy before it gives up', async () => {
    broken.set({ held: true })
    const isLate = (path: string) =>
      path === '/sdapi/v1/txt2img' ? until(() => broken.jobs() > 0, 'the drawing') : new Promise(() => undefined)
    const proxy = await startGivingUpProxy(broken.url, isLate)
    onTestFinished(() => proxy.close())
    const { rows, ended } = await givenTen(proxy.through(broken.inferenceUrl))
    await ended()
    expect((await rows()).map(({ status }) => status)).toEqual(Array(10).fill('succeeded'))
  })
})

it('a generation that one backend has failed waits for the other one that is busy, and not for one that is down', async () => {
  broken.set({ fault: { status: 500 }, times: 1 })
  good.set({ held: true })
  const { rows, ended } = await givenTen()
  const [putBack] = await until(async () => {
    const found = await faultsOf()
    return found.length > 0 && found
  }, 'a fault')
  // The backend that failed works again, and draws the others meanwhile.
  await until(async () => (await rows()).filter(({ status }) => status === 'succeeded').length === 8, 'the others')
  // It may have been claimed for the good one already, a little before its turn.
  const { status, backend } = await rowOf(service.db, { id: putBack.generation_id })
  expect(status).not.toBe('succeeded')
  expect(backend).not.toBe(putBack.backend)
  await good.refuse()
  await ended()
  expect((await rows()).map(({ status }) => status)).toEqual(Array(10).fill('succeeded'))
})
