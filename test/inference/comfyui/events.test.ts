import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { InferenceOptions, InferenceRequest } from '../../../src/core/generations/run/backend.js'
import { createProgress, createServerEvents, type ServerEvent } from '../../../src/inference/comfyui/server-events.js'
import { parseServerUrl } from '../../../src/inference/server-http.js'
import { type ComfyuiStandIn, startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { acceptUpgrade } from '../../support/raw-websocket.js'
import { until, within } from '../../support/until.js'
import { failureOf } from '../given.js'
import { givenBackend, givenPrompt, VERSIONS } from './given.js'
import recorded from './recorded.json' with { type: 'json' }

describe('progress', () => {
  it('is one fraction over all images, and rises to 1', async () => {
    const { progress } = await drawnWithEvents(await givenBackend({}, POLLS_NEVER), { seeds: [1, 2, 3], steps: 5 })
    expect(progress).toEqual([...new Set(progress)].sort((a, b) => a - b))
    expect(progress.length).toBeGreaterThan(3)
    // Of three times five steps.
    for (const done of progress.slice(0, -1)) expect((done * 15) / 0.95).toBeCloseTo(Math.round((done * 15) / 0.95))
    expect(progress.at(-2)).toBeCloseTo(0.95)
    expect(progress.at(-1)).toBe(1)
  })

  it('follows the events of a real server', () => {
    const reported: number[] = []
    const hear = createProgress([{ node: '3', steps: 2 }], (done) => reported.push(done))
    for (const event of recorded.events) hear(event as ServerEvent)
    expect(reported).toEqual([0.95 / 2, 0.95])
  })

  it('counts what the server had drawn before, and nothing of other nodes', () => {
    const reported: number[] = []
    const samplers = ['3', '13'].map((node) => ({ node, steps: 20 }))
    const hear = createProgress(samplers, (done) => reported.push(done))
    hear({ type: 'progress', data: { node: '9', value: 1, max: 2 } })
    hear({ type: 'progress', data: { node: '3', value: 1, max: 0 } })
    hear({ type: 'progress_state', data: { nodes: { '4': { value: 1, max: 1 }, '3': null } } })
    expect(reported).toEqual([])
    hear({ type: 'execution_cached', data: { nodes: ['4', '13'] } })
    hear({ type: 'progress_state', data: { nodes: { '3': { value: 10, max: 20 } } } })
    expect(reported).toEqual([0.95 / 2, (0.95 * 30) / 40])
  })

  it('weighs the passes of a workflow by their steps', () => {
    const reported: number[] = []
    const samplers = [
      { node: '3', steps: 20 },
      { node: '11', steps: 5 },
    ]
    const hear = createProgress(samplers, (done) => reported.push(done))
    hear({ type: 'progress', data: { node: '3', value: 20, max: 20 } })
    hear({ type: 'progress', data: { node: '11', value: 1, max: 5 } })
    expect(reported).toEqual([0.95 * 0.8, 0.95 * 0.84])
  })
})

it('spares the server all looks but that at the end, while they come', async () => {
  const { standIn, generate } = await givenBackend({ latencyMs: 1500 }, { pollIntervalMs: 500 })
  const looks = () => standIn.journal.filter(({ method, path }) => method === 'GET' && /^\/(queue|history)/.test(path))
  let before = -1
  const onProgress = (fraction: number) => {
    // A first look may come before the first event.
    if (before < 0 && fraction > 0.3) before = looks().length
  }
  await generate({ steps: 150 }, { onProgress })
  expect(looks().length - before).toBe(1)
})

describe('the news that all is drawn', () => {
  it('comes as soon as the server says that the prompt succeeded, before its history is read', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    const reads = () => given.standIn.journal.filter(({ path }) => path.startsWith('/history/')).length
    let readsBefore = -1
    await drawnWithEvents(given, {}, { onDrawn: () => (readsBefore = reads()) })
    expect(readsBefore).toBe(reads() - 1)
  })

  it('does not come for a prompt that failed', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ run: 'exception' })
    let told = 0
    await failureOf(generate({}, { onDrawn: () => told++ }))
    expect(told).toBe(0)
  })
})

describe('an image', () => {
  it('is fetched as soon as an event tells of it, and once', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    await drawnWithEvents(given, { seeds: [1, 2] })
    const asked = given.standIn.journal.map(({ path }) => path.split('/')[1]?.split('?')[0])
    expect(asked.filter((path) => path === 'view')).toHaveLength(2)
    expect(asked.indexOf('view')).toBeLessThan(asked.lastIndexOf('history', asked.indexOf('upload')))
  })

  it('that the history does not name is no longer fetched', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    given.standIn.set({ run: 'two_files', fault: 'hang', on: 'GET /view', times: 1 })
    await failureOf(drawnWithEvents(given))
    await until(() => given.standIn.hanging() === 0, 'no download')
  })

  it('is the one of the history where the event’s is not there', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    given.standIn.set({ fault: { status: 404 }, on: 'GET /view', times: 1 })
    expect((await drawnWithEvents(given)).images).toHaveLength(1)
  })
})

describe('previews', () => {
  it('come with the progress, as the bytes of an image', async () => {
    const shown: string[] = []
    const attemptId = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
    const onPreview = (image: Buffer) => shown.push(image.toString())
    await drawnWithEvents(await givenBackend({}, POLLS_NEVER), { attemptId, steps: 4 }, { onPreview })
    expect(shown.length).toBeGreaterThan(1)
    expect(new Set(shown)).toEqual(new Set([`a preview of ${attemptId}`]))
  })
})

describe.each(VERSIONS)('somebody else’s prompt on version %s', (version) => {
  it('that was sent without a client, so that all hear of it, gives neither previews nor progress', async () => {
    const { standIn, generate } = await givenBackend({ version })
    standIn.set({ held: true })
    const other = await givenPrompt(standIn.url, {}, { steps: 30 })
    const shown = new Set<string>()
    const [waits, progress]: [number[], number[]] = [[], []]
    const images = generate(
      { steps: 4, seeds: [43] },
      {
        onPreview: (image) => shown.add(image.toString()),
        onProgress: (done) => progress.push(done),
        onWaiting: (before) => waits.push(before),
      },
    )
    await until(() => waits.includes(1), 'its waiting')
    standIn.set({ held: 43 })
    await until(() => progress.length > 0, 'its own progress')
    standIn.set({ held: false })
    await images
    expect([...shown]).toEqual([expect.not.stringContaining(other)])
    expect(progress.at(-1)).toBe(1)
    // Of four steps, and not of thirty.
    for (const done of progress.slice(0, -1)) expect((done * 4) / 0.95).toBeCloseTo(Math.round((done * 4) / 0.95))
  })
})

describe('the end of a prompt', () => {
  it('is looked at as soon as an event tells of it', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    expect((await drawnWithEvents(given)).images).toHaveLength(1)
    expect(given.standIn.journal.filter(({ path }) => path === '/queue').length).toBeLessThan(3)
  })

  it.each(['refused', 'silent', 'dies'] as const)(
    'is found by looking where the events’ connection has the fault %s',
    async (socket) => {
      const { standIn, generate } = await givenBackend()
      standIn.set({ socket })
      const progress: number[] = []
      expect(await generate({ seeds: [1, 2] }, { onProgress: (done) => progress.push(done) })).toHaveLength(2)
      expect(progress.at(-1)).toBe(1)
      if (socket !== 'dies') expect(progress).toEqual([1])
    },
  )

  it('of another client is not taken for one’s own', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ held: true })
    const first = failureOf(generate())
    await until(() => standIn.queue().length === 1, 'the first prompt')
    const second = generate({ seeds: [2], steps: 200 })
    await until(() => standIn.queue().length === 2, 'both prompts')
    await fetch(`${standIn.url}/interrupt`, { method: 'POST' })
    standIn.set({ held: false })
    expect((await first).kind).toBe('backend_fault')
    expect(await second).toHaveLength(1)
  })
})

describe('the connection for events', () => {
  const connections = ({ journal }: ComfyuiStandIn) => journal.filter(({ path }) => path.startsWith('/ws?')).length

  it('is one for all prompts, and is let go of at the end', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    for (const seed of [1, 2, 3]) {
      const { progress } = await drawnWithEvents(given, { seeds: [seed] })
      expect(progress.length).toBeGreaterThan(2)
    }
    expect(connections(given.standIn)).toBe(1)
    expect(given.standIn.sockets()).toBe(1)
    await given.backend.close()
    await until(() => given.standIn.sockets() === 0, 'no WebSocket')
  })

  it('is opened anew for the next prompt where the server closed it', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    const { standIn, generate } = given
    await drawnWithEvents(given)
    const noticed = new Promise<void>((resolve) => {
      const onClose = (message: unknown) => {
        if ((message as { websocket: WebSocket }).websocket.url.includes(new URL(standIn.url).host)) resolve()
      }
      subscribe('undici:websocket:close', onClose)
      onTestFinished(() => void unsubscribe('undici:websocket:close', onClose))
    })
    standIn.cutSockets()
    await within(60_000, noticed, 'the loss of the connection')
    expect(await generate({ seeds: [2] })).toHaveLength(1)
    expect(connections(standIn)).toBe(2)
  })

  it('is opened anew for the next prompt where it was cut while the image before it was fetched', async () => {
    const given = await givenBackend({}, POLLS_NEVER)
    const { standIn } = given
    standIn.set({ fault: 'late', on: 'GET /view' })
    const first = drawnWithEvents(given, {}, { onDrawn: standIn.cutSockets })
    await until(() => standIn.journal.some(({ path }) => path.startsWith('/view')), 'the download')
    await until(() => standIn.sockets() === 0, 'no WebSocket')
    const second = given.generate({ seeds: [2] })
    await until(() => connections(standIn) === 2, 'another WebSocket')
    standIn.set({ fault: 'none' })
    expect((await first).images).toHaveLength(1)
    expect(await second).toHaveLength(1)
  })

  it('is replaced for the next prompt if it did not tell of the end', async () => {
    const given = await givenBackend()
    const { standIn } = given
    standIn.set({ socket: 'silent' })
    await given.generate()
    standIn.set({ socket: 'none' })
    const { progress } = await drawnWithEvents(given, { seeds: [2] })
    expect(progress.length).toBeGreaterThan(1)
    expect(connections(standIn)).toBe(2)
    await until(() => standIn.sockets() === 1, 'the first one being closed')
  })

  it('is tried again for each prompt where the server refuses it', async () => {
    const { standIn, generate } = await givenBackend()
    standIn.set({ socket: 'refused' })
    await generate()
    standIn.set({ socket: 'none' })
    await generate({ seeds: [2] })
    expect(standIn.sockets()).toBe(1)
  })

  it('is open again for the same client when it was cut amid a prompt', async () => {
    const standIn = await startComfyuiStandIn()
    onTestFinished(standIn.close)
    const heard: unknown[] = []
    const events = createServerEvents(parseServerUrl(standIn.inferenceUrl), 10)
    onTestFinished(events.close)
    const { tried, clientId } = events.follow(listener(({ data }) => heard.push(data.sid)))
    await tried
    await until(() => heard.length === 1, 'the first status')
    standIn.restart()
    await until(() => heard.length === 2, 'the second status')
    expect(heard).toEqual([clientId, clientId])
  })

  it('offers no compression, which costs more than it saves', async () => {
    const { standIn, generate } = await givenBackend()
    await generate()
    const opened = standIn.journal.find(({ path }) => path.startsWith('/ws'))
    expect(opened?.headers.upgrade).toBe('websocket')
    expect(opened?.headers).not.toHaveProperty('sec-websocket-extensions')
  })

  it('is not kept to a server that never answers the closing', async () => {
    const { address, sockets } = await givenMuteServer()
    const events = createServerEvents(address)
    await events.follow(listener()).tried
    const ended = endOf(sockets[0])
    events.close()
    await within(60_000, ended, 'the connection')
  })

  it('is replaced where the server closes it and never ends it', async () => {
    const { address, sockets } = await givenMuteServer()
    const events = createServerEvents(address)
    onTestFinished(events.close)
    const first = events.follow(listener())
    await first.tried
    first.end()
    const [answer] = await Promise.all([once(sockets[0] as Socket, 'data'), sockets[0]?.write(CLOSING_FRAME)])
    expect(answer[0][0]).toBe(CLOSING_FRAME[0])
    const ended = endOf(sockets[0])
    await events.follow(listener()).tried
    expect(sockets).toHaveLength(2)
    await within(60_000, ended, 'the first connection')
  })
})

const CLOSING_FRAME = Buffer.from([0x88, 0])

/** Opens WebSockets, and neither sends nor answers anything. */
async function givenMuteServer() {
  const sockets: Socket[] = []
  const server = createServer().on('upgrade', (request, socket: Socket) => {
    expect(request.url).toMatch(/^\/behind\/proxy\/ws\?clientId=/)
    acceptUpgrade(request, socket)
    sockets.push(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { address: parseServerUrl(`comfyui+http://127.0.0.1:${port}/behind/proxy`), sockets }
}

async function endOf(socket: Socket | undefined): Promise<void> {
  if (!socket) throw new Error('nobody connected')
  await once(socket.resume(), 'end')
}

/** Every end is heard of by events. */
const POLLS_NEVER = { pollIntervalMs: 1_000_000 }

/** Draws so that its events come before its end is looked up: it is held until the first progress. */
async function drawnWithEvents(
  { standIn, generate }: Awaited<ReturnType<typeof givenBackend>>,
  asked: Partial<InferenceRequest> = {},
  how: Partial<InferenceOptions> = {},
) {
  standIn.set({ held: true })
  const progress: number[] = []
  const images = generate(asked, { ...how, onProgress: (done) => progress.push(done) })
  await until(() => progress.length > 0, 'progress')
  standIn.set({ held: false })
  return { progress, images: await images }
}

const listener = (onEvent: (event: ServerEvent) => void = () => undefined) => ({ onEvent, onPreview: () => undefined })
