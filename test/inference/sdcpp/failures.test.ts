import { describe, expect, it } from 'vitest'
import { failureOf } from '../a1111/given.js'
import { expectDiscreet } from '../attached.js'
import { callsTo, givenBackend, looked } from './given.js'

const SECRET = 'a secret prompt of the user'

describe('an answer to a submit means', () => {
  it.each([
    [{ status: 429, body: { error: 'job queue is full' } }, 'busy'],
    [{ status: 400, body: { error: 'invalid generation parameters' } }, 'invalid_request'],
    [{ status: 400, body: { error: `invalid prompt "${SECRET}"` } }, 'invalid_request'],
    [{ status: 400, body: { error: 'invalid json', message: '[json.exception.parse_error.101]' } }, 'invalid_request'],
    [{ status: 500, body: { error: 'server_error', message: '[json.exception.type_error.302]' } }, 'invalid_request'],
    [{ status: 500, body: { error: 'server_error', message: 'bad_alloc' } }, 'backend_fault'],
    [{ status: 401 }, 'auth'],
    [{ status: 404, body: null }, 'unusable'],
    [{ status: 502 }, 'unavailable'],
    [{ status: 202, body: {} }, 'bad_output'],
    ['garbage', 'unavailable'],
    ['drop', 'lost'],
    ['drop_mid_reply', 'lost'],
  ] as const)('%j: %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error.kind).toBe(kind)
    expectDiscreet(error, SECRET)
    standIn.set({ fault: 'none' })
    expect(await generate()).toHaveLength(1)
  })

  it('64 jobs wait already: busy', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    for (let i = 0; i < 64; i++) expect(standIn.jobs.submit('{}').status).toBe(202)
    expect(await failureOf(generate())).toMatchObject({
      kind: 'busy',
      message: expect.stringContaining('queue is full'),
    })
  })
})

describe('a completed job is not believed when', () => {
  it.each([
    ['wrong_size', 'bad_output'],
    ['wrong_count', 'bad_output'],
    ['wrong_seeds', 'bad_output'],
    ['wrong_steps', 'bad_output'],
    ['default_sampler', 'bad_output'],
    ['broken_image', 'bad_output'],
    ['wrong_model', 'model_missing'],
  ] as const)('it hides %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    expect((await failureOf(generate({ seeds: [1, 2], sampler: 'heun' }))).kind).toBe(kind)
  })
})

it('images that say nothing of themselves are taken', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault: 'no_metadata' })
  expect(await generate({ seeds: [1, 2] })).toHaveLength(2)
})

it('a checkpoint whose name holds a comma is recognised in its images', async () => {
  const { generate } = await givenBackend({ model: 'one, two.safetensors' })
  expect(await generate({ model: 'one, two.safetensors' })).toHaveLength(1)
})

describe('a job that ends otherwise means', () => {
  it.each([
    ['fails', 'backend_fault'],
    ['out_of_memory', 'oom'],
  ] as const)('%s: %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    expect((await failureOf(generate())).kind).toBe(kind)
  })

  it('canceled by someone else: a fault of the server', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    const failed = failureOf(generate())
    await looked(standIn)
    standIn.jobs.cancelAll()
    expect(await failed).toMatchObject({ kind: 'backend_fault' })
  })
})

describe('a job is lost when', () => {
  it('the server does not know it any more', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    const failed = failureOf(generate())
    await looked(standIn)
    standIn.jobs.forget()
    expect((await failed).kind).toBe('lost')
  })

  it('the server says that it has expired', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 410, body: { error: 'job expired' } }, on: 'job' })
    expect((await failureOf(generate())).kind).toBe('lost')
  })

  it('the server goes away with it', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    const failed = failureOf(generate())
    await looked(standIn)
    await standIn.refuse()
    expect((await failed).kind).toBe('lost')
  })
})

it.each(['drop', { status: 502 }, { status: 503 }] as const)(
  'two looks in a row that fail with %j lose nothing',
  async (fault) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault, on: 'job', times: 2 })
    expect(await generate()).toHaveLength(1)
  },
)

it('images on a slow line are asked for once, and the server is free for the next meanwhile', async () => {
  const { standIn, generate } = await givenBackend({}, { answerMs: 300 })
  standIn.set({ fault: 'slow_reply', on: 'job' })
  let drawnAt = Number.POSITIVE_INFINITY
  const onDrawn = () => {
    drawnAt = performance.now()
  }
  expect(await generate({ width: 1024, height: 1024 }, { onDrawn })).toHaveLength(1)
  expect(performance.now() - drawnAt).toBeGreaterThan(100)
})

it('a look that is answered with something else is bad output, and the job is canceled', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ hold: true, fault: { status: 200, body: { status: 'dreaming' } }, on: 'job' })
  expect((await failureOf(generate())).kind).toBe('bad_output')
  expect(callsTo(standIn, '/cancel')).toBe(1)
})
