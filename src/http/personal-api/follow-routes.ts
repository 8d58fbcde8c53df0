import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { invalidApiKey } from '../../errors.js'
import { type DurationEstimates, etaSeconds } from '../../generation/follow/eta.js'
import type { Following } from '../../generation/follow/follow.js'
import { hasEnded, type Polled, type PollPorts, pollGeneration, withProgress } from '../../generation/follow/poll.js'
import { waitForChange } from '../../generation/follow/wait.js'
import type { ImageStore } from '../../generation/image-store.js'
import { clientGone } from '../client-gone.js'
import { etagOf, isKnownTag } from '../etag.js'
import type { App } from '../fastify-app.js'
import { queryIntegerIfAny } from '../fields.js'
import type { Revocation } from '../revocation.js'
import { refusals } from './envelope.js'
import { generationParams } from './generate-routes.js'
import { polled, polledView } from './views.js'

export type FollowRoutePorts = PollPorts & {
  readonly following: Following
  readonly estimates: DurationEstimates
  readonly images: Pick<ImageStore, 'url'>
}

const MAX_WAIT_SECONDS = 30

// Other parameters are let pass, as they always were here.
const pollQuery = z.object({
  wait: queryIntegerIfAny('wait', 1, MAX_WAIT_SECONDS).describe(
    'Answer as soon as the status or the place changes, at the latest after so many seconds',
  ),
})
const pollHeaders = z.looseObject({
  'if-none-match': z.string().optional().describe('The `ETag` of the last answer: 304 while it would be the same'),
})

/** Spec 4.4, with headers that pace the client, and as a long poll. */
export function followRoutes(app: App, ports: FollowRoutePorts, leaving: AbortSignal, revocation: Revocation): void {
  const bodyOf = (generation: Polled) => polledView(generation, (slug) => ports.images.url(slug))

  app.get(
    '/generate/:id',
    {
      schema: {
        operationId: 'pollGeneration',
        tags: ['Generations'],
        summary: 'See how a generation is doing',
        description:
          'Poll until `status` is `succeeded` or `failed`. Until then `Retry-After` says when the next poll is worth it, ' +
          '`X-Eta-Seconds` when the end is to be expected, and `X-Progress` from 0 to 1 how much is drawn, each where that ' +
          'is known. With `wait` the answer comes as soon as there is something new; that counts as one request.',
        params: generationParams,
        querystring: pollQuery,
        headers: pollHeaders,
        response: {
          200: polled,
          304: z.null().describe('Nothing has changed since the answer with the `ETag` of `If-None-Match`'),
          ...refusals(400, 404),
        },
      },
    },
    async (request, reply) => {
      const { wait } = request.query
      const known = request.headers['if-none-match']
      const tagOf = (generation: Polled) => etagOf(JSON.stringify(bodyOf(generation)))
      let generation = await pollGeneration(ports, request.caller.account, request.params.id)
      const isNews = known !== undefined && !isKnownTag(known, tagOf(generation))
      if (wait !== undefined && !isNews && !hasEnded(generation)) {
        request.leavePlace?.()
        const revoked = revocation(request, reply)
        generation = await waitForChange(ports.following, generation, wait * 1000, [
          clientGone(request, reply),
          leaving,
          revoked,
        ])
        if (revoked.aborted) throw invalidApiKey()
        generation = await withProgress(ports, generation)
      }
      await pace(reply, ports.estimates, generation, wait !== undefined)
      const etag = tagOf(generation)
      reply.header('cache-control', 'no-store').header('etag', etag)
      if (isKnownTag(known, etag)) return reply.code(304).send(null)
      return reply.code(200).send(bodyOf(generation))
    },
  )
}

/** Where the end is not foreseeable: the spec's recommendation. */
const USUAL_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 5

/** Says how it stands and when the next poll is worth it. */
async function pace(
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
  // A client that waits again at once misses nothing; in a queue that moves fast that would use up its rate.
  const nextWait = generation.status === 'queued' ? USUAL_PAUSE_SECONDS : 1
  reply.header('retry-after', waited ? nextWait : Math.min(eta ?? USUAL_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
}
