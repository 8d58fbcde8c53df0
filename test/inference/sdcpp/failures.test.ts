import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { until } from '../../support/until.js'
import { expectDiscreet, failureOf } from '../given.js'
import { callsTo, givenBackend, looked } from './given.js'

const SECRET = 'a secret prompt of the subscriber'

describe('the answer to a submitted job', () => {
  it.each([
    [{ status: 429, body: { error: 'job queue is full' } }, 'busy'],
    [{ status: 400, body: { error: 'invalid generation parameters' } }, 'invalid_request'],
    [{ status: 400, body: { error: `invalid prompt "${SECRET}"` } }, 'invalid_request'],
    [{ status: 400, body: { error: 'invalid json', message: '[json.exception.parse_error.101]' } }, 'invalid_request'],
    [{ status: 500, body: { error: 'server_error', message: '[json.exception.type_error.302]' } }, 'invalid_request'],
    [{ status: 500, body: { error: 'server_error', message: 'bad_alloc' } }, 'oom'],
  ] as const)('%j means %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    const error = await failureOf(generate({ prompt: SECRET }))
    expect(error.kind).toBe(kind)
    expectDiscreet(error, SECRET)
  })

  it('that 64 jobs wait already means busy', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    for (let i = 0; i < 64; i++) expect(standIn.jobs.submit('{}').status).toBe(202)
    expect(await failureOf(generate())).toMatchObject({
      kind: 'busy',
      message: expect.stringContaining('queue is full'),
    })
  })
})

it('takes images that say nothing of themselves', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault: 'no_metadata' })
  expect(await generate({ seeds: [1, 2] })).toHaveLength(2)
})

it('recognises a checkpoint whose name has a comma in the images that it drew', async () => {
  const { generate } = await givenBackend({ model: 'one, two.safetensors' })
  expect(await generate({ model: 'one, two.safetensors' })).toHaveLength(1)
})

describe('a job', () => {
  it.each([
    ['fails', 'backend_fault'],
    ['out_of_memory', 'oom'],
  ] as const)('that ends with %s means %s', async (fault, kind) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault })
    // The log leaves out the words of the prompt; what they say of the failure counts all the same.
    expect((await failureOf(generate({ prompt: 'the memory of a summer' }))).kind).toBe(kind)
  })
})

describe('a job is lost when', () => {
  it('the server does not know it any more', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    const failed = failureOf(generate())
    await looked(standIn)
    standIn.jobs.forget()
    expect((await failed).kind).toBe('lost')
  })

  it('the server does not say in time whether it took the job', async () => {
    const { standIn, generate } = await givenBackend({}, { answerMs: 100 })
    standIn.set({ fault: 'hang' })
    const message = expect.stringContaining('did not say whether it took the job')
    expect(await failureOf(generate())).toMatchObject({ kind: 'lost', message })
  })

  it('the server says that it has expired', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: { status: 410, body: { error: 'job expired' } }, on: 'job' })
    expect((await failureOf(generate())).kind).toBe('lost')
  })
})

it.each(['drop', { status: 502 }, { status: 503 }] as const)(
  'loses nothing when it looks at a job twice in vain, with %j',
  async (fault) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault, on: 'job', times: 2 })
    expect(await generate()).toHaveLength(1)
  },
)

it('loses nothing when looks in vain are not in a row, however many they become', async () => {
  const { standIn, generate } = await givenBackend()
  const looks = () => standIn.journal.filter(({ path }) => path.includes('/jobs/')).length
  standIn.set({ held: true })
  const images = generate()
  await looked(standIn)
  for (let times = 0; times < 3; times++) {
    const before = looks()
    standIn.set({ fault: { status: 503 }, on: 'job', times: 2 })
    const seenAgain = until(() => looks() > before + 3, 'two looks in vain, and others after them')
    await Promise.race([seenAgain, images])
  }
  standIn.set({ held: false })
  expect(await images).toHaveLength(1)
})

it('waits for images on a slow line longer than for other answers, while the server is free for the next job', async () => {
  const answerMs = 1_000
  const { standIn, generate } = await givenBackend({}, { answerMs })
  standIn.set({ fault: 'slow_reply', on: 'job' })
  let drawn = false
  const images = generate({ width: 1024, height: 1024 }, { onDrawn: () => (drawn = true) })
  await until(() => drawn, 'its being drawn, as the first half says')
  // As long as another answer may take.
  await delay(answerMs)
  standIn.set({ fault: 'none' })
  expect(await images).toHaveLength(1)
})

it('cancels a job of which the server tells something unknown', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ held: true, fault: { status: 200, body: { status: 'dreaming' } }, on: 'job' })
  expect((await failureOf(generate())).kind).toBe('bad_output')
  expect(callsTo(standIn, '/cancel')).toBe(1)
})
