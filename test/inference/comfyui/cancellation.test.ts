import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cancelPrompt } from '../../../src/inference/comfyui/cancellation.js'
import { timeLimit } from '../../../src/lib/abort-signals.js'
import { until } from '../../support/until.js'
import { failureOf } from '../given.js'
import { givenBackend, givenHttp, givenPrompt, isPrompt, VERSIONS } from './given.js'

interface Journal {
  journal: readonly { method: string; path: string; body: Record<string, unknown> | undefined }[]
}
const posts = ({ journal }: Journal, path: string) =>
  journal.filter((entry) => entry.method === 'POST' && entry.path === path).map(({ body }) => body)

const POLLS_NEVER = { pollIntervalMs: 1_000_000 }

describe('an abort', () => {
  it.each(VERSIONS)(
    'takes a waiting prompt off the queue of version %s, and leaves the one that runs',
    async (version) => {
      const { standIn, generate } = await givenBackend({ version })
      standIn.set({ held: true })
      const other = generate({ steps: 200 })
      await until(() => standIn.queue().length === 1, 'the other prompt')
      const controller = new AbortController()
      const failed = failureOf(generate({}, { signal: controller.signal }))
      await until(() => standIn.queue().length === 2, 'both prompts')
      controller.abort()
      expect((await failed).kind).toBe('canceled')
      expect(standIn.queue()).toHaveLength(1)
      expect(posts(standIn, '/interrupt')).toEqual([])
      standIn.set({ held: false })
      expect(await other).toHaveLength(1)
    },
  )

  it('interrupts by the id of its own prompt, without waiting for the next look', async () => {
    const { standIn, generate } = await givenBackend({}, POLLS_NEVER)
    standIn.set({ held: true })
    const controller = new AbortController()
    const attemptId = randomUUID()
    const onProgress = () => controller.abort()
    await failureOf(generate({ attemptId }, { signal: controller.signal, onProgress }))
    expect(posts(standIn, '/interrupt')).toEqual([{ prompt_id: attemptId }])
  })

  it('cancels the job by its id where the server is new enough for that', async () => {
    const { standIn, generate } = await givenBackend({ version: 'new' })
    standIn.set({ held: true })
    const controller = new AbortController()
    const attemptId = randomUUID()
    const failed = failureOf(generate({ attemptId }, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    await failed
    expect(posts(standIn, `/api/jobs/${attemptId}/cancel`)).toHaveLength(1)
    expect(posts(standIn, '/interrupt')).toEqual([])
  })

  it('is repeated when the prompt was about to begin and forgot it', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true, fault: { status: 200, body: '' }, on: 'POST /interrupt', times: 1 })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(posts(standIn, '/interrupt')).toHaveLength(2)
    expect(standIn.queue()).toEqual([])
  })

  it('while the prompt is being submitted cancels it once it is there', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true, fault: 'late', on: 'POST /prompt' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    standIn.set({ fault: 'none' })
    expect((await failed).kind).toBe('canceled')
    expect(posts(standIn, '/interrupt')).toHaveLength(1)
    expect(standIn.queue()).toEqual([])
  })

  it('that came while the server answered is noticed at the answer, though the prompt has begun', async () => {
    const { standIn, generate } = await givenBackend({}, POLLS_NEVER)
    standIn.set({ held: true, fault: 'late_answer', on: 'POST /prompt' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await until(() => standIn.queue().length === 1, 'the prompt')
    controller.abort()
    standIn.set({ fault: 'none' })
    expect((await failed).kind).toBe('canceled')
    expect(standIn.queue()).toEqual([])
  })

  it('never interrupts while another prompt runs beside its own', async () => {
    const { standIn } = await givenBackend()
    const running = [
      [1, 'other'],
      [2, 'mine'],
    ]
    standIn.set({ fault: { status: 200, body: { queue_running: running, queue_pending: [] } }, on: 'GET /queue' })
    const limit = timeLimit(new AbortController().signal, 60_000)
    const canceling = cancelPrompt(givenHttp(standIn.inferenceUrl), 'mine', limit.signal)
    const looks = () => standIn.journal.filter(({ path }) => path === '/queue').length
    await until(() => looks() > 2, 'three looks at the queue')
    standIn.set({ fault: 'none' })
    await canceling
    limit.clear()
    expect(posts(standIn, '/interrupt')).toEqual([])
  })
})

const attemptIs = (easel_attempt: unknown) => ({ extra_data: { easel_attempt } })

describe.each(VERSIONS)('on version %s, a prompt that the server still has of another worker’s attempt', (version) => {
  it('is canceled once that attempt has ended, and the next prompt has its turn', async () => {
    const { standIn, generate } = await givenBackend({ version })
    standIn.set({ held: true })
    // The first as Easel 0.2 sent it.
    const dead = [
      await givenPrompt(standIn.url, { client_id: 'easel:gen_a-1' }),
      await givenPrompt(standIn.url, attemptIs('gen_b-2')),
    ]
    let died = false
    const hasEnded = async (attempt: string) => died && /^gen_(a-1|b-2)$/.test(attempt)
    const drawn = generate({}, { hasEnded })
    await until(() => standIn.queue().length === 3, 'the next prompt waiting')
    died = true
    await until(() => !standIn.queue().some((id) => dead.includes(id)), 'the others being off')
    standIn.set({ held: false })
    expect(await drawn).toHaveLength(1)
  })

  it('goes on while that attempt lives, as does what others have sent', async () => {
    const { standIn, generate } = await givenBackend({ version })
    standIn.set({ held: true })
    const ours = [attemptIs('gen_a-1'), attemptIs('gen_b-1')]
    const unlikeOurs = [{}, { client_id: 'gen_b-1' }, { client_id: 5 }, attemptIs(['gen_b-1']), attemptIs(5)]
    const ids: string[] = []
    for (const mark of [...ours, ...unlikeOurs]) ids.push(await givenPrompt(standIn.url, mark))
    const [living, dead, ...others] = ids
    const controller = new AbortController()
    const hasEnded = async (attempt: string) => attempt === 'gen_b-1'
    const failed = failureOf(generate({}, { hasEnded, signal: controller.signal }))
    await until(() => !standIn.queue().includes(String(dead)), 'the dead one being off')
    controller.abort()
    await failed
    expect(standIn.queue()).toEqual([living, ...others])
    expect(posts(standIn, '/interrupt')).toEqual([])
  })
})
