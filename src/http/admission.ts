import type { RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { serviceUnavailable } from '../errors.js'
import { occasionally } from '../log.js'
import { networkOf } from './connections.js'
import { answerError } from './error-answers.js'
import type { App } from './fastify-app.js'

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
 * The hooks use callbacks, because nearly every request gets a slot immediately.
 */
export function registerAdmission(app: App, limits: SlotLimits = SLOTS): void {
  const slots = createRequestSlots(limits)
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

function newConnection(socket: Socket, { abandonedAfterMs = ABANDONED_AFTER_MS }: SlotLimits): Connection {
  const connection: Connection = { unanswered: 0, working: new Set(), streams: new Set() }
  // Node emits no "close" on an answer that waits behind another one.
  socket.once('close', () => {
    for (const stream of connection.streams) stream.destroy()
    for (const request of connection.working) setTimeout(() => request.releaseSlot?.(), abandonedAfterMs).unref()
  })
  return connection
}

export interface SlotLimits {
  /** Enough to keep Postgres busy, few enough that each request is answered soon. */
  readonly total: number
  readonly perHolder: number
  /** How long a request waits for a slot. */
  readonly patienceMs: number
  /** Shorter in tests. */
  readonly abandonedAfterMs?: number
}

/** Repeats do nothing. */
type ReleaseSlot = () => void

type Waiter = (release: ReleaseSlot | undefined) => void

export type RequestSlots = ReturnType<typeof createRequestSlots>

/** Slots for requests at work. Holders that wait take turns: the next free slot goes to the one served longest ago. */
export function createRequestSlots({ total, perHolder, patienceMs }: SlotLimits) {
  const taken = new Map<string, number>()
  /** No line is empty; the holder whose turn is next comes first. */
  const lines = new Map<string, Waiter[]>()
  let allTaken = 0

  const isFree = (holder: string) => allTaken < total && (taken.get(holder) ?? 0) < perHolder

  const takeSlot = (holder: string): ReleaseSlot => {
    allTaken++
    taken.set(holder, (taken.get(holder) ?? 0) + 1)
    let released = false
    return () => {
      if (released) return
      released = true
      allTaken--
      const rest = (taken.get(holder) ?? 0) - 1
      if (rest > 0) taken.set(holder, rest)
      else taken.delete(holder)
      serveNext()
    }
  }

  const serveNext = () => {
    for (const [holder, line] of lines) {
      if (!isFree(holder)) continue
      const next = line.shift()
      lines.delete(holder)
      if (line.length > 0) lines.set(holder, line)
      next?.(takeSlot(holder))
      return
    }
  }

  const giveUp = (holder: string, waiter: Waiter) => {
    const line = lines.get(holder) ?? []
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) lines.delete(holder)
    waiter(undefined)
  }

  return {
    /** Undefined when no slot is free now. */
    take: (holder: string): ReleaseSlot | undefined => (isFree(holder) ? takeSlot(holder) : undefined),

    /** Resolves to undefined when no slot came free in time. @param patience ms */
    wait: (holder: string, patience = patienceMs) =>
      new Promise<ReleaseSlot | undefined>((resolve) => {
        const waiter: Waiter = (release) => {
          clearTimeout(timer)
          resolve(release)
        }
        const timer = setTimeout(() => giveUp(holder, waiter), patience)
        const line = lines.get(holder)
        if (line) line.push(waiter)
        else lines.set(holder, [waiter])
      }),
  }
}
