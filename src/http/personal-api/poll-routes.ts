import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { invalidApiKey } from '../../errors.js'
import { type DurationEstimates, etaSeconds } from '../../generation/follow/eta.js'
import type { Following } from '../../generation/follow/follow.js'
import { hasEnded, type Polled, type PollPorts, pollGeneration, withProgress } from '../../generation/follow/poll.js'
import { waitForChange } from '../../generation/follow/wait.js'
import type { ImageStore } from '../../generation/ports.js'
import { personalRefusals } from '../error-bodies.js'
import type { App } from '../fastify-app.js'
import { optionalQueryInteger } from '../query-fields.js'
import { etagOf, isKnownTag } from '../response-headers.js'
import { clientGone, type KeyRevoked } from '../wait-signals.js'
import { generationParams, polled, polledView } from './generation-schemas.js'

const MAX_WAIT_SECONDS = 30

const pollGenerationSchema = {
  operationId: 'pollGeneration',
  tags: ['Generations'],
  summary: 'See how a generation is doing',
  description:
    'Poll until `status` is `succeeded` or `failed`. Until then `Retry-After` says when the next poll is worth it, ' +
    '`X-Eta-Seconds` when the end is to be expected, and `X-Progress` from 0 to 1 how much is drawn, each where that ' +
    'is known. With `wait` the answer comes as soon as there is something new; that counts as one request.',
  params: generationParams,
  // Not strict: this query has always ignored other parameters.
  querystring: z.object({
    wait: optionalQueryInteger('wait', 1, MAX_WAIT_SECONDS).describe(
      'Answer as soon as the status or the place changes, at the latest after so many seconds',
    ),
  }),
  headers: z.looseObject({
    'if-none-match': z.string().optional().describe('The `ETag` of the last answer: 304 while it would be the same'),
  }),
  response: {
    200: polled,
    304: z.null().describe('Nothing has changed since the answer with the `ETag` of `If-None-Match`'),
    ...personalRefusals(400, 404),
  },
}

export interface PollRoutePorts extends PollPorts {
  readonly following: Following
  readonly estimates: DurationEstimates
  readonly images: Pick<ImageStore, 'url'>
}

/** Spec 4.4, also as a long poll; headers tell the client when to poll again. */
export function pollRoutes(app: App, ports: PollRoutePorts, leaving: AbortSignal, keyRevoked: KeyRevoked): void {
  const bodyOf = (generation: Polled) => polledView(generation, ports.images.url)

  app.get('/generate/:id', { schema: pollGenerationSchema }, async (request, reply) => {
    const { wait } = request.query
    const knownTag = request.headers['if-none-match']
    let generation = await pollGeneration(ports, request.caller.account, request.params.id)
    const isNews = knownTag !== undefined && !isKnownTag(knownTag, etagOf(bodyOf(generation)))
    if (wait !== undefined && !isNews && !hasEnded(generation)) {
      request.releaseSlot?.()
      const revoked = keyRevoked(request, reply)
      const signals = [clientGone(request, reply), leaving, revoked]
      generation = await waitForChange(ports.following, generation, wait * 1000, signals)
      if (revoked.aborted) throw invalidApiKey()
      generation = await withProgress(ports, generation)
    }
    await setPaceHeaders(reply, ports.estimates, generation, wait !== undefined)
    const body = bodyOf(generation)
    const etag = etagOf(body)
    reply.header('cache-control', 'no-store').header('etag', etag)
    return isKnownTag(knownTag, etag) ? reply.code(304).send(null) : reply.code(200).send(body)
  })
}

/** The pause that the spec recommends, for when the end cannot be foreseen. */
const USUAL_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 5

/** Tells the expected end, the progress, and when to poll again. */
async function setPaceHeaders(
  reply: FastifyReply,
  estimates: DurationEstimates,
  generation: Polled,
  waited: boolean,
): Promise<void> {
  if (hasEnded(generation)) return
  const eta = await etaSeconds(estimates, generation)
  if (eta !== undefined) reply.header('x-eta-seconds', eta)
  if (generation.status === 'processing' && generation.progress !== undefined)
    reply.header('x-progress', generation.progress.toFixed(2))
  // A long poll could be repeated at once, but in a fast queue that would use up the client's rate limit.
  const nextWait = generation.status === 'queued' ? USUAL_PAUSE_SECONDS : 1
  reply.header('retry-after', waited ? nextWait : Math.min(eta ?? USUAL_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
}
