import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type Database } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const EACH_KIND = 500
const UPLOADS = 50

interface SlowClient {
  readonly socket: Socket
  received: string
  /** Milliseconds from opening to the server's end of it. */
  closedAfter?: number
}

let server: ServerProcess
let db: Database
let user: GivenUser
const slow: { idle: SlowClient[]; dripping: SlowClient[]; uploading: SlowClient[] } = {
  idle: [],
  dripping: [],
  uploading: [],
}
const all = () => [...slow.idle, ...slow.dripping, ...slow.uploading]
const before: number[] = []
let dripper: NodeJS.Timeout | undefined

beforeAll(async () => {
  server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' })
  db = createDatabase(server.databaseUrl, { maxConnections: 2, onError: () => undefined })
  user = await givenUser(db)
  await timesOf(50) // the process warms up
  before.push(...(await timesOf(100)))
})
afterAll(async () => {
  clearInterval(dripper)
  for (const { socket } of all()) socket.destroy()
  await db?.pool.end()
  await server?.stop()
})

/** Polite requests, a few at a time; milliseconds each, sorted. */
async function timesOf(count: number): Promise<number[]> {
  const times: number[] = []
  const ask = async () => {
    while (times.length < count) {
      const at = performance.now()
      expect((await call(server.url, 'GET', '/api/v1/account', { key: user.key })).status).toBe(200)
      times.push(performance.now() - at)
    }
  }
  await Promise.all([ask(), ask(), ask()])
  return times.sort((a, b) => a - b)
}
const at = (times: readonly number[], part: number) => times[Math.floor(times.length * part)] ?? 0

function open(first: string): SlowClient {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const openedAt = performance.now()
  const client: SlowClient = { socket, received: '' }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    client.received += chunk
  })
  // A client that drips on has not noticed that the server has ended it.
  for (const event of ['end', 'close'] as const)
    socket.once(event, () => {
      client.closedAfter ??= performance.now() - openedAt
      socket.destroy()
    })
  socket.write(first)
  return client
}

describe('a thousand clients that never get to the end of a request', () => {
  it('keep nobody else from being served', async () => {
    const head = 'GET /api/v1/account HTTP/1.1\r\nHost: easel.test\r\nX-Slow: '
    const uploadTo = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${user.key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    for (let n = 0; n < EACH_KIND; n++) {
      slow.idle.push(open(''))
      slow.dripping.push(open(head))
      if (n < UPLOADS) slow.uploading.push(open(uploadTo(n % 2 === 0 ? '/api/v1/generate' : '/v1/images/generate')))
    }
    dripper = setInterval(() => {
      for (const { socket } of [...slow.dripping, ...slow.uploading]) if (socket.writable) socket.write('x')
    }, 1000)
    await until(() => all().every(({ socket }) => !socket.connecting), 'their connections')

    expect(all().filter(({ closedAfter }) => closedAfter !== undefined)).toEqual([])
    const meanwhile = await timesOf(150)
    if (process.env.SHOW_FIGURES) {
      const figures = (times: readonly number[]) =>
        `p50 ${at(times, 0.5).toFixed(1)} p99 ${at(times, 0.99).toFixed(1)} ms`
      console.log(
        `before ${figures(before)}; with ${all().length} slow ones ${figures(meanwhile)}; RSS ${await server.residentMiB()}`,
      )
    }
    // Their number alone costs next to nothing; the rest is for a busy machine.
    expect(at(meanwhile, 0.5)).toBeLessThan(10 * at(before, 0.5) + 50)
    expect(at(meanwhile, 0.99)).toBeLessThan(10 * at(before, 0.99) + 500)
  })

  it('are closed: after 10 s without whole headers, after 15 s without a whole body', async () => {
    await until(() => all().every(({ closedAfter }) => closedAfter !== undefined), 'the end of all of them', 45_000)
    const earliest = (clients: readonly SlowClient[]) => Math.min(...clients.map(({ closedAfter = 0 }) => closedAfter))
    expect(earliest(slow.idle)).toBeGreaterThan(9000)
    expect(earliest(slow.dripping)).toBeGreaterThan(9000)
    expect(earliest(slow.uploading)).toBeGreaterThan(14_000)
    if (process.env.SHOW_FIGURES)
      for (const [kind, clients] of Object.entries(slow) as [string, SlowClient[]][])
        console.log(
          `${kind}: closed after ${Math.max(...clients.map(({ closedAfter = 0 }) => closedAfter)).toFixed(0)} ms at the latest`,
        )
  })

  it('are told why, in the error shape', () => {
    for (const { received } of slow.dripping) {
      expect(received).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
      expect(received).toMatch(/\r\nConnection: close\r\n/)
      expect(received).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
      expect(received).toMatch(/\r\n\r\n\{"error":"The request did not arrive in time: send it again\."\}$/)
    }
  })

  it('are told so in the shape of the interface that they had begun to ask', () => {
    const bodies = slow.uploading.map(({ received }) => JSON.parse(received.split('\r\n\r\n')[1] ?? ''))
    const sentence = 'The request did not arrive in time: send it again.'
    for (const [n, body] of bodies.entries()) {
      expect(body).toEqual(
        n % 2 === 0 ? { error: sentence } : { success: false, error: { code: 'invalid_parameter', message: sentence } },
      )
    }
    expect(bodies.length).toBeGreaterThan(1)
  })

  it('leave nothing behind: the server is as quick as before, and nothing was charged', async () => {
    const after = await timesOf(100)
    expect(at(after, 0.5)).toBeLessThan(10 * at(before, 0.5) + 50)
    expect((await db.pool.query('SELECT 1 FROM generations')).rows).toEqual([])
    expect(server.readLog()).not.toMatch(/"level":[56]0/)
  })
})
