/** A pooler as far as its clients see it at their login: it tells them a process ID of its own. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Pooler {
  /** The URL with the pooler's host and port in place of its own. */
  through(url: string): string
  close(): void
}

/** BackendKeyData, of the protocol's message formats: after it, the process ID in four bytes. */
const KEY_DATA = 'K'.charCodeAt(0)
/** Bytes: the kind of a message. Its length follows, which counts itself. */
const KIND = 1

/** Each client gets a connection of its own, as with a pooler that shares per session. */
export async function startPooler(target: string): Promise<Pooler> {
  const { hostname, port: targetPort } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        for (const other of [client, upstream]) other.destroy()
      })
    }
    client.pipe(upstream)
    let rest = Buffer.alloc(0)
    const untilKey = (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const length = rest.length < KIND + 4 ? Infinity : KIND + rest.readUInt32BE(KIND)
        if (rest.length < length) return
        const message = rest.subarray(0, length)
        rest = rest.subarray(length)
        const isKey = message[0] === KEY_DATA
        if (isKey) message.writeUInt32BE(message.readUInt32BE(KIND + 4) + 1, KIND + 4)
        client.write(message)
        if (!isKey) continue
        upstream.off('data', untilKey)
        client.write(rest)
        upstream.pipe(client)
        return
      }
    }
    upstream.on('data', untilKey)
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
