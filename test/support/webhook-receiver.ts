/** What subscribers run to be told: a real HTTP server that keeps what it was sent. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { until } from './until.js'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came; the tests look at it
  readonly body: any
}

/** How a request is answered; a number is a status. */
export type Behaviour = number | 'hang' | ((response: ServerResponse) => void)

export interface Receiver {
  /** `http://127.0.0.1:port/hook` */
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  behaviour: Behaviour
  /** Resolves with the n-th request, counted from 1. */
  nth(n: number): Promise<Received>
}

/** Closed when the test ends. */
export async function givenReceiver(behaviour: Behaviour = 200): Promise<Receiver> {
  const received: Received[] = []
  const receiver = { behaviour }
  const server = createServer(async (request, response) => {
    const text = await readText(request).catch(() => '')
    const { method = '', url: path = '', headers } = request
    received.push({ method, path, headers, text, body: text && JSON.parse(text) })
    const how = receiver.behaviour
    if (typeof how === 'number') response.writeHead(how).end()
    else if (how !== 'hang') how(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const nth = (n: number) => until(() => received[n - 1], `request ${n} to the receiver`)
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/hook`, port, received, nth })
}
