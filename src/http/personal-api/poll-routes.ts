import type { FastifyReply, onRequestHookHandler } from 'fastify'
import { z } from 'zod'
import { invalidApiKey } from '../../errors.js'
import { cancelGeneration } from '../../generation/cancel.js'
import { CANCELED } from '../../generation/failure-reason.js'
import { etaSeconds } from '../../generation/follow/eta.js'
import {
  findOwned,
  hasEnded,
  type Polled,
  type PolledStatus,
  pollGeneration,
  withProgress,
} from '../../generation/follow/poll.js'
import { waitForChange } from '../../generation/follow/wait.js'
import { EXAMPLE, isKnown, notModified, sendTagged, taggedBody } from '../answers.js'
import type { KeyRevoked } from '../authentication.js'
import { clientGone } from '../connections.js'
import { personalRefusals } from '../error-bodies.js'
import type { App } from '../fastify-app.js'
import { idParams, queryInteger } from '../fields.js'
import type { PersonalApiPorts } from '../ports.js'

export const generationParams = idParams('The ID of the generation')
export const { id: generationId } = generationParams.shape

const polled = z
  .discriminatedUnion('status', [
    z.object({
      id: generationId,
      status: z.literal('queued'),
      queue_position: z.int().min(1).describe('1 for the next one up'),
    }),
    z.object({ id: generationId, status: z.literal('processing') }),
    z.object({
      id: generationId,
      status: z.literal('succeeded'),
      output: z.object({
        images: z.array(
          z.object({
            url: z.string().describe('Permanent and public'),
            id: z.string().describe('The slug: {base_url}/image/<id> shows the image'),
          }),
        ),
        seed: z.int().min(0),
      }),
    }),
    z.object({ id: generationId, status: z.literal('failed'), error: z.string().describe('One sentence') }),
  ])
  .meta({
    id: 'Generation',
    examples: [
      { id: EXAMPLE.generationId, status: 'queued', queue_position: 3 },
      { id: EXAMPLE.generationId, status: 'processing' },
      {
        id: EXAMPLE.generationId,
        status: 'succeeded',
        output: { images: [{ url: EXAMPLE.imageUrl, id: EXAMPLE.slug }], seed: EXAMPLE.seed },
      },
      { id: EXAMPLE.generationId, status: 'failed', error: 'Canceled.' },
    ],
  })

export function polledView(
  generation: Pick<Polled, 'id' | 'slugs' | 'seed' | 'error'> & PolledStatus,
  imageUrl: (slug: string) => string,
): z.output<typeof polled> {
  const { id, status, seed } = generation
  if (status === 'queued') return { id, status, queue_position: generation.queuePosition }
  if (status === 'processing') return { id, status }
  if (status === 'failed') return { id, status, error: generation.error ?? '' }
  return { id, status, output: { images: generation.slugs.map((slug) => ({ url: imageUrl(slug), id: slug })), seed } }
}

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
    wait: queryInteger('wait', { min: 1, max: MAX_WAIT_SECONDS })
      .optional()
      .describe('Answer as soon as the status or the place changes, at the latest after so many seconds'),
  }),
  headers: z.looseObject({
    'if-none-match': z.string().optional().describe('The `ETag` of the last answer: 304 while it would be the same'),
  }),
  response: { 200: polled, 304: notModified, ...personalRefusals(400, 404) },
}

const cancelGenerationSchema = {
  operationId: 'cancelGeneration',
  tags: ['Generations'],
  summary: 'Cancel a generation',
  description:
    'What has not ended fails with "Canceled.", all its credits are given back, and another one may be submitted ' +
    'at once. What has ended stays as it is. Answers like a poll, however often it is asked. No body is needed.',
  params: generationParams,
  response: { 200: polled, ...personalRefusals(404, 413) },
}

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
