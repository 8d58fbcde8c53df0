import { createConnection, createServer } from 'node:net'

/**
 * Whether a server that wants this address would find it taken. "localhost" may lead to ::1 as well, so a stranger
 * there would answer in our place; and on macOS a listener on all addresses doesn't keep others from binding one.
 */
export async function isTaken(host: string, port: number): Promise<boolean> {
  if ((await tryBind(host, port)) === 'EADDRINUSE') return true
  return (await Promise.all(['127.0.0.1', '::1'].map((address) => answers(address, port)))).includes(true)
}

/** A port that nobody has. Between this answer and its use another may take it. */
export async function freePort(host: string): Promise<number> {
  const port = await tryBind(host, 0)
  if (typeof port === 'number') return port
  throw new Error(`No port can be opened on ${host} (${port}): set HOST to an address of this machine.`)
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
    const done = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => done(true))
    socket.once('timeout', () => done(false))
    socket.once('error', () => done(false))
  })
