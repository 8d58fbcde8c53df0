import { describe, expect, it } from 'vitest'
import { timeLimit } from '../../../src/abort-signals.js'
import { cancelPrompt } from '../../../src/inference/comfyui/cancellation.js'
import { graphOf } from '../../../src/inference/comfyui/graph.js'
import { until, within } from '../../support/until.js'
import { aRequest, failureOf, givenBackend, givenHttp, PONY } from './given.js'

interface Journal {
  journal: readonly { method: string; path: string; body: Record<string, unknown> | undefined }[]
}
const posts = ({ journal }: Journal, path: string) =>
  journal.filter((entry) => entry.method === 'POST' && entry.path === path).map(({ body }) => body)
const isPrompt = ({ path }: { path: string }) => path === '/prompt'
const VERSIONS = ['old', '0.3.64', 'new'] as const

describe.each(VERSIONS)('an abort on version %s', (version) => {
  it('stops the prompt that runs, and says canceled', async () => {
    const { standIn, generate, queue } = await givenBackend({ version, latencyMs: 10_000 })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    expect(await failed).toMatchObject({ kind: 'canceled', publicMessage: 'The generation was canceled.' })
    expect(await queue()).toEqual([])
    standIn.set({ latencyMs: 0 })
    expect(await generate()).toHaveLength(1)
  })

  it('takes a prompt that waits off the queue, and leaves the one that runs alone', async () => {
    const { standIn, generate, queue } = await givenBackend({ version, latencyMs: 20_000 })
    const other = generate({ steps: 200 })
    await until(async () => (await queue()).length === 1, 'the other prompt')
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await until(async () => (await queue()).length === 2, 'both prompts')
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(await queue()).toHaveLength(1)
    expect(posts(standIn, '/interrupt')).toEqual([])
    standIn.set({ latencyMs: 0 })
    expect(await other).toHaveLength(1)
  })
})

describe('an abort', () => {
  it('interrupts by the id of its own prompt, without waiting for the next look', async () => {
    const { standIn, generate } = await givenBackend({ latencyMs: 10_000 }, { pollIntervalMs: 1_000_000 })
    const controller = new AbortController()
    const attemptId = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
    const onProgress = () => controller.abort()
    await failureOf(generate({ attemptId }, { signal: controller.signal, onProgress }))
    expect(posts(standIn, '/interrupt')).toEqual([{ prompt_id: attemptId }])
  })

  it('uses the way of new servers where there is one', async () => {
    const { standIn, generate } = await givenBackend({ version: 'new', latencyMs: 10_000 })
    const controller = new AbortController()
    const attemptId = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
    const failed = failureOf(generate({ attemptId }, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    await failed
    expect(posts(standIn, `/api/jobs/${attemptId}/cancel`)).toHaveLength(1)
    expect(posts(standIn, '/interrupt')).toEqual([])
  })

  it('is repeated when the prompt was about to begin and forgot it', async () => {
    const { standIn, generate, queue } = await givenBackend({ latencyMs: 10_000 }, { cancelGraceMs: 5_000 })
    standIn.set({ fault: { status: 200, body: '' }, on: 'POST /interrupt', times: 1 })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(posts(standIn, '/interrupt')).toHaveLength(2)
    expect(await queue()).toEqual([])
  })

  it('while the prompt is being submitted cancels it once it is there', async () => {
    const { standIn, generate, queue } = await givenBackend({ latencyMs: 10_000 })
    standIn.set({ fault: 'late' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(posts(standIn, '/interrupt')).toHaveLength(1)
    expect(await queue()).toEqual([])
  })

  it('never interrupts while another prompt runs beside its own', async () => {
    const { standIn } = await givenBackend()
    const beside = {
      queue_running: [
        [1, 'other'],
        [2, 'mine'],
      ],
      queue_pending: [],
    }
    standIn.set({ fault: { status: 200, body: beside }, on: 'GET /queue' })
    const limit = timeLimit(new AbortController().signal, 300)
    await cancelPrompt(givenHttp(standIn.inferenceUrl), 'mine', limit.signal)
    expect(standIn.journal.length).toBeGreaterThan(1)
    expect(posts(standIn, '/interrupt')).toEqual([])
  })

  it('gives a server that hangs only its grace', async () => {
    const { standIn, generate } = await givenBackend({}, { cancelGraceMs: 100 })
    standIn.set({ fault: 'hang' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await standIn.seen(isPrompt)
    const abortedAt = performance.now()
    controller.abort()
    expect((await failed).kind).toBe('canceled')
    expect(performance.now() - abortedAt).toBeLessThan(4_000)
  })

  it('that came while the server answered is noticed at the answer, though the prompt has begun', async () => {
    const { standIn, generate, queue } = await givenBackend({ latencyMs: 60_000 }, { pollIntervalMs: 1_000_000 })
    standIn.set({ fault: 'late_answer', on: 'POST /prompt' })
    const controller = new AbortController()
    const failed = failureOf(generate({}, { signal: controller.signal }))
    await until(async () => (await queue()).length === 1, 'the prompt')
    controller.abort()
    expect((await within(5_000, failed, 'the failure')).kind).toBe('canceled')
    expect(await queue()).toEqual([])
  })

  it('that came before the call asks nothing of the server', async () => {
    const { standIn, generate, capabilities } = await givenBackend()
    await capabilities()
    const asked = standIn.journal.length
    expect((await failureOf(generate({}, { signal: AbortSignal.abort() }))).kind).toBe('canceled')
    expect(standIn.journal).toHaveLength(asked)
  })
})

it('stops and gives up an inference that takes too long', async () => {
  const { standIn, generate, queue, capabilities } = await givenBackend({ latencyMs: 30_000 }, { timeoutMs: 2_000 })
  await capabilities()
  expect(await failureOf(generate())).toMatchObject({
    kind: 'timeout',
    publicMessage: 'The generation took too long and was stopped.',
  })
  expect(posts(standIn, '/interrupt')).toHaveLength(1)
  expect(await queue()).toEqual([])
})

it('does not count the time behind somebody else’s prompt as drawing, and says busy when that is too long', async () => {
  const { standIn, generate, queue } = await givenBackend({ latencyMs: 60_000 }, { timeoutMs: 2_000 })
  const other = await givenPrompt(standIn.url)
  expect((await failureOf(generate())).kind).toBe('busy')
  expect(await queue()).toEqual([other])
})

it('gives up a hanging server at the time limit', async () => {
  const { standIn, generate } = await givenBackend({}, { timeoutMs: 500, cancelGraceMs: 50 })
  standIn.set({ fault: 'hang' })
  expect((await failureOf(generate())).kind).toBe('timeout')
})

/** Puts a prompt into the queue as another client does. @returns its id */
async function givenPrompt(url: string, marks: { client_id?: unknown; extra_data?: object } = {}): Promise<string> {
  const { nodes } = graphOf(aRequest(), PONY, { name: 'euler', schedule: 'normal' })
  const response = await fetch(`${url}/prompt`, { method: 'POST', body: JSON.stringify({ prompt: nodes, ...marks }) })
  return ((await response.json()) as { prompt_id: string }).prompt_id
}

const attemptIs = (easel_attempt: unknown) => ({ extra_data: { easel_attempt } })

describe.each(VERSIONS)('on version %s, what the server still does for an attempt of another worker', (version) => {
  it('is canceled once that attempt has ended, and the next prompt has its turn', async () => {
    const { standIn, generate, queue } = await givenBackend({ version, latencyMs: 60_000 })
    // The first as Easel 0.2 sent it.
    const dead = [
      await givenPrompt(standIn.url, { client_id: 'easel:gen_a-1' }),
      await givenPrompt(standIn.url, attemptIs('gen_b-2')),
    ]
    let diedAt = Number.POSITIVE_INFINITY
    const hasEnded = async (attempt: string) => /^gen_(a-1|b-2)$/.test(attempt) && performance.now() > diedAt
    const drawn = generate({}, { hasEnded })
    await until(async () => (await queue()).length === 3, 'the next prompt waiting')
    diedAt = performance.now()
    await until(async () => !(await queue()).some((id) => dead.includes(id)), 'the others being off')
    standIn.set({ latencyMs: 0 })
    expect(await drawn).toHaveLength(1)
  })

  it('goes on while that attempt lives, as does what others have sent', async () => {
    const { standIn, generate, queue } = await givenBackend({ version, latencyMs: 60_000 })
    const ours = [attemptIs('gen_a-1'), attemptIs('gen_b-1')]
    const unlikeOurs = [{}, { client_id: 'gen_b-1' }, { client_id: 5 }, attemptIs(['gen_b-1']), attemptIs(5)]
    const ids: string[] = []
    for (const mark of [...ours, ...unlikeOurs]) ids.push(await givenPrompt(standIn.url, mark))
    const [living, dead, ...others] = ids
    const controller = new AbortController()
    const hasEnded = async (attempt: string) => attempt === 'gen_b-1'
    const failed = failureOf(generate({}, { hasEnded, signal: controller.signal }))
    await until(async () => !(await queue()).includes(String(dead)), 'the dead one being off')
    controller.abort()
    await failed
    expect(await queue()).toEqual([living, ...others])
    expect(posts(standIn, '/interrupt')).toEqual([])
  })
})
