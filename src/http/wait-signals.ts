/** What ends a client's wait or stream before its time: the client hangs up, or its key is revoked. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FindCaller } from './authentication.js'
import type { App } from './fastify-app.js'

/** Aborts when the client has hung up; also once the answer is complete. */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  // The client has already hung up, so "close" does not come again.
  if (reply.raw.destroyed || request.raw.socket.destroyed) gone.abort()
  return gone.signal
}

/** A revoked key may keep a stream open for 5 s at most; the look-up takes part of that. */
const LOOK_UP_EVERY_MS = 2000

/** Aborts when the key of a request is revoked, until the request is answered. */
export type KeyRevoked = (request: FastifyRequest, reply: FastifyReply) => AbortSignal

/** Authentication sees a key only once, so the keys of open streams and waits are looked up again and again. */
export function watchRevocations(app: App, findCaller: FindCaller): KeyRevoked {
  const open = new Map<AbortController, Buffer>()
  const timer = setInterval(() => {
    for (const [revoked, keyHash] of open)
      findCaller(keyHash).then(
        (caller) => {
          if (!caller || caller.account.deleted) revoked.abort()
        },
        // The next look-up tries again.
        () => undefined,
      )
  }, LOOK_UP_EVERY_MS).unref()
  app.addHook('preClose', async () => clearInterval(timer))

  return (request, reply) => {
    const revoked = new AbortController()
    const gone = clientGone(request, reply)
    if (!gone.aborted) open.set(revoked, request.keyHash)
    gone.addEventListener('abort', () => open.delete(revoked))
    return revoked.signal
  }
}
