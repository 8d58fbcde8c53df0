import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionLimits } from '../../src/http/connections.js'
import { buildBareApp } from '../support/bare-app.js'
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

  it('lets connections be idle for a shorter time while few places are left', async () => {
    const open = await givenServer({ total: 5, perNetwork: 5 })
    const timeout = async (address: string) =>
      /\r\nKeep-Alive: timeout=(\d+)\r\n/i.exec(await (await open(address)).ask())?.[1]
    const timeouts = []
    for (let n = 1; n <= 5; n++) timeouts.push(await timeout(`192.0.2.${n}`))
    expect(timeouts).toEqual(['65', '65', '65', '5', '5'])
  })
})
