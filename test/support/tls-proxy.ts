import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type TLSSocketOptions } from 'node:tls'

export interface TlsProxy {
  /** The URL with the proxy's host and port in place of its own. */
  through(url: string): string
  /** Shows this from now on, and cuts the connections that are open. */
  show(options: TLSSocketOptions): void
  close(): void
}

/** What a client of Postgres sends before its TLS begins. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Ends TLS before a Postgres or a Redis that has none. Like Postgres, it takes TLS after a client has asked for it. */
export async function startTlsProxy(target: string, shown: TLSSocketOptions): Promise<TlsProxy> {
  const { protocol, hostname, port: targetPort } = new URL(target)
  const asked = protocol.startsWith('postgres')
  const sockets = new Set<Socket>()
  let options = shown
  const keep = (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    return socket
  }
  const secure = (raw: Socket) => {
    const client = keep(new TLSSocket(raw, { isServer: true, ...options, secureContext: createSecureContext(options) }))
    client.once('secure', () => {
      const upstream = keep(connect(Number(targetPort), hostname))
      client.pipe(upstream).pipe(client)
      upstream.once('close', () => client.destroy())
      client.once('close', () => upstream.destroy())
    })
  }
  const server = createServer((raw) => {
    keep(raw)
    if (!asked) return secure(raw)
    raw.once('data', (first) => {
      if (!first.equals(SSL_REQUEST)) return raw.destroy()
      raw.write('S')
      secure(raw)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    show(next) {
      options = next
      cut()
    },
    close() {
      server.close()
      cut()
    },
  }
}
