import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Progress } from '../../src/client/easel-client.js'
import {
  type Asked,
  eventStream,
  fakeClock,
  ID,
  json,
  pass,
  type ScriptedServer,
  scriptedServer,
  stall,
  submitted,
  succeeded,
} from './scripted-server.js'

beforeEach(() => void fakeClock())
afterEach(() => void vi.useRealTimers())

const PROMPT = { prompt: 'a lighthouse at dusk', model_version_id: 10 }
const processing = () => json(200, { id: ID, status: 'processing' }, { 'x-progress': '0.50', 'retry-after': '1' })
const queued = (position: number) => json(200, { id: ID, status: 'queued', queue_position: position })
/** As a long poll without news. */
const waited = async (request: Request, answer: () => Response): Promise<Response> => {
  const seconds = Number(new URL(request.url).searchParams.get('wait'))
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  return answer()
}
const cancel = () => json(200, {})

function following({ easel }: ScriptedServer, signal?: AbortSignal) {
  const seen: Progress[] = []
  const onProgress = (progress: Progress) => void seen.push(progress)
  const end = easel.generate(PROMPT, { onProgress, ...(signal && { signal }) }).then(
    ({ images }) => images.length,
    (error: Error) => error.message,
  )
  return { seen, end }
}
const timesOf = (asked: readonly Asked[], what: Asked['what']) =>
  asked.filter((it) => it.what === what).map(({ atMs }) => atMs)

describe('follow', () => {
  it('tells only what belongs to the state that it is in, and nothing twice', async () => {
    const stream = eventStream()
    const server = scriptedServer({ submit: submitted, events: stream.answer, poll: processing, cancel })
    const { seen, end } = following(server)
    stream.send('status', { id: ID, status: 'queued', queue_position: 2 })
    stream.send('queue_position', { queue_position: 1 })
    stream.send('status', { id: ID, status: 'processing' })
    stream.send('progress', { progress: 0.5 })
    stream.send('progress', { progress: 0.5 })
    stream.send('preview', { image: 'data:image/webp;base64,AA==' })
    stream.send('status', { id: ID, status: 'queued', queue_position: 1 })
    stream.send('status', { id: ID, status: 'processing' })
    stream.send('end', succeeded)
    await pass(1000)
    expect(await end).toBe(1)
    expect(seen).toEqual([
      { id: ID, status: 'queued', queuePosition: 2 },
      { id: ID, status: 'queued', queuePosition: 1 },
      { id: ID, status: 'processing' },
      { id: ID, status: 'processing', progress: 0.5 },
      { id: ID, status: 'processing', progress: 0.5, preview: 'data:image/webp;base64,AA==' },
      { id: ID, status: 'queued', queuePosition: 1 },
      { id: ID, status: 'processing' },
    ])
    expect(stream.canceled()).toBe(true)
  })

  it('stays with a stream on which nothing but heartbeats comes', async () => {
    const stream = eventStream()
    const server = scriptedServer({ submit: submitted, events: stream.answer, poll: processing, cancel })
    const { end } = following(server)
    stream.send('status', { id: ID, status: 'queued', queue_position: 2 })
    for (let beats = 0; beats < 8; beats++) {
      await pass(15_000)
      stream.raw(': still here\n\n')
    }
    stream.send('end', succeeded)
    await pass(1000)
    expect(await end).toBe(1)
    expect(server.asked.map(({ what }) => what)).toEqual(['submit', 'events'])
  })

  it('leaves a stream that has fallen silent, and opens the next one as soon as the server said', async () => {
    const streams = [eventStream(), eventStream()]
    const events = (request: Request) => {
      const nth = timesOf(server.asked, 'events').length - 1
      return (streams[nth] as (typeof streams)[0]).answer(request)
    }
    const server = scriptedServer({ submit: submitted, events, poll: (request) => waited(request, processing), cancel })
    const { end } = following(server)
    streams[0]?.raw('retry: 5000\n\n')
    await pass(46_000)
    expect(streams[0]?.canceled()).toBe(true)
    expect(timesOf(server.asked, 'events')).toEqual([0, 45_000])
    streams[1]?.send('end', succeeded)
    await pass(1000)
    expect(await end).toBe(1)
  })

  it('comes back to the events where no stream was free, ever more rarely, and polls meanwhile', async () => {
    const refused = () => json(429, { error: 'Too many.' }, { 'x-error-code': 'too_many_streams', 'retry-after': '5' })
    let ended = false
    const answer = () => (ended ? json(200, succeeded) : queued(1))
    const server = scriptedServer({
      submit: submitted,
      events: refused,
      poll: (request) => waited(request, answer),
      cancel,
    })
    const { seen, end } = following(server)
    await pass(1_100_000, 1000)
    const times = timesOf(server.asked, 'events')
    const gaps = times.slice(1).map((at, n) => Math.round((at - (times[n] as number)) / 10_000) * 10)
    expect(times[1]).toBe(5000)
    expect(gaps.slice(1)).toEqual([20, 80, 300, 300, 300])
    expect(timesOf(server.asked, 'poll').length).toBeLessThan(80)
    expect(seen).toHaveLength(1)
    ended = true
    await pass(21_000)
    expect(await end).toBe(1)
  })

  it('polls on when a stream or a poll stalls', async () => {
    let polls = 0
    const poll = (request: Request) => (++polls === 1 ? stall(request) : json(200, succeeded))
    const server = scriptedServer({ submit: submitted, events: stall, poll, cancel })
    const { end } = following(server)
    await pass(60_000)
    expect(await end).toBe(1)
    expect(server.asked.map(({ what }) => what)).toEqual(['submit', 'events', 'poll', 'poll'])
  })

  it('leaves the stream at once when it is aborted', async () => {
    const stream = eventStream()
    const stop = new AbortController()
    const server = scriptedServer({ submit: submitted, events: stream.answer, poll: processing, cancel })
    const { end } = following(server, stop.signal)
    await pass(1000)
    stop.abort(new Error('enough'))
    await pass(250)
    expect(await end).toBe('enough')
    expect(stream.canceled()).toBe(true)
    expect(server.asked.map(({ what }) => what)).toEqual(['submit', 'events', 'cancel'])
  })

  it('names the generation when the server goes away while it is followed', async () => {
    const away = () => Promise.reject(new TypeError('fetch failed'))
    const { easel } = scriptedServer({ submit: submitted, events: away, poll: away, cancel })
    const end = easel.generate(PROMPT, { outageMs: 1000 }).catch((error: unknown) => error)
    await pass(5000)
    expect(await end).toMatchObject({ code: 'unreachable', generationId: ID, idempotencyKey: undefined })
  })
})
