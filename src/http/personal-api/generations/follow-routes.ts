import type { FastifyReply, onRequestHookHandler } from 'fastify'
import { z } from 'zod'
import { invalidApiKey } from '../../../core/errors.js'
import { cancelGeneration } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { etaSeconds } from '../../../core/generations/follow/eta.js'
import { type Change, waitForChange } from '../../../core/generations/follow/follow.js'
import {
  findOwned,
  hasEnded,
  type Polled,
  pollGeneration,
  withProgress,
} from '../../../core/generations/follow/poll.js'
import type { KeyRevoked } from '../../shared/authentication.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import { isKnown, sendTagged, taggedBody } from '../../shared/etag.js'
import type { App } from '../../shared/fastify-app.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { clientGone } from '../../shared/responses.js'
import { createEventStreams, type EventStream, type StreamTimes, sendEvents } from '../../shared/server-sent-events.js'
import { cancelGenerationSchema, generationParams, polledView, pollGenerationSchema } from './poll-schemas.js'

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

const events = z.string().meta({
  id: 'GenerationEvents',
  description:
    '`status`: the body of a poll, at the start and whenever the status changes. `queue_position`: ' +
    '`{"queue_position"}`. `progress`: `{"progress"}`, 0 to 1. `preview`: `{"image"}`, a data URI of at most 24 KiB, ' +
    'where the GPU server shows what it draws. `end`: the body of the last poll; the stream is over.',
  examples: ['event: status\ndata: {"id":"gen_4c6t8w2r5y1k9m3n7p0q6s2v8x","status":"queued","queue_position":3}\n\n'],
})

const streamGenerationEventsSchema = {
  operationId: 'streamGenerationEvents',
  tags: ['Generations'],
  summary: 'Follow a generation live',
  description:
    'Server-sent events: first how it stands, then each change, a comment every 15 s, and at last `end`. Nothing ' +
    'is repeated: after a broken connection reconnect. A stream counts as one request; 8 may be open at once.',
  params: generationParams,
  response: {
    200: { description: 'The events', content: { 'text/event-stream': { schema: events } } },
    ...personalRefusals(404),
  },
}

/** Status, place in the queue, progress and previews of one generation, as server-sent events. */
export function eventRoutes(app: App, ports: PersonalApiPorts, keyRevoked: KeyRevoked, times?: StreamTimes): void {
  const bodyOf = (generation: Polled) => polledView(generation, ports.images.url)
  const streams = createEventStreams(times)
  app.addHook('preClose', async () => streams.endAll())

  const sendState = (stream: EventStream, now: Polled): void => {
    if (hasEnded(now)) stream.end({ event: 'end', data: bodyOf(now) })
    else stream.send('status', bodyOf(now))
  }

  const sendChange = (stream: EventStream, change: Change): void => {
    if (change.kind === 'preview') stream.sendLatest('preview', { image: dataUri(change.image) })
    else if (change.kind === 'status' || hasEnded(change.now)) sendState(stream, change.now)
    else if (change.now.status === 'queued')
      stream.sendLatest('queue_position', { queue_position: change.now.queuePosition })
    else sendProgress(stream, change.now)
  }

  const options = { exposeHeadRoute: false, schema: streamGenerationEventsSchema }
  app.get('/generate/:id/events', options, async (request, reply) => {
    const { account } = request.caller
    const stream = streams.open(account.id)
    try {
      const current = await pollGeneration(ports, account, request.params.id)
      sendState(stream, current)
      sendProgress(stream, current)
      const follow = () => ports.following.follow(current, true, (change) => sendChange(stream, change))
      if (!hasEnded(current)) stream.once('close', follow())
    } catch (error) {
      stream.destroy()
      throw error
    }
    keyRevoked(request, reply).addEventListener('abort', () => stream.end('the key of this stream was revoked'))
    return sendEvents(reply, stream)
  })
}

function sendProgress(stream: EventStream, generation: Polled): void {
  if (generation.status === 'processing' && generation.progress !== undefined)
    stream.sendLatest('progress', { progress: Math.round(generation.progress * 1000) / 1000 })
}

const dataUri = (webp: Buffer) => `data:image/webp;base64,${webp.toString('base64')}`
