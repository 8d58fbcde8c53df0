import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface FaultProxy {
  /** The URL with the proxy's host and port in place of its own. */
  through(url: string): string
  /** Connections are made and data passes: how it starts. */
  pass(): Promise<void>
  /** Connections are cut and no new ones accepted, as when the server's process has ended. */
  refuse(): Promise<void>
  /** Connections stay open and are made, but nothing arrives any more, as when the server hangs. */
  stall(): void
  /** Nothing arrives any more on the connections that are open, and new ones pass, as when another machine has taken the name over. */
  abandon(): void
  /** The event streams that are open stay so, but nothing arrives any more, as after sleep; all else passes. */
  silenceStreams(): void
  close(): Promise<void>
}

/** A TCP proxy on loopback that stands between Easel and a server, and can take it away. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port: targetPort } = new URL(target)
  const pairs = new Set<readonly [Socket, Socket]>()
  let stalled = false

  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname)
    const pair = [client, upstream] as const
    pairs.add(pair)
    for (const socket of pair) {
      socket.setNoDelay(true)
      // Whatever ends one side ends the other.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        for (const other of pair) other.destroy()
      })
    }
    if (!stalled) flow(pair)
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)

  const refuse = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const pair of pairs) for (const socket of pair) socket.destroy()
    await closed
  }
  const unpipe = (some: Iterable<readonly [Socket, Socket]>) => {
    for (const [client, upstream] of some) {
      client.unpipe(upstream)
      upstream.unpipe(client)
    }
  }
  return {
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    async pass() {
      if (!server.listening) await listen(port)
      if (stalled) for (const pair of pairs) flow(pair)
      stalled = false
    },
    refuse,
    stall() {
      stalled = true
      unpipe(pairs)
    },
    abandon: () => unpipe(pairs),
    silenceStreams: () => unpipe([...pairs].filter(([, upstream]) => streaming.has(upstream))),
    close: refuse,
  }
}

/** To the server, of those that an event stream has come on. */
const streaming = new WeakSet<Socket>()

function flow([client, upstream]: readonly [Socket, Socket]): void {
  upstream.on('data', (data) => {
    if (data.includes('content-type: text/event-stream')) streaming.add(upstream)
  })
  client.pipe(upstream)
  upstream.pipe(client)
}
