import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { serviceUnavailable } from '../../core/errors.js'
import { occasionally } from '../../core/log.js'
import { answerError } from '../shared/error-responses.js'
import { createFairSlots, type ReleaseSlot, type SlotLimits } from '../shared/fair-slots.js'
import type { App } from '../shared/fastify-app.js'
import { networkOf } from '../shared/networks.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the request's slot: called when the answer is known, or when the request only waits. */
    releaseSlot?: ReleaseSlot | undefined
    /** The request was refused before anything was done for it. */
    turnedAway: boolean
  }
  interface FastifyContextConfig {
    /** This route needs no slot. */
    alwaysServed?: boolean
  }
}

export interface AdmissionLimits extends SlotLimits {
  /** Shorter in tests. */
  readonly abandonedAfterMs?: number
}

/** The holders are addresses. A flooding client is refused late, so that its next request comes later. */
const SLOTS: SlotLimits = { total: 400, perHolder: 200, patienceMs: 1500 }
/** Unanswered requests of one connection. Clients send one after the other, so more of them are a flood. */
const PER_CONNECTION = 4
/** After this, the work for a client that has hung up counts as over. */
const ABANDONED_AFTER_MS = 5000
const RETRY_AFTER_SECONDS = 2

/**
 * Limits the concurrent requests, so that each is answered soon. The others wait for a slot, the addresses in turn, and
 * get a 503 if none comes free. Register it before all other hooks and routes, so that refused requests cost nothing.
 * The hooks use callbacks, because nearly every request gets a slot immediately. @fastify/under-pressure has one threshold for all:
 * one address could take every slot.
 */
export function registerAdmission(app: App, limits: AdmissionLimits = SLOTS): void {
  const slots = createFairSlots(limits)
  const connections = new WeakMap<Socket, Connection>()
  const warning = 'more requests than can be served, some are turned away'
  const warn = occasionally((requests) => app.log.warn({ requests }, warning))
  const turnAway = (request: FastifyRequest, reply: FastifyReply) => {
    request.turnedAway = true
    warn()
    answerError(serviceUnavailable(RETRY_AFTER_SECONDS), reply)
  }
  const takeSlot = (request: FastifyRequest, reply: FastifyReply, connection: Connection, next: () => void) => {
    const proceed = (release: ReleaseSlot | undefined) => {
      request.releaseSlot = release
      // If the client has hung up meanwhile, this answer releases the slot.
      if (!release || request.raw.socket.destroyed) return turnAway(request, reply)
      connection.working.add(request)
      next()
    }
    const address = networkOf(request.ip)
    const free = slots.take(address)
    if (free) proceed(free)
    else void slots.wait(address).then(proceed)
  }
  const releaseSlot = (request: FastifyRequest, connection: Connection | undefined) => {
    connection?.working.delete(request)
    request.releaseSlot?.()
  }

  app.decorateRequest('turnedAway', false)
  app.decorateRequest('releaseSlot', undefined)
  app.addHook('onRequest', (request, reply, next) => {
    if (request.routeOptions.config.alwaysServed) return next()
    const { socket } = request.raw
    const connection = connections.get(socket) ?? newConnection(socket, limits)
    connections.set(socket, connection)
    if (connection.unanswered >= PER_CONNECTION) {
      // Closing the connection also drops whatever else the client has sent.
      setTimeout(() => turnAway(request, reply.header('connection', 'close')), limits.patienceMs)
      return
    }
    connection.unanswered++
    // Later than the slot is released: an answer that the client does not read stays counted.
    reply.raw.once('close', () => connection.unanswered--)
    takeSlot(request, reply, connection, next)
  })
  // No slot while a body is received: it may be slow, and if the client hangs up Fastify waits forever.
  app.addHook('preParsing', (request, _reply, payload, next) => {
    if (mayHaveBody(request)) releaseSlot(request, connections.get(request.raw.socket))
    next(null, payload)
  })
  app.addHook('preValidation', (request, reply, next) => {
    const connection = connections.get(request.raw.socket)
    if (connection && mayHaveBody(request)) takeSlot(request, reply, connection, next)
    else next()
  })
  app.addHook('onSend', (request, _reply, payload, next) => {
    const { socket } = request.raw
    const connection = connections.get(socket)
    releaseSlot(request, connection)
    if (connection && payload instanceof Readable) {
      // Without this a file would stay open forever if its connection closes before the file is sent.
      if (socket.destroyed) payload.destroy()
      else connection.streams.add(payload)
      payload.once('close', () => connection.streams.delete(payload))
    }
    next(null, payload)
  })
}

/**
 * Node hands over all requests that came together, thousands perhaps, before it does anything else. Those after the one that
 * is turned away are dropped here, where they cost next to nothing, and that one's answer is its connection's last.
 * Call it when the server has all its listeners.
 */
export function dropFloods(server: Server): void {
  const handlers = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  const connections = new WeakMap<Socket, { readonly unanswered: Set<ServerResponse>; isFlood: boolean }>()
  server.on('request', (request, response) => {
    const { socket } = request
    const connection = connections.get(socket) ?? { unanswered: new Set(), isFlood: false }
    connections.set(socket, connection)
    const { unanswered } = connection
    if (unanswered.size > PER_CONNECTION && !connection.isFlood) {
      connection.isFlood = true
      const last = [...unanswered].at(-1)
      if (last?.headersSent) socket.destroy()
      else last?.setHeader('connection', 'close')
    }
    // What has not arrived yet is not even read.
    if (connection.isFlood) return void socket.pause()
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
    for (const handle of handlers) handle.call(server, request, response)
  })
}

const mayHaveBody = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD'

interface Connection {
  unanswered: number
  /** The requests that have a slot. */
  readonly working: Set<FastifyRequest>
  readonly streams: Set<Readable>
}

function newConnection(socket: Socket, { abandonedAfterMs = ABANDONED_AFTER_MS }: AdmissionLimits): Connection {
  const connection: Connection = { unanswered: 0, working: new Set(), streams: new Set() }
  // Node emits no "close" on an answer that waits behind another one.
  socket.once('close', () => {
    for (const stream of connection.streams) stream.destroy()
    for (const request of connection.working) setTimeout(() => request.releaseSlot?.(), abandonedAfterMs).unref()
  })
  return connection
}
