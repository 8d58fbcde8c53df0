import { randomInt } from 'node:crypto'
import { createConnection, createServer } from 'node:net'

/**
 * Whether another program listens on this address. Also tries to connect: "localhost" may resolve to ::1, where another
 * server would answer instead of ours, and on macOS one address can be bound despite a listener on all.
 */
export async function isTaken(host: string, port: number): Promise<boolean> {
  if ((await tryBind(host, port)) === 'EADDRINUSE') return true
  return (await Promise.all(['127.0.0.1', '::1'].map((address) => answers(address, port)))).includes(true)
}

/** Before the system chooses. */
const RANDOM_PORTS = 20

/**
 * The wished port if it is free, else any free one. It is below the range from which systems choose the ports of outgoing
 * connections, if possible: from there it could be taken before it is used. Another program may take it all the same.
 */
export async function freePort(host: string, wished = 0): Promise<number> {
  const others = Array.from({ length: RANDOM_PORTS }, () => randomInt(15_000, 32_000))
  let bound: number | string = ''
  for (const port of [...(wished === 0 ? [] : [wished]), ...others, 0]) {
    bound = await tryBind(host, port)
    if (typeof bound === 'number') return bound
  }
  throw new Error(`No port can be opened on ${host} (${bound}): set HOST to an address of this machine.`)
}

/** The port that was bound, or the code of the error. */
function tryBind(host: string, port: number): Promise<number | string> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 1000 })
    for (const event of ['connect', 'timeout', 'error']) {
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
    }
  })
