import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface SwitchableServer {
  readonly server: Server
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  /** How many connections are open. */
  readonly connections: () => number
  /** Cuts all connections. */
  readonly cut: () => void
  /** Stops listening and cuts all connections, until `accept`. */
  readonly refuse: () => Promise<void>
  readonly accept: () => Promise<void>
}

/** An HTTP server that can be away and come back on the same port. A request whose handling fails is cut off. */
export async function startSwitchableServer(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  wantedPort = 0,
): Promise<SwitchableServer> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }

  const port = await listen(wantedPort)
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    port,
    connections: () => sockets.size,
    cut,
    async refuse() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
    async accept() {
      if (!server.listening) await listen(port)
    },
  }
}
