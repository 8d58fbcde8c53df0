import { describe, expect, it } from 'vitest'
import { failureOf } from '../given.js'
import { callsTo, givenBackend, looked } from './given.js'

describe('an abort', () => {
  it.each(['waits in the queue', 'is being submitted'])('takes back a job that %s', async (when) => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    standIn.jobs.submit('{}')
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await (when === 'waits in the queue' ? looked(standIn) : standIn.seen(({ path }) => path === '/sdcpp/v1/img_gen'))
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(standIn.jobs.statuses()).toEqual(['generating', 'cancelled'])
  })

  it('leaves a job that is drawn to itself, and the next job waits for its turn', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await looked(standIn)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(callsTo(standIn, '/cancel')).toBe(1)
    const next = generate()
    await standIn.seen(({ path }) => path.endsWith('00000001'))
    expect(standIn.jobs.statuses()).toEqual(['generating', 'queued'])
    standIn.set({ held: false })
    expect(await next).toHaveLength(1)
    expect(standIn.jobs.statuses()).toEqual(['completed', 'completed'])
  })

  it('does not wait long for a server that does not answer the cancel', async () => {
    const { standIn, generate } = await givenBackend({}, { cancelGraceMs: 100 })
    standIn.set({ held: true, fault: 'hang', on: 'cancel' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await looked(standIn)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
  })
})
