/** A stand-in for a server: says nothing of how Easel answers, only what a test has it answer, and when. */
import { vi } from 'vitest'
import { createEasel, type Easel } from '../../src/client/easel-client.js'

export interface Asked {
  readonly what: 'submit' | 'poll' | 'events' | 'cancel'
  /** Of the clock that `pass` moves. */
  readonly atMs: number
}

type Answer = (request: Request, asked: Asked) => Promise<Response> | Response

export interface ScriptedServer {
  readonly easel: Easel
  readonly asked: Asked[]
}

export const ID = 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x'

export function scriptedServer(answers: Readonly<Record<Asked['what'], Answer>>): ScriptedServer {
  const asked: Asked[] = []
  const began = performance.now()
  const fetch = async (request: Request): Promise<Response> => {
    const one = { what: whatIs(request), atMs: Math.round(performance.now() - began) }
    asked.push(one)
    return answers[one.what](request, one)
  }
  return { easel: createEasel({ baseUrl: 'http://easel.test', apiKey: 'easel_x', fetch }), asked }
}

function whatIs({ method, url }: Request): Asked['what'] {
  if (url.endsWith('/events')) return 'events'
  if (url.endsWith('/cancel')) return 'cancel'
  return method === 'POST' ? 'submit' : 'poll'
}

export const json = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

export const submitted = () => json(201, { id: ID, status: 'queued', credits_charged: 1, seed: 1 })

export const succeeded = {
  id: ID,
  status: 'succeeded',
  output: { images: [{ id: 'slug', url: 'http://easel.test/cdn/slug.png' }], seed: 1 },
}

/** As a connection that nothing comes on any more: it ends when it is given up. */
export const stall = (request: Request): Promise<never> =>
  new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)))

/** An event stream; what is sent before it is asked for is not lost. */
export function eventStream(): {
  readonly answer: (request: Request) => Response
  send(event: string, data: object): void
  raw(text: string): void
  end(): void
  readonly canceled: () => boolean
} {
  let canceled = false
  let to!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      to = controller
    },
    cancel() {
      canceled = true
    },
  })
  const raw = (text: string) => to.enqueue(new TextEncoder().encode(text))
  return {
    answer: ({ signal }) => {
      signal.addEventListener('abort', () => to.error(signal.reason))
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
    send: (event, data) => raw(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    raw,
    end: () => to.close(),
    canceled: () => canceled,
  }
}

export const fakeClock = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })

/** Moves the fake clock, and lets streams have their say in between. */
export async function pass(ms: number, stepMs = 250): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(Math.min(stepMs, ms - passed))
  }
  await new Promise((resolve) => setImmediate(resolve))
}
