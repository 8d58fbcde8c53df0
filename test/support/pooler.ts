/** A small pooler in front of Postgres, for what its clients notice when it shares connections. It keeps no prepared statements. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Pooler {
  /** The URL with the pooler's host and port in place of its own. */
  through(url: string): string
  close(): void
}

/** Of the protocol's message formats: ReadyForQuery, outside a transaction; and Terminate. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4])
/** Bytes: the kind of a message, and its length, which counts itself. */
const KIND = 1
const LENGTH = 4

/**
 * Each client logs in on a connection of its own. From then on, if it shares per transaction, a client's next transaction
 * gets the connection that was used last.
 */
export async function startPooler(target: string, shares: 'per transaction' | 'per session'): Promise<Pooler> {
  const { hostname, port: targetPort } = new URL(target)
  const sockets = new Set<Socket>()
  const idle: Socket[] = []
  const keep = (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    return socket
  }
  /** The client that has a connection of Postgres now, and the other way round. */
  const users = new Map<Socket, Socket>()
  const lent = new Map<Socket, Socket>()
  const lend = (client: Socket, upstream: Socket) => {
    users.set(upstream, client)
    lent.set(client, upstream)
    return upstream
  }

  const server = createServer((client) => {
    keep(client)
    const upstream = lend(client, keep(connect(Number(targetPort), hostname)))
    let rest = Buffer.alloc(0)
    upstream.on('data', (chunk) => {
      const user = users.get(upstream)
      user?.write(chunk)
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const end = rest.length < KIND + LENGTH ? Infinity : KIND + rest.readUInt32BE(KIND)
        if (rest.length < end) return
        const message = rest.subarray(0, end)
        rest = rest.subarray(end)
        if (shares === 'per session' || !message.equals(READY) || !user) continue
        lent.delete(user)
        users.delete(upstream)
        idle.push(upstream)
      }
    })
    client.on('data', (chunk) => {
      if (chunk.equals(TERMINATE)) return
      const own = lent.get(client) ?? idle.pop()
      if (own) lend(client, own).write(chunk)
      else client.destroy(new Error('more transactions at once than clients'))
    })
    client.on('close', () => lent.get(client)?.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
