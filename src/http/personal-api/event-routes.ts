import { z } from 'zod'
import { tooManyStreams } from '../../errors.js'
import type { Change } from '../../generation/follow/follow.js'
import { hasEnded, type Polled, pollGeneration } from '../../generation/follow/poll.js'
import { EventStream } from '../event-stream.js'
import type { App } from '../fastify-app.js'
import type { Revocation } from '../revocation.js'
import { refusals } from './envelope.js'
import type { FollowRoutePorts } from './follow-routes.js'
import { generationParams } from './generate-routes.js'
import { polledView } from './views.js'

const MAX_PER_ACCOUNT = 8
const RETRY_MS = 2000

export interface StreamTimes {
  /** Between comments that keep a connection alive. */
  readonly heartbeatMs: number
  /** After which a stream ends: its client connects anew, perhaps to another server. */
  readonly longestMs: number
}

const TIMES: StreamTimes = { heartbeatMs: 15_000, longestMs: 300_000 }

const events = z.string().meta({
  id: 'GenerationEvents',
  description:
    '`status`: the body of a poll, at the start and whenever the status changes. `queue_position`: ' +
    '`{"queue_position"}`. `progress`: `{"progress"}`, 0 to 1. `preview`: `{"image"}`, a data URI of at most 24 KiB, ' +
    'where the GPU server shows what it draws. `end`: the body of the last poll; the stream is over.',
  examples: ['event: status\ndata: {"id":"gen_4c6t8w2r5y1k9m3n7p0q6s2v8x","status":"queued","queue_position":3}\n\n'],
})

/** Everything about one generation as it happens. */
export function eventRoutes(
  app: App,
  ports: FollowRoutePorts,
  revocation: Revocation,
  { heartbeatMs, longestMs }: StreamTimes = TIMES,
): void {
  const bodyOf = (generation: Polled) => polledView(generation, (slug) => ports.images.url(slug))
  const counts = new Map<string, number>()
  const open = new Set<EventStream>()
  const heartbeat = setInterval(() => {
    for (const stream of open) stream.comment('still here')
  }, heartbeatMs).unref()
  app.addHook('preClose', async () => {
    clearInterval(heartbeat)
    for (const stream of open) stream.end('this server is restarting: connect anew')
  })

  /** Lets the account have one more stream; it is given back when that one closes, however it ends. */
  const openStream = (accountId: string): EventStream => {
    const count = counts.get(accountId) ?? 0
    if (count >= MAX_PER_ACCOUNT) throw tooManyStreams(MAX_PER_ACCOUNT)
    counts.set(accountId, count + 1)
    const stream = new EventStream(RETRY_MS)
    open.add(stream)
    const ends = setTimeout(() => stream.end('connect anew'), longestMs).unref()
    stream.once('close', () => {
      clearTimeout(ends)
      open.delete(stream)
      const left = (counts.get(accountId) ?? 1) - 1
      if (left > 0) counts.set(accountId, left)
      else counts.delete(accountId)
    })
    return stream
  }

  const send = (stream: EventStream, seen: Polled): void => {
    if (hasEnded(seen)) {
      stream.end({ event: 'end', data: bodyOf(seen) })
      return
    }
    stream.tell('status', bodyOf(seen))
    showProgress(stream, seen)
    const unfollow = ports.following.follow(seen, true, (change) => pass(stream, change))
    stream.once('close', unfollow)
  }

  const showProgress = (stream: EventStream, seen: Polled): void => {
    if (seen.status === 'processing' && seen.progress !== undefined)
      stream.show('progress', { progress: rounded(seen.progress) })
  }

  const pass = (stream: EventStream, change: Change): void => {
    if (change.kind === 'preview') {
      stream.show('preview', { image: dataUri(change.image) })
      return
    }
    const { now } = change
    if (hasEnded(now)) stream.end({ event: 'end', data: bodyOf(now) })
    else if (change.kind === 'status') stream.tell('status', bodyOf(now))
    else if (now.status === 'queued') stream.show('queue_position', { queue_position: now.queuePosition })
    else showProgress(stream, now)
  }

  app.get(
    '/generate/:id/events',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'streamGenerationEvents',
        tags: ['Generations'],
        summary: 'Follow a generation live',
        description:
          'Server-sent events: first how it stands, then each change, a comment every 15 s, and at last `end`. Nothing ' +
          'is repeated: after a broken connection connect anew. A stream counts as one request; 8 may be open at once.',
        params: generationParams,
        response: {
          200: { description: 'The events', content: { 'text/event-stream': { schema: events } } },
          ...refusals(404),
        },
      },
    },
    async (request, reply) => {
      const { account } = request.caller
      const stream = openStream(account.id)
      try {
        send(stream, await pollGeneration(ports, account, request.params.id))
      } catch (error) {
        stream.destroy()
        throw error
      }
      revocation(request, reply).addEventListener('abort', () => stream.end('the key of this stream was revoked'))
      // A proxy in between must not collect events.
      reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no').type('text/event-stream')
      return reply.send(stream as never)
    },
  )
}

const rounded = (fraction: number) => Math.round(fraction * 1000) / 1000

const dataUri = (webp: Buffer) => `data:image/webp;base64,${webp.toString('base64')}`
