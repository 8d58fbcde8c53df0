import { describe, expect, it } from 'vitest'
import { createSdCppBackend } from '../../../src/inference/sdcpp/sdcpp-backend.js'
import { until } from '../../support/until.js'
import { aRequest, failureOf, PONY } from '../a1111/given.js'
import { startedProcess } from '../attached.js'
import { callsTo, givenBackend, looked } from './given.js'

const isSubmit = ({ path }: { path: string }) => path === '/sdcpp/v1/img_gen'

describe('an abort', () => {
  it('takes a job that waits out of the queue', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    standIn.jobs.submit('{}')
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await looked(standIn)
    controller.abort()
    expect(await failed).toMatchObject({ kind: 'canceled', publicMessage: 'The generation was canceled.' })
    expect(standIn.jobs.statuses()).toEqual(['generating', 'cancelled'])
  })

  it('leaves a job that is drawn to itself, and the next one waits for its turn without losing time', async () => {
    const { standIn, generate } = await givenBackend({}, { timeoutMs: 1_000, queueMs: 60_000 })
    standIn.set({ hold: true })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await until(() => standIn.jobs.statuses()[0] === 'generating')
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(callsTo(standIn, '/cancel')).toBe(1)

    const next = generate()
    await until(() => callsTo(standIn, '00000001') > 120) // looks, 10 ms apart: more than the time it has for drawing
    expect(standIn.jobs.statuses()).toEqual(['generating', 'queued'])
    standIn.set({ hold: false })
    expect(await next).toHaveLength(1)
    expect(standIn.jobs.statuses()).toEqual(['completed', 'completed'])
  })

  it('while the job is being submitted cancels it all the same', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ hold: true })
    standIn.jobs.submit('{}')
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isSubmit)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(standIn.jobs.statuses()).toEqual(['generating', 'cancelled'])
  })

  it.each(['img_gen', 'cancel'] as const)('waits only its grace for a server that does not answer %s', async (on) => {
    const { standIn, generate } = await givenBackend({}, { cancelGraceMs: 100 })
    standIn.set({ hold: true, fault: 'hang', on })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await (on === 'img_gen' ? standIn.seen(isSubmit) : looked(standIn))
    controller.abort()
    const abortedAt = performance.now()
    expect((await failed).kind).toBe('canceled')
    expect(performance.now() - abortedAt).toBeLessThan(3_000)
  })

  it('that came before the call asks nothing of the server', async () => {
    const { standIn, generate } = await givenBackend()
    expect((await failureOf(generate({}, { signal: AbortSignal.abort() }))).kind).toBe('canceled')
    expect(standIn.journal).toEqual([])
  })

  it('between the two jobs of a wrapping batch stops before the second', async () => {
    const { standIn, generate } = await givenBackend()
    const controller = new AbortController()
    const onProgress = () => controller.abort()
    const work = generate({ seeds: [4294967295, 0] }, { signal: controller.signal, onProgress })
    expect((await failureOf(work)).kind).toBe('canceled')
    expect(standIn.asked()).toHaveLength(1)
  })
})

it('a job that is not drawn in time is a timeout', async () => {
  const { standIn, generate } = await givenBackend({}, { timeoutMs: 1_500 })
  standIn.set({ hold: true })
  expect(await failureOf(generate())).toMatchObject({ kind: 'timeout' })
  expect(callsTo(standIn, '/cancel')).toBe(1)
})

it('a job that waits says how many come before it, and when it is drawn', async () => {
  const { standIn, generate } = await givenBackend({ latencyMs: 200 })
  standIn.jobs.submit('{}')
  const told: number[] = []
  await generate({}, { onWaiting: (before) => told.push(before) })
  expect([...new Set(told)]).toEqual([1, 0])
})

it('a job whose turn does not come is taken back, and the server counts as busy', async () => {
  const { standIn, generate } = await givenBackend({}, { queueMs: 100 })
  standIn.set({ hold: true })
  standIn.jobs.submit('{}')
  expect((await failureOf(generate())).kind).toBe('busy')
  expect(standIn.jobs.statuses()).toEqual(['generating', 'cancelled'])
})

it('the stand-in runs as a process of its own, is set over HTTP, and ends on SIGTERM', async () => {
  const { url, set, end } = await startedProcess('sdcpp/sdcpp-stand-in.ts', ['--model', PONY, '--auth', 'u:p'])
  const backend = createSdCppBackend(`sdcpp+${url.replace('://', '://u:p@')}`, { timeoutMs: 5_000 })
  const signal = new AbortController().signal
  expect(await backend.generate(aRequest(), { signal })).toHaveLength(1)
  await set({ fault: 'fails' })
  await expect(backend.generate(aRequest(), { signal })).rejects.toMatchObject({ kind: 'backend_fault' })
  await backend.close()
  expect(await end()).toEqual([0, null])
})
