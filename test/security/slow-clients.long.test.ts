import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { call } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const EACH_KIND = 500
const UPLOADS = 50

interface SlowClient {
  readonly socket: Socket
  received: string
  /** The server has ended it. */
  isClosed: boolean
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
let dripper: NodeJS.Timeout | undefined

beforeAll(async () => {
  server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' })
  db = patientDatabase(server.databaseUrl, 2)
  user = await givenUser(db)
})
afterAll(async () => {
  clearInterval(dripper)
  for (const { socket } of all()) socket.destroy()
  await db?.pool.end()
  await server?.stop()
})

/** Requests of a client that knows nothing of the slow ones, a few at a time. */
async function expectAnswers(count: number): Promise<void> {
  let asked = 0
  const ask = async () => {
    while (asked++ < count)
      expect((await call(server.url, 'GET', '/api/v1/account', { key: user.key })).status).toBe(200)
  }
  await Promise.all([ask(), ask(), ask()])
}

function open(first: string): SlowClient {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const client: SlowClient = { socket, received: '', isClosed: false }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    client.received += chunk
  })
  // A client that drips on has not noticed that the server has ended it.
  for (const event of ['end', 'close'] as const)
    socket.once(event, () => {
      client.isClosed = true
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

    await expectAnswers(150)
  })

  // routes.test.ts has the times: 10 s for whole headers, 15 s for a whole body.
  it('are all closed in the end', async () => {
    await until(() => all().every(({ isClosed }) => isClosed), 'the end of all of them')
  })

  it('get a 408 that says why, if they have sent a part of the headers', () => {
    for (const { received } of slow.dripping) {
      expect(received).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
      expect(received).toMatch(/\r\nConnection: close\r\n/)
      expect(received).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
      expect(received).toMatch(/\r\n\r\n\{"error":"The request did not arrive in time: send it again\."\}$/)
    }
  })

  it('get it in the shape of the interface that they send a body to', () => {
    const bodies = slow.uploading.map(({ received }) => JSON.parse(received.split('\r\n\r\n')[1] ?? ''))
    const sentence = 'The request did not arrive in time: send it again.'
    for (const [n, body] of bodies.entries()) {
      expect(body).toEqual(
        n % 2 === 0 ? { error: sentence } : { success: false, error: { code: 'invalid_parameter', message: sentence } },
      )
    }
    expect(bodies.length).toBeGreaterThan(1)
  })

  it('leave nothing behind: the server answers on, and nothing was charged', async () => {
    await expectAnswers(10)
    expect((await db.pool.query('SELECT 1 FROM generations')).rows).toEqual([])
    expect(server.readLog()).not.toMatch(/"level":[56]0(?!.*no mails can be sent through SMTP_URL)/)
  })
})
