import type { Socket } from 'node:net'
import type { App } from './fastify-app.js'

export interface Draining {
  /** Aborts when the server begins to leave; it goes on serving. */
  readonly begun: AbortSignal
  /** Aborts when whoever still waits is sent away. */
  readonly leaving: AbortSignal
}

/** A request may be on its way over a connection that was opened just before the port closed. */
const FIRST_REQUEST_MS = 1000
/** For the answers to those who are sent away. */
const LAST_ANSWERS_MS = 2000

/**
 * Ends the connections of a server that leaves, none of them amid a request. Once the drain has begun each answer is
 * its connection's last, so that whoever keeps connections takes another one in time. With the port Node closes those
 * that are idle. Two kinds it would wait for without end: those that have never asked anything, as browsers open them
 * in advance, and those that never get to the end of a request.
 */
export function endConnections(app: App, { begun, leaving }: Draining): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('onSend', async (_request, reply) => {
    if (begun.aborted) reply.header('connection', 'close')
  })
  app.addHook('preClose', async () => {
    setTimeout(() => {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, FIRST_REQUEST_MS).unref()
    const cut = () => void setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS).unref()
    if (leaving.aborted) cut()
    else leaving.addEventListener('abort', cut, { once: true })
  })
}
