import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { connectionLimits } from '../../src/http/server/connection-limits.js'
import { call } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const COUNT = 2500
/** Of one address, as the server has it. */
const LIMIT = 1250
const REQUESTS = 20

// The loopback network has more than one address on Linux alone.
it.skipIf(process.platform !== 'linux')(
  `${COUNT} connections of one address leave every other client a place: each request of theirs is answered`,
  async () => {
    const server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' })
    const db = patientDatabase(server.databaseUrl, 2)
    const sockets: Socket[] = []
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy()
      await db.pool.end()
      await server.stop()
    })
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    for (let n = 0; n < COUNT; n++) {
      const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', localAddress: '127.0.0.2' })
      sockets.push(socket)
      socket.on('error', () => undefined).resume()
      socket.write('GET /health HTTP/1.1\r\nHost: easel.test\r\n\r\n')
      // No more at once than the port has room for.
      if (n % 100 === 0) await until(() => !socket.connecting, 'a connection')
    }
    const open = () => sockets.filter(({ closed }) => !closed)
    await until(() => open().length <= LIMIT, 'the end of those beyond')
    for (const path of [`/api/v1/generate/${id}`, '/health', '/ready'])
      for (let n = 0; n < REQUESTS; n++) {
        // A connection of its own for each, as a new client has it.
        const headers = { connection: 'close' }
        expect(await call(server.url, 'GET', path, { key: owner.key, headers })).toMatchObject({ status: 200 })
      }
    expect(open().every(({ bytesRead }) => bytesRead > 0)).toBe(true)
    // Fewer only where the machine was so busy that some were idle for too long.
    expect(open().length).toBeGreaterThan(LIMIT / 2)
    expect(open().length).toBeLessThanOrEqual(LIMIT)
  },
)

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
/** For figures more; a busy machine takes seconds for each. */
const OTHERS = process.env.SHOW_FIGURES ? 60 : 10
const IMAGE = `${newSlug()}.png`
const AGAIN_AFTER_MS = 500
/** On a busy machine: thousands of connections, each with a key that Postgres is asked about. */
const timeout = 400_000

/** Connections that keep the server waiting, from several addresses; each that ends is opened again. */
async function attack(server: ServerProcess, each: number, bytes: string, reads: boolean) {
  const sockets = new Set<Socket>()
  let over = false
  const open = (localAddress: string) => {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', localAddress })
    sockets.add(socket)
    socket.on('error', () => undefined)
    // Who does not read does not see the end either.
    if (reads) socket.resume()
    socket.write(bytes)
    socket.once('close', () => {
      sockets.delete(socket)
      setTimeout(() => over || open(localAddress), AGAIN_AFTER_MS)
    })
    return socket
  }
  for (let n = 0; n < each; n++) {
    const opened = ADDRESSES.map(open)
    if (n % 25 === 0) await until(() => opened.every(({ connecting }) => !connecting), 'their connections')
  }
  return () => {
    over = true
    for (const socket of sockets) socket.destroy()
  }
}

describe.skipIf(process.platform !== 'linux')('four addresses that take all connections of a server', () => {
  it.each([
    ['say nothing', undefined, () => ''],
    ['send a part of the headers', undefined, () => 'GET /health HTTP/1.1\r\nHost: easel.test\r\nX-Slow: '],
    [
      'send a part of a body',
      undefined,
      (key: string) =>
        `POST /api/v1/generate HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ],
    // Each answer takes megabytes of the system, so with fewer connections.
    ['do not read an answer', 600, () => `GET /cdn/${IMAGE} HTTP/1.1\r\nHost: easel.test\r\n\r\n`],
  ])('leave every other client a place if they %s', { timeout }, async (kind, openFiles, bytes) => {
    const server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' }, openFiles)
    const db = patientDatabase(server.databaseUrl, 2)
    onTestFinished(async () => {
      await db.pool.end()
      await server.stop()
    })
    await writeFile(join(server.storagePath, IMAGE), Buffer.alloc(32 * 1024 * 1024))
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    const limits = connectionLimits(openFiles, { warn: () => undefined } as never)
    /** Connections of their own, as new clients have them. @returns how long they took, in ms, the shortest first */
    const serveOthers = async () => {
      const times: number[] = []
      while (times.length < OTHERS) {
        const at = performance.now()
        const headers = { connection: 'close' }
        const answer = await call(server.url, 'GET', `/api/v1/generate/${id}`, { key: owner.key, headers })
        expect(answer.status).toBe(200)
        times.push(performance.now() - at)
      }
      return times.sort((a, b) => a - b)
    }
    await serveOthers()
    const before = await serveOthers()
    const endAttack = await attack(server, limits.perNetwork, bytes(owner.key), openFiles === undefined)
    onTestFinished(endAttack)
    // What the system takes of their answers costs the more time, the more of them there are.
    const meanwhile = await serveOthers()
    const during = await serveOthers()
    // Not on a machine so busy that a body's time is over before all are there.
    const wasFull = server.readLog().includes('too many connections')
    const middle = (times: number[]) => `${times[OTHERS / 2]?.toFixed(1)} ms (90 %: ${times[OTHERS * 0.9]?.toFixed(1)})`
    if (process.env.SHOW_FIGURES)
      console.log(
        `4 × ${limits.perNetwork} connections that ${kind}: ${OTHERS} of ${OTHERS} others served in ${middle(during)}, ` +
          `while they came ${middle(meanwhile)}, before ${middle(before)}; ${wasFull ? 'full' : 'not full'}`,
      )
  })
})
