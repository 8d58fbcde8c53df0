import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { App } from '../../../src/http/shared/fastify-app.js'
import { buildBareApp } from '../../support/bare-app.js'

/** Between two of the server's looks at requests that take too long. */
const LOOKS_MS = 100
const HEADERS = 'Host: easel.test\r\nConnection: close\r\nContent-Type: application/json\r\n'

let app: App
let sockets: Socket[]
beforeEach(async () => {
  app = await buildBareApp()
  // Read when it begins to listen.
  Object.assign(app.server, { connectionsCheckingInterval: LOOKS_MS })
  await app.listen({ port: 0, host: '127.0.0.1' })
  sockets = []
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await app.close()
})

function open(): Socket {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  sockets.push(socket)
  return socket
}

/**
 * As a process that is stopped, swapped out or short of CPU for longer than a request may take: it reads and answers
 * nothing meanwhile, and then looks first at what took too long.
 */
function stall(): void {
  // Node reads both anew at each look.
  app.server.headersTimeout = 1
  app.server.requestTimeout = 1
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * LOOKS_MS)
}

describe('a server that stood still', () => {
  it('serves a request that arrived meanwhile, although its time is over', async () => {
    const socket = open()
    await once(app.server, 'connection')
    socket.write(`GET /health HTTP/1.1\r\n${HEADERS}\r\n`)
    stall()
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('serves a request of which the rest arrived meanwhile', async () => {
    const socket = open()
    socket.write(`POST /v1/nothing HTTP/1.1\r\n${HEADERS}Content-Length: 2\r\n\r\n{`)
    await once(app.server, 'request')
    socket.write('}')
    stall()
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('refuses a request that stays incomplete with a 408, and ends a connection that nothing came from', async () => {
    const silent = open()
    const unfinished = open()
    unfinished.write(`POST /v1/nothing HTTP/1.1\r\n${HEADERS}Content-Length: 2\r\n\r\n`)
    await once(app.server, 'request')
    stall()
    expect(await Promise.all([text(silent), text(unfinished)])).toEqual([
      '',
      expect.stringMatching(/^HTTP\/1\.1 408 [\s\S]*\{"success":false,"error":/),
    ])
  })
})
