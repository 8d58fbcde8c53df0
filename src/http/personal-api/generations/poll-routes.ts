import type { FastifyReply, onRequestHookHandler } from 'fastify'
import { invalidApiKey } from '../../../core/errors.js'
import { cancelGeneration } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { etaSeconds } from '../../../core/generations/follow/eta.js'
import { waitForChange } from '../../../core/generations/follow/follow.js'
import {
  findOwned,
  hasEnded,
  type Polled,
  pollGeneration,
  withProgress,
} from '../../../core/generations/follow/poll.js'
import type { KeyRevoked } from '../../shared/authentication.js'
import type { App } from '../../shared/fastify-app.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { clientGone, isKnown, sendTagged, taggedBody } from '../../shared/responses.js'
import { cancelGenerationSchema, polledView, pollGenerationSchema } from './poll-schemas.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Read while the rate limit counts the request. */
    polled: Promise<Polled>
  }
}

/** Spec 4.4, also as a long poll; headers tell the client when to poll again. */
export function pollRoutes(app: App, ports: PersonalApiPorts, leaving: AbortSignal, keyRevoked: KeyRevoked): void {
  const bodyOf = (generation: Polled) => taggedBody(polledView(generation, ports.images.url))
  const readAhead: onRequestHookHandler = (request, _reply, next) => {
    request.polled = pollGeneration(ports, request.caller.account, (request.params as { id: string }).id)
    // The handler sees it, unless the request is refused first.
    request.polled.catch(() => undefined)
    next()
  }

  app.decorateRequest('polled', null as unknown as Promise<Polled>)
  app.get('/generate/:id', { schema: pollGenerationSchema, onRequest: readAhead }, async (request, reply) => {
    const { wait } = request.query
    let generation = await request.polled
    let body = bodyOf(generation)
    const isNews = request.headers['if-none-match'] !== undefined && !isKnown(request, body)
    if (wait !== undefined && !isNews && !hasEnded(generation)) {
      request.releaseSlot?.()
      const revoked = keyRevoked(request, reply)
      const signals = [clientGone(request, reply), leaving, revoked]
      generation = await waitForChange(ports.following, generation, wait * 1000, signals)
      if (revoked.aborted) throw invalidApiKey()
      generation = await withProgress(ports, generation)
      body = bodyOf(generation)
    }
    if (!hasEnded(generation))
      setPaceHeaders(reply, await etaSeconds(ports.estimates, generation), generation, wait !== undefined)
    return sendTagged(request, reply.header('cache-control', 'no-store'), body)
  })
}

/** As the spec recommends; used when the end cannot be estimated. */
const USUAL_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 5

/** Tells the expected end, the progress, and when to poll again: for what has not ended. */
function setPaceHeaders(reply: FastifyReply, eta: number | undefined, generation: Polled, waited: boolean): void {
  if (eta !== undefined) reply.header('x-eta-seconds', eta)
  if (generation.status === 'processing' && generation.progress !== undefined)
    reply.header('x-progress', generation.progress.toFixed(2))
  // A long poll could be repeated at once, but in a fast queue that would use up the client's rate limit.
  const nextWait = generation.status === 'queued' ? USUAL_PAUSE_SECONDS : 1
  reply.header('retry-after', waited ? nextWait : Math.min(eta ?? USUAL_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
}

/** Ends a generation for its owner. The scope drops bodies. */
export function cancelRoutes(app: App, ports: PersonalApiPorts): void {
  app.post('/generate/:id/cancel', { schema: cancelGenerationSchema }, async ({ caller, params }, reply) => {
    const before = await findOwned(ports, caller.account, params.id)
    if (!hasEnded(before)) await cancelGeneration(ports, params.id, CANCELED, { onlyQueued: false })
    const after = await pollGeneration(ports, caller.account, params.id)
    return reply.header('cache-control', 'no-store').send(polledView(after, ports.images.url))
  })
}
