import type { FastifyReply, FastifyRequest } from 'fastify'

/** Aborts when the client has left; also after a complete answer, when nobody waits any more. */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  // It has left already: there is no "close" to come.
  if (reply.raw.destroyed || request.raw.socket.destroyed) gone.abort()
  return gone.signal
}
