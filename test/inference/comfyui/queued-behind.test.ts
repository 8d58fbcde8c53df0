import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { InferenceOptions, InferenceRequest } from '../../../src/core/generations/run/backend.js'
import { until } from '../../support/until.js'
import { failureOf } from '../given.js'
import { givenBackend, isPrompt } from './given.js'

const POLLS_NEVER = { pollIntervalMs: 1_000_000 }

/** Two prompts, of which the second waits behind the first, which is held. */
async function givenTwo(...[standInOptions, options]: Parameters<typeof givenBackend>) {
  const given = await givenBackend(standInOptions, options)
  const { standIn, generate } = given
  standIn.set({ held: 1 })
  const begin = (seed: number, how: Partial<InferenceOptions> = {}) => {
    const attemptId = randomUUID()
    const stop = new AbortController()
    const waits: number[] = []
    let tell = () => {}
    const drawn = new Promise<void>((resolve) => {
      tell = resolve
    })
    const asked: Partial<InferenceRequest> = { attemptId, seeds: [seed] }
    const onWaiting = (before: number) => void waits.push(before)
    const images = generate(asked, { signal: stop.signal, onWaiting, onDrawn: tell, ...how })
    images.catch(() => undefined)
    return { id: attemptId, stop, waits, drawn, images }
  }
  const first = begin(1)
  await until(() => standIn.queue().length === 1, 'the first prompt')
  const second = begin(2, { after: first.drawn })
  await until(() => standIn.queue().length === 2, 'the second prompt')
  return { ...given, first, second }
}

describe('a prompt that waits behind another one of ours', () => {
  it('is drawn right after it, and asks the server nothing until then', async () => {
    const { standIn, first, second } = await givenTwo({}, POLLS_NEVER)
    expect(standIn.queue()).toEqual([first.id, second.id])
    standIn.set({ held: 2 })
    await first.images
    await until(() => second.waits.length > 0, 'the second one’s turn')
    expect(second.waits).toEqual([0])
    standIn.set({ held: false })
    expect(await second.images).toHaveLength(1)
    // Once, at its end.
    expect(standIn.journal.filter(({ path }) => path === `/history/${second.id}`)).toHaveLength(1)
  })

  it('is found to be drawn where no event tells of its turn', async () => {
    const { standIn, first, second } = await givenTwo()
    standIn.cutSockets()
    standIn.set({ held: 2 })
    await first.images
    await until(() => second.waits.includes(0), 'the second one’s turn')
    standIn.set({ held: false })
    expect(await second.images).toHaveLength(1)
  })

  it.each(['0.3.64', 'new'] as const)(
    'is taken off the queue of version %s when it is canceled, and the other one goes on',
    async (version) => {
      const { standIn, first, second } = await givenTwo({ version })
      second.stop.abort()
      expect((await failureOf(second.images)).kind).toBe('canceled')
      expect(standIn.queue()).toEqual([first.id])
      standIn.set({ held: false })
      expect(await first.images).toHaveLength(1)
    },
  )

  it.each(['0.3.64', 'new'] as const)('is drawn by version %s when the one before it is canceled', async (version) => {
    const { first, second } = await givenTwo({ version })
    first.stop.abort()
    expect((await failureOf(first.images)).kind).toBe('canceled')
    expect(await second.images).toHaveLength(1)
  })

  it('is sent after the one before it, although that takes long to send', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ fault: 'late', on: 'POST /prompt' })
    const ids = [randomUUID(), randomUUID()]
    const drawn = ids.map((attemptId, n) =>
      generate({ attemptId }, n > 0 ? { after: new Promise(() => undefined) } : {}),
    )
    await standIn.seen(isPrompt)
    standIn.set({ fault: 'none' })
    await Promise.all(drawn)
    expect(standIn.asked().map(({ prompt_id }) => prompt_id)).toEqual(ids)
  })
})

it.each([
  ['old', false],
  ['0.3.64', true],
  ['new', true],
] as const)('version %s is asked for one prompt behind another: %s', async (version, queues) => {
  const { backend, capabilities } = await givenBackend({ version })
  expect(backend.queues?.()).toBe(false)
  await capabilities()
  expect(backend.queues?.()).toBe(queues)
})
