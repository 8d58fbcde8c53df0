import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { serviceUnavailable } from '../errors.js'
import { networkOf } from './authentication.js'
import { bodyFor } from './error-shape.js'
import { answerError } from './errors.js'
import type { App } from './fastify-app.js'
import { createPlaces, type Leave, type PlaceLimits } from './places.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives its place to the next request: called when the answer is known, or when it only waits from here on. */
    leavePlace?: Leave | undefined
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
 * nothing is done for those that are turned away. Hooks with callbacks: nearly every request finds a place at once.
 */
export function registerAdmission(app: App, log: Logger, limits: PlaceLimits = PLACES): void {
  const places = createPlaces(limits)
  const connections = new WeakMap<Socket, Connection>()
  const tell = occasionally((requests) =>
    log.warn({ requests }, 'more requests than can be served, some are turned away'),
  )
  const turnAway = (request: FastifyRequest, reply: FastifyReply) => {
    request.turnedAway = true
    tell()
    answerError(serviceUnavailable(RETRY_AFTER_SECONDS), bodyFor(request.url), reply)
  }
  const hold = (request: FastifyRequest, reply: FastifyReply, connection: Connection, next: () => void) => {
    const enter = (leave: Leave | undefined) => {
      request.leavePlace = leave
      // Who has left meanwhile gives the place back with this answer.
      if (!leave || request.raw.socket.destroyed) return turnAway(request, reply)
      connection.working.add(request)
      next()
    }
    const address = networkOf(request.ip)
    const free = places.take(address)
    if (free) enter(free)
    else void places.wait(address).then(enter)
  }
  const letGo = (request: FastifyRequest, connection: Connection | undefined) => {
    connection?.working.delete(request)
    request.leavePlace?.()
  }

  app.decorateRequest('turnedAway', false)
  app.decorateRequest('leavePlace', undefined)
  app.addHook('onRequest', (request, reply, next) => {
    if (request.routeOptions.config.alwaysServed) return next()
    const { socket } = request.raw
    const connection = connections.get(socket) ?? followed(socket)
    connections.set(socket, connection)
    if (connection.unanswered >= PER_CONNECTION) {
      // Whatever else it has sent is dropped with it.
      setTimeout(() => turnAway(request, reply.header('connection', 'close')), limits.patienceMs)
      return
    }
    connection.unanswered++
    // Not with the place: an answer that nobody reads stays counted.
    reply.raw.once('close', () => connection.unanswered--)
    hold(request, reply, connection, next)
  })
  // A body may take its time, and for one whose client has left Fastify waits for ever: neither is work.
  app.addHook('preParsing', (request, _reply, payload, next) => {
    if (mayHaveBody(request)) letGo(request, connections.get(request.raw.socket))
    next(null, payload)
  })
  app.addHook('preValidation', (request, reply, next) => {
    const connection = connections.get(request.raw.socket)
    if (connection && mayHaveBody(request)) hold(request, reply, connection, next)
    else next()
  })
  app.addHook('onSend', (request, _reply, payload, next) => {
    const { socket } = request.raw
    const connection = connections.get(socket)
    letGo(request, connection)
    if (connection && payload instanceof Readable) endWith(connection, socket, payload)
    next(null, payload)
  })
}

const mayHaveBody = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD'

interface Connection {
  unanswered: number
  /** Those that have a place. */
  readonly working: Set<FastifyRequest>
  readonly streams: Set<Readable>
}

function followed(socket: Socket): Connection {
  const connection: Connection = { unanswered: 0, working: new Set(), streams: new Set() }
  // The connection's own end: Node tells an answer that waits behind another one nothing of it.
  socket.once('close', () => {
    for (const stream of connection.streams) stream.destroy()
    for (const request of connection.working) setTimeout(() => request.leavePlace?.(), ABANDONED_AFTER_MS).unref()
  })
  return connection
}

/** Without this the file of a picture would stay open for ever when its turn to be sent does not come. */
function endWith({ streams }: Connection, socket: Socket, stream: Readable): void {
  if (socket.destroyed) stream.destroy()
  else streams.add(stream)
  stream.once('close', () => streams.delete(stream))
}

/** Tells how often it was called: once in five seconds, not each time. */
export function occasionally(tell: (times: number) => void): () => void {
  let count = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return () => {
    count++
    if (performance.now() - toldAt < TELL_EVERY_MS) return
    tell(count)
    count = 0
    toldAt = performance.now()
  }
}
