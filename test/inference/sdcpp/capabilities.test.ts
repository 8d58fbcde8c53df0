import { describe, expect, it } from 'vitest'
import { createSdCppBackend } from '../../../src/inference/sdcpp/sdcpp-backend.js'
import { failureOf, PONY } from '../a1111/given.js'
import { expectAuthFailure, expectUnavailable, probedAs } from '../attached.js'
import { givenBackend } from './given.js'

it('are the one checkpoint, every seed, and sizes in multiples of 64', async () => {
  const { capabilities } = await givenBackend()
  expect(await capabilities()).toMatchObject({ models: [PONY], maxSeed: 4294967295, sizeMultiple: 64 })
})

describe('the probe says unavailable', () => {
  it('while nobody listens, and works again once someone does', async () => {
    const given = await givenBackend()
    await given.standIn.refuse()
    await expectUnavailable(given)
    await given.standIn.accept()
    expect(await given.generate()).toHaveLength(1)
  })

  it.each([
    'drop',
    'garbage',
    { status: 404, body: null },
    { status: 500 },
    { status: 503 },
    { status: 200, body: { samplers: [] } },
  ] as const)('when it answers with %j', async (fault) => {
    const given = await givenBackend()
    given.standIn.set({ fault, on: 'capabilities' })
    await expectUnavailable(given, probedAs(fault))
    expect(given.standIn.asked()).toEqual([])
  })

  it('when the server takes too long', async () => {
    const { standIn, capabilities } = await givenBackend({}, { timeoutMs: 100 })
    standIn.set({ fault: 'hang', on: 'capabilities' })
    expect((await failureOf(capabilities())).kind).toBe('unavailable')
  })

  it('when the server makes no images', async () => {
    const { standIn, capabilities } = await givenBackend()
    standIn.set({ mode: 'vid_gen' })
    const error = await failureOf(capabilities())
    expect(error.kind).toBe('unusable')
    expect(error.message).toContain('"vid_gen"')
  })
})

it('answer canceled to whoever hangs up meanwhile', async () => {
  const { standIn, backend } = await givenBackend()
  standIn.set({ fault: 'hang', on: 'capabilities' })
  const controller = new AbortController()
  const failed = failureOf(backend.capabilities(controller.signal))
  await standIn.seen(({ path }) => path === '/sdcpp/v1/capabilities')
  controller.abort()
  expect((await failed).kind).toBe('canceled')
})

it('credentials reach the server, and nothing else when it refuses them', async () => {
  const { standIn, generate } = await givenBackend({ auth: 'api user:p@ss/w%rd' })
  expect(await generate()).toHaveLength(1)
  const backend = createSdCppBackend(`sdcpp+http://someone:s3cret@127.0.0.1:${standIn.port}`, { timeoutMs: 1_000 })
  await expectAuthFailure(backend, /s3cret|someone|c29tZW9uZ/)
  expect(backend.name).toBe(`sdcpp+http://127.0.0.1:${standIn.port}`)
})
