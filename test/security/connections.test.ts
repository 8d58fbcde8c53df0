import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ConnectionLimits, connectionLimits } from '../../src/http/server/connection-limits.js'
import { buildBareApp } from '../support/bare-app.js'
import { until } from '../support/until.js'

const PROXY = '192.0.2.200'
/** More than the system takes for a client that does not read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024)

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
  app.post('/upload', { config: { alwaysServed: true } }, () => {
    throw new Error('no upload is finished')
  })
  app.get('/large', { config: { alwaysServed: true } }, async () => LARGE)
  const streams: ServerResponse[] = []
  app.get('/events', { config: { alwaysServed: true } }, (_request, reply) => {
    reply.hijack()
    streams.push(reply.raw.writeHead(200))
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
      /** Sends a part of a request's body from here on. */
      async upload() {
        const begun = once(app.server, 'request')
        socket.write(
          'POST /upload HTTP/1.1\r\nHost: easel.test\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
        )
        const [request] = await begun
        await until(() => request.readableFlowing && request.readableLength === 0, 'the body being read')
      },
      /** Begins with the head of a request. */
      async hesitate() {
        socket.write('GET /health HTTP/1.1\r\nHost:')
        await until(() => atServer.bytesRead > 0, 'the head')
      },
      /** Reads nothing of a large answer from here on. */
      async ignore() {
        socket.pause()
        send('/large')
        await until(() => atServer.writableLength > 0, 'an answer that is not read')
      },
      /** Follows a stream of events. @returns whether the next one arrives */
      async follow() {
        send('/events')
        const before = streams.length
        await until(() => streams.length > before, 'the stream')
        const stream = streams[before]
        return async () => {
          received = ''
          stream?.write('data: x\n\n')
          await until(() => received !== '' || socket.closed, 'an event')
          return received.includes('data: x')
        }
      },
      isOpen: () => !atServer.destroyed,
      async leave() {
        socket.destroy()
        await until(() => atServer.closed, 'the end of the connection')
      },
    }
  }
}

const ONE = '192.0.2.1'
const OTHER = '192.0.2.2'

describe('a server with a limit of connections', () => {
  it('closes the longest idle connection of an address that opens one too many, and nobody else’s', async () => {
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

  it('counts the addresses of one /64 as one, and those of the next /64 by themselves', async () => {
    const open = await givenServer({ total: 100, perNetwork: 1 })
    const neighbour = await open('2001:db8:0:2::1')
    const first = await open('2001:db8:0:1::1')
    const second = await open('2001:db8:0:1:ffff::2')
    await first.closed()
    for (const each of [second, neighbour]) await each.ask()
  })

  it('closes no connection amid a request, but the new one if there is no idle one', async () => {
    const open = await givenServer({ total: 100, perNetwork: 2 })
    const [first, second] = [await open(ONE), await open(ONE)]
    await first.occupy()
    // One of its two requests is answered.
    await second.ask('/never')
    const third = await open(ONE)
    await third.closed()
    for (const each of [first, second]) await each.occupy()
  })

  it('closes no connection of a trusted proxy', async () => {
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

  it('closes one of the address with the most idle connections if all places are taken', async () => {
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

  it.each([
    ['has not sent a whole body', 'upload'],
    ['has not sent whole headers', 'hesitate'],
    ['does not read an answer', 'ignore'],
  ] as const)('closes the connection of who %s for longest if all places are taken', async (_who, wait) => {
    const open = await givenServer({ total: 6, perNetwork: 5 })
    const lateOne = async () => {
      const late = await open('192.0.2.4')
      await late.occupy()
    }
    const [poller, follower] = [await open(ONE), await open(ONE)]
    await poller.occupy()
    const nextEvent = await follower.follow()
    const [first, second, other] = [await open(ONE), await open(ONE), await open(OTHER)]
    for (const each of [other, first, second]) await each[wait]()
    await lateOne()
    expect(first.isOpen()).toBe(true)
    // Of the address with the most connections.
    await lateOne()
    expect([first, second, other].map((each) => each.isOpen())).toEqual([false, true, true])
    await lateOne()
    await lateOne()
    expect([second, other].map((each) => each.isOpen())).toEqual([false, false])
    // Nobody else keeps the server waiting.
    await (await open('192.0.2.5')).closed()
    expect([poller.isOpen(), await nextEvent()]).toEqual([true, true])
  })

  it('keeps the last places for addresses with few connections, even while all clients wait for an answer', async () => {
    const open = await givenServer({ total: 40, perNetwork: 30 })
    for (const address of [ONE, OTHER]) for (let n = 0; n < 19; n++) await (await open(address)).occupy()
    for (const address of [ONE, OTHER]) {
      const many = await open(address)
      await Promise.race([many.occupy(), many.closed()])
      expect(many.isOpen()).toBe(false)
    }
    for (const address of ['192.0.2.3', '192.0.2.4']) await (await open(address)).ask()
  })

  it('closes no connection of an address with few for one that has many', async () => {
    const open = await givenServer({ total: 12, perNetwork: 12 })
    const other = await open(OTHER)
    for (let n = 0; n < 11; n++) await (await open(ONE)).occupy()
    await (await open(ONE)).closed()
    await other.ask()
  })

  it('closes the connection of who keeps it waiting if an address opens one too many', async () => {
    const open = await givenServer({ total: 100, perNetwork: 3 })
    const [poller, slow, both] = [await open(ONE), await open(ONE), await open(ONE)]
    await poller.occupy()
    // Its first request waits for an answer.
    await both.occupy()
    await both.upload()
    await slow.upload()
    const next = await open(ONE)
    await slow.closed()
    await next.occupy()
    await (await open(ONE)).closed()
    expect([poller, both, next].map((each) => each.isOpen())).toEqual([true, true, true])
  })

  it('closes a connection of a trusted proxy if its client keeps the server waiting, and nobody else has one to lose', async () => {
    const open = await givenServer({ total: 4, perNetwork: 2 })
    const [idle, polling, slow, one] = [await open(PROXY), await open(PROXY), await open(PROXY), await open(ONE)]
    await polling.occupy()
    await slow.upload()
    await one.upload()
    const late = await open(OTHER)
    await one.closed()
    await late.occupy()
    const later = await open(OTHER)
    await slow.closed()
    await later.occupy()
    await (await open('192.0.2.3')).closed()
    await idle.ask()
    expect(polling.isOpen()).toBe(true)
  })

  it('lets connections be idle for a shorter time while few places are left', async () => {
    const open = await givenServer({ total: 5, perNetwork: 5 })
    const timeout = async (address: string) =>
      /\r\nKeep-Alive: timeout=(\d+)\r\n/i.exec(await (await open(address)).ask())?.[1]
    const timeouts = []
    for (let n = 1; n <= 5; n++) timeouts.push(await timeout(`192.0.2.${n}`))
    expect(timeouts).toEqual(['65', '65', '65', '5', '5'])
  })
})

describe('the limits of connections', () => {
  const limitsOf = (openFiles: number | undefined) => {
    const warnings: [object, string][] = []
    const log = {
      info: () => undefined,
      warn: (...given: [object, string]) => warnings.push(given),
      error: () => undefined,
    }
    return { limits: connectionLimits(openFiles, log), warnings }
  }
  const USUAL = { total: 5000, perNetwork: 1250 }

  it.each([undefined, 10_100, 1_048_576])('are the usual ones where a process may open %s files', (openFiles) => {
    expect(limitsOf(openFiles)).toEqual({ limits: USUAL, warnings: [] })
  })

  it.each([
    [10_099, 4999, 1250],
    [1024, 462, 116],
    [256, 78, 20],
    [64, 1, 1],
  ])('leave files for everything else where a process may open %i, and say so', (openFiles, total, perNetwork) => {
    const { limits, warnings } = limitsOf(openFiles)
    expect(limits).toEqual({ total, perNetwork })
    expect(warnings).toEqual([
      [{ openFiles, total, perNetwork }, expect.stringMatching(/open 10100 files \(ulimit -n/)],
    ])
  })
})
