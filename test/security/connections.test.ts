import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase } from '../../src/db/client.js'
import type { ConnectionLimits } from '../../src/http/connections.js'
import { buildBareApp } from '../support/bare-app.js'
import { call } from '../support/client.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

const PROXY = '192.0.2.200'

/** Real connections, whose addresses alone are made up. */
async function givenServer(limits: ConnectionLimits) {
  let from = ''
  const app = await buildBareApp({ connections: limits, trustedProxies: ['192.0.2.200/31', '2001:db8:f::1'] })
  app.server.prependListener('connection', (socket: Socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: from }),
  )
  let atWork = 0
  app.get('/never', { config: { alwaysServed: true } }, () => {
    atWork++
    return new Promise(() => undefined)
  })
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  const sockets: Socket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await app.close()
  })

  return async (address: string) => {
    from = address
    const accepted = once(app.server, 'connection')
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    let received = ''
    socket.on('error', () => undefined).on('data', (chunk) => (received += chunk))
    const [atServer] = await accepted
    const send = (...paths: string[]) =>
      void socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: easel.test\r\n\r\n`).join(''))
    return {
      closed: () => until(() => socket.closed, 'the end of the connection'),
      /** The answer to a request, behind which others are sent at once; fails when the connection was closed. */
      async ask(...next: string[]) {
        received = ''
        send('/health', ...next)
        await until(() => received.endsWith('}') || socket.closed, 'an answer')
        expect(received).toMatch(/^HTTP\/1\.1 200 /)
        return received
      },
      /** Has a request at work from here on. */
      async occupy() {
        const before = atWork
        send('/never')
        await until(() => atWork > before, 'the request')
      },
      async leave() {
        socket.destroy()
        await until(() => atServer.closed, 'the end of the connection')
      },
    }
  }
}

const ONE = '192.0.2.1'
const OTHER = '192.0.2.2'

describe('connections', () => {
  it('of one address are limited: it gives up the longest idle one for a new one, and nobody else does', async () => {
    const open = await givenServer({ total: 100, perNetwork: 3 })
    const other = await open(OTHER)
    const [first, second, third] = [await open(ONE), await open(ONE), await open(ONE)]
    await first.ask()
    const fourth = await open(ONE)
    await second.closed()
    for (const each of [first, third, fourth, other]) await each.ask()
    await first.leave()
    const fifth = await open(ONE)
    for (const each of [third, fourth, fifth]) await each.ask()
  })

  it('of one /64 are those of one address, and its neighbour’s are not', async () => {
    const open = await givenServer({ total: 100, perNetwork: 1 })
    const neighbour = await open('2001:db8:0:2::1')
    const first = await open('2001:db8:0:1::1')
    const second = await open('2001:db8:0:1:ffff::2')
    await first.closed()
    for (const each of [second, neighbour]) await each.ask()
  })

  it('are not closed amid a request: a new one is, when there is no other', async () => {
    const open = await givenServer({ total: 100, perNetwork: 2 })
    const [first, second] = [await open(ONE), await open(ONE)]
    await first.occupy()
    // One of its two requests is answered.
    await second.ask('/never')
    const third = await open(ONE)
    await third.closed()
    for (const each of [first, second]) await each.occupy()
  })

  it('of a proxy are not limited', async () => {
    const open = await givenServer({ total: 8, perNetwork: 1 })
    const proxied = [await open(PROXY), await open('192.0.2.201'), await open('::ffff:192.0.2.200')]
    proxied.push(await open(PROXY), await open('2001:db8:f::1'), await open('2001:db8:f::1'))
    const [one, other] = [await open(ONE), await open(OTHER)]
    for (const each of [...proxied, one, other]) await each.ask()
    // All places are taken: whoever comes gets that of someone else.
    const another = await open(PROXY)
    await one.closed()
    for (const each of [...proxied, other, another]) await each.ask()
  })

  it('that fill all places leave one to whoever comes: the address with the most idle ones gives one up', async () => {
    const open = await givenServer({ total: 5, perNetwork: 3 })
    const single = await open(OTHER)
    const many = [await open(ONE), await open(ONE), await open(ONE)]
    const busy = await open('192.0.2.3')
    await busy.occupy()
    const late = await open('192.0.2.4')
    await many[0]?.closed()
    for (const each of [single, late, ...many.slice(1)]) await each.ask()
    await busy.occupy()
    await late.leave()
    const later = await open('192.0.2.5')
    for (const each of [single, later, ...many.slice(1)]) await each.ask()
  })

  it('may be idle for less when few places are left', async () => {
    const open = await givenServer({ total: 5, perNetwork: 5 })
    const timeout = async (address: string) =>
      /\r\nKeep-Alive: timeout=(\d+)\r\n/i.exec(await (await open(address)).ask())?.[1]
    const timeouts = []
    for (let n = 1; n <= 5; n++) timeouts.push(await timeout(`192.0.2.${n}`))
    expect(timeouts).toEqual(['65', '65', '65', '5', '5'])
  })
})

const COUNT = 5000
/** With SHOW_FIGURES it prints how much longer the answers took than without the crowd. */
const REQUESTS = process.env.SHOW_FIGURES ? 400 : 20

// The loopback network has more than one address on Linux alone.
describe.skipIf(process.platform !== 'linux')(`${COUNT} connections of one address`, () => {
  it('leave every other client its place, health checks and polls among them', async () => {
    const server = await startServerProcess({ RATE_LIMIT_MAX: '1000000' })
    const db = createDatabase(server.databaseUrl, { maxConnections: 2, onError: () => undefined })
    const sockets: Socket[] = []
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy()
      await db.pool.end()
      await server.stop()
    })
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    const times = async (path: string) => {
      const all: number[] = []
      while (all.length < REQUESTS) {
        const at = performance.now()
        // A connection of its own for each, as a new client has it.
        const headers = { connection: 'close' }
        expect((await call(server.url, 'GET', path, { key: owner.key, headers })).status).toBe(200)
        all.push(performance.now() - at)
      }
      return all.sort((a, b) => a - b)[all.length >> 1] as number
    }
    const measure = async () => ({
      poll: await times(`/api/v1/generate/${id}`),
      health: await times('/health'),
      ready: await times('/ready'),
    })
    await measure() // the process warms up
    const alone = await measure()
    for (let n = 0; n < COUNT; n++) {
      const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', localAddress: '127.0.0.2' })
      sockets.push(socket)
      socket.on('error', () => undefined).resume()
      socket.write('GET /health HTTP/1.1\r\nHost: easel.test\r\n\r\n')
      // No more at once than the port has room for.
      if (n % 100 === 0) await until(() => !socket.connecting, 'a connection')
    }
    const open = () => sockets.filter(({ closed }) => !closed)
    await until(() => open().length <= 1250, 'the end of those beyond')
    const crowded = await measure()
    if (process.env.SHOW_FIGURES)
      for (const kind of ['poll', 'health', 'ready'] as const)
        console.log(`${kind}: ${(crowded[kind] / alone[kind]).toFixed(2)} times the latency (median)`)
    expect(open().every(({ bytesRead }) => bytesRead > 0)).toBe(true)
    expect(open()).toHaveLength(1250)
  })
})
