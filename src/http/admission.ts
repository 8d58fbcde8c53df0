import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as after } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { serviceUnavailable } from '../errors.js'
import type { App } from './app.js'
import { networkOf } from './authentication.js'
import { bodyFor } from './error-shape.js'
import { answerError } from './errors.js'
import { createPlaces, type PlaceLimits } from './places.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives its place to the next request: called when the answer is known, or when it only waits from here on. */
    leavePlace?: () => void
    /** It was refused before anything of it was looked at. */
    turnedAway: boolean
  }
  interface FastifyContextConfig {
    /** Whatever else goes on, this route answers. */
    alwaysServed?: boolean
  }
}

/** Places are held by addresses. Who floods is not answered at once, or the next request would come at once. */
const PLACES: PlaceLimits = { total: 400, perHolder: 200, patienceMs: 1500 }
/** Requests of one connection without an answer yet. Clients send one after the other: more are only a flood's. */
const PER_CONNECTION = 4
/** What was begun for a client that has left is over by then, answered or not. */
const ABANDONED_AFTER_MS = 5000
const RETRY_AFTER_SECONDS = 2
const TELL_EVERY_MS = 5000

/**
 * Lets so many requests be worked on that each is answered soon; the others wait for a place, the addresses in turn,
 * and are turned away with a 503 when none comes free. To be registered before all other hooks and routes, so that
 * nothing is done for those that are turned away.
 */
export function registerAdmission(app: App, log: Logger, limits: PlaceLimits = PLACES): void {
  const places = createPlaces(limits)
  const connections = new WeakMap<Socket, Connection>()
  const tell = refusals(log)
  const turnAway = (request: FastifyRequest, reply: FastifyReply) => {
    request.turnedAway = true
    tell()
    return answerError(serviceUnavailable(RETRY_AFTER_SECONDS), bodyFor(request.url), reply)
  }
  /** Whether the request found a place and its client waited for it. */
  const hold = async (request: FastifyRequest, { whenClosed }: Connection): Promise<boolean> => {
    const leave = await places.take(networkOf(request.ip))
    if (!leave) return false
    const abandon = () => void setTimeout(leave, ABANDONED_AFTER_MS).unref()
    whenClosed.add(abandon)
    request.leavePlace = () => {
      whenClosed.delete(abandon)
      delete request.leavePlace
      leave()
    }
    return !request.raw.socket.destroyed
  }

  app.decorateRequest('turnedAway', false)
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.alwaysServed) return
    const { socket } = request.raw
    const connection = connections.get(socket) ?? followed(socket)
    connections.set(socket, connection)
    if (connection.unanswered >= PER_CONNECTION) {
      await after(limits.patienceMs)
      // Whatever else it has sent is dropped with it.
      return turnAway(request, reply.header('connection', 'close'))
    }
    connection.unanswered++
    // Not with the place: an answer that nobody reads stays counted.
    reply.raw.once('close', () => connection.unanswered--)
    if (!(await hold(request, connection))) return turnAway(request, reply)
  })
  // A body may take its time, and for one whose client has left Fastify waits for ever: neither is work.
  app.addHook('preParsing', async (request) => {
    if (mayHaveBody(request)) request.leavePlace?.()
  })
  app.addHook('preValidation', async (request, reply) => {
    const connection = connections.get(request.raw.socket)
    if (!connection || !mayHaveBody(request)) return
    if (!(await hold(request, connection))) return turnAway(request, reply)
  })
  app.addHook('onSend', async (request, _reply, payload) => {
    request.leavePlace?.()
    const connection = connections.get(request.raw.socket)
    if (connection && payload instanceof Readable) endWith(connection, request.raw.socket, payload)
  })
}

const mayHaveBody = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD'

interface Connection {
  unanswered: number
  readonly whenClosed: Set<() => void>
}

function followed(socket: Socket): Connection {
  const connection: Connection = { unanswered: 0, whenClosed: new Set() }
  // The connection's own end: Node tells an answer that waits behind another one nothing of it.
  socket.once('close', () => {
    for (const end of connection.whenClosed) end()
  })
  return connection
}

/** Without this the file of a picture would stay open for ever when its turn to be sent does not come. */
function endWith({ whenClosed }: Connection, socket: Socket, stream: Readable): void {
  const end = () => void stream.destroy()
  if (socket.destroyed) end()
  else whenClosed.add(end)
  stream.once('close', () => whenClosed.delete(end))
}

/** One line in five seconds instead of one a request. */
function refusals(log: Logger): () => void {
  let count = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return () => {
    count++
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    log.warn({ requests: count }, 'more requests than can be served, some are turned away')
    count = 0
    toldAt = performance.now()
  }
}
