import { z } from 'zod'
import type { Change } from '../../../core/generations/follow/follow.js'
import { hasEnded, type Polled, pollGeneration } from '../../../core/generations/follow/poll.js'
import type { KeyRevoked } from '../../shared/authentication.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { createEventStreams, type EventStream, type StreamTimes } from '../../shared/server-sent-events.js'
import { generationParams, polledView } from './poll-schemas.js'

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
    // A proxy must not buffer the events.
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no').type('text/event-stream')
    return reply.send(stream as never)
  })
}

function sendProgress(stream: EventStream, generation: Polled): void {
  if (generation.status === 'processing' && generation.progress !== undefined)
    stream.sendLatest('progress', { progress: Math.round(generation.progress * 1000) / 1000 })
}

const dataUri = (webp: Buffer) => `data:image/webp;base64,${webp.toString('base64')}`
