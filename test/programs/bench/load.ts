/**
 * The load generator, a process of its own: sends prepared requests over a fixed number of connections, each waiting for
 * its answer before the next, for a fixed time. It reads no more of an answer than its status and length, so that it
 * takes little of the CPU that it shares with what it measures.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { percentile } from './figures.js'

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface LoadOptions {
  readonly url: string
  readonly requests: readonly LoadRequest[]
  readonly connections: number
  readonly seconds: number
  readonly status: number
  /** Go through the requests once at most; where that ends early, so does the load. */
  readonly once?: boolean
}

export interface Load {
  readonly answered: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

type Report = { readonly load: Load } | { readonly error: string }

const HEAD_END = Buffer.from('\r\n\r\n')

/** What is on the wire, keep-alive. */
const encoded = (host: string, { method, path, headers, body = '' }: LoadRequest): Buffer =>
  Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}${body && `content-length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`,
  )

/** @throws Error when an answer has another status than expected */
async function run({ url, requests, connections, seconds, status, once: once_ = false }: LoadOptions): Promise<Load> {
  const { host, hostname, port } = new URL(url)
  const wire = requests.map((request) => encoded(host, request))
  const times: number[] = []
  let sent = 0
  const begun = performance.now()
  const end = begun + seconds * 1000
  const isOver = () => performance.now() >= end || (once_ && sent >= wire.length)
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let at = 0
      let head = Buffer.alloc(0)
      /** Of the body, once the head is known. */
      let missing: number | undefined
      const next = () => {
        if (isOver()) {
          socket.destroy()
          return resolve()
        }
        at = performance.now()
        socket.write(wire[sent++ % wire.length] as Buffer)
      }
      socket.on('connect', next).on('error', reject)
      socket.on('data', (data) => {
        if (missing === undefined) {
          head = head.length === 0 ? data : Buffer.concat([head, data])
          const headEnd = head.indexOf(HEAD_END)
          if (headEnd < 0) return
          const text = head.toString('latin1', 0, headEnd)
          const got = Number(text.slice(9, 12))
          if (got !== status) {
            socket.destroy()
            return reject(new Error(`expected ${status}, got:\n${head}`))
          }
          const length = got === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
          missing = length - (head.length - headEnd - HEAD_END.length)
        } else missing -= data.length
        if (missing > 0) return
        times.push(performance.now() - at)
        head = Buffer.alloc(0)
        missing = undefined
        next()
      })
    })
  await Promise.all(Array.from({ length: Math.min(connections, requests.length) }, client))
  const took = (performance.now() - begun) / 1000
  return { answered: times.length, seconds: took, p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

/** Starts the process; its `load` resolves once a load is over. */
export function startLoadGenerator() {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['generate'], { serialization: 'advanced' })
  return {
    async load(options: LoadOptions): Promise<Load> {
      child.send(options)
      const [report] = (await once(child, 'message')) as [Report]
      if ('error' in report) throw new Error(report.error)
      return report.load
    },
    stop: () => void child.kill('SIGKILL'),
  }
}

if (process.argv[2] === 'generate') {
  process.on('disconnect', () => process.exit())
  process.on('message', (options: LoadOptions) => {
    run(options).then(
      (load) => process.send?.({ load } satisfies Report),
      (error: Error) => process.send?.({ error: error.message } satisfies Report),
    )
  })
}
