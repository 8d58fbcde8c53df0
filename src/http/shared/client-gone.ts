import type { FastifyReply, FastifyRequest } from 'fastify'

/** Aborts when the client has hung up; also once the answer is complete. */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  // The client has already hung up, so "close" does not come again.
  if (reply.raw.destroyed || request.raw.socket.destroyed) gone.abort()
  return gone.signal
}
