import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientGone } from './client-gone.js'
import type { App } from './fastify-app.js'
import type { LookUp } from './look-ups.js'

/** What a revoked key still opens is closed within 5 s; a look takes its time, too. */
const LOOK_EVERY_MS = 2000

/** Aborts when the key of a request opens nothing any more; for as long as the request is not answered to its end. */
export type Revocation = (request: FastifyRequest, reply: FastifyReply) => AbortSignal

/** Looks the keys of all that go on listening up again, since authentication saw them only once. */
export function watchRevocations(app: App, lookUp: LookUp): Revocation {
  const open = new Map<AbortController, Buffer>()
  const looks = setInterval(() => {
    for (const [revoked, keyHash] of open)
      lookUp(keyHash).then(
        (caller) => {
          if (!caller || caller.account.deleted) revoked.abort()
        },
        // Looked up again next time.
        () => undefined,
      )
  }, LOOK_EVERY_MS).unref()
  app.addHook('preClose', async () => clearInterval(looks))

  return (request, reply) => {
    const revoked = new AbortController()
    const gone = clientGone(request, reply)
    if (!gone.aborted) open.set(revoked, request.keyHash)
    gone.addEventListener('abort', () => open.delete(revoked))
    return revoked.signal
  }
}
