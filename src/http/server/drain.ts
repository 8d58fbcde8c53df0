import type { Socket } from 'node:net'
import { whenAborted } from '../../lib/abort-signals.js'
import type { App } from '../shared/fastify-app.js'

export interface Draining {
  /** Aborts when the server begins to stop; it still serves requests. */
  readonly begun: AbortSignal
  /** Aborts when the clients that still wait get their last answers. */
  readonly leaving: AbortSignal
}

/** A request may be on its way over a connection that was opened just before the port closed. */
const FIRST_REQUEST_MS = 1000
const LAST_ANSWERS_MS = 2000

/**
 * Ends the connections of a stopping server, none amid a request. Once the drain has begun, each answer is its
 * connection's last, so that clients change to another server. Node closes idle connections with the port, but would wait
 * forever for those that never sent a request (browsers open some in advance) and those that never finish one.
 */
export function endConnections(app: App, { begun, leaving }: Draining): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (begun.aborted) reply.header('connection', 'close')
    next(null, payload)
  })
  app.addHook('preClose', async () => {
    setTimeout(() => {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, FIRST_REQUEST_MS).unref()
    void whenAborted(leaving).then(() => setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS).unref())
  })
}
