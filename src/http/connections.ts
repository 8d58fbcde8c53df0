import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { whenAborted } from '../abort-signals.js'
import { occasionally } from '../log.js'
import type { App } from './fastify-app.js'

/** Most requests come from addresses that were seen a moment ago. */
const rememberedNetworks = new Map<string, string>()
const REMEMBERED_NETWORKS = 10_000

/** An IPv4 address, or the /64 that an IPv6 customer owns whole. Some proxies write it with brackets and a port. */
export function networkOf(address: string): string {
  const known = rememberedNetworks.get(address)
  if (known !== undefined) return known
  if (rememberedNetworks.size >= REMEMBERED_NETWORKS) rememberedNetworks.clear()
  const network = readNetwork(address)
  rememberedNetworks.set(address, network)
  return network
}

function readNetwork(address: string): string {
  const bare = address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(bare)) return address
  const ip = ipaddr.process(bare)
  if (!(ip instanceof ipaddr.IPv6)) return ip.toString()
  const prefix = ip.parts.slice(0, 4).map((part) => part.toString(16))
  return `${prefix.join(':')}::/64`
}

export interface ConnectionLimits {
  /** In all: each takes memory, even when idle. */
  readonly total: number
  readonly perNetwork: number
}

const LIMITS: ConnectionLimits = { total: 5000, perNetwork: 1250 }
/** Above this share of the total, connections get the short keep-alive. */
const NEARLY_FULL = 0.8
const SHORT_KEEP_ALIVE_MS = 5000

interface Network {
  connections: number
  /** The connections without an unanswered request; the longest idle comes first. */
  readonly idle: Set<Socket>
}

/**
 * Keeps room for new connections. A network at its limit loses its longest idle connection; at the total limit, the
 * network with the most idle connections loses one. If none is idle, the new connection is closed. A proxy's
 * connections are never closed, because a proxy has many clients.
 */
export function limitConnections({ server, log }: App, trustedProxies: readonly string[], limits = LIMITS): void {
  const { total, perNetwork } = limits
  const proxies = addressList(trustedProxies)
  const networks = new Map<string, Network>()
  const connections = new WeakMap<Socket, { readonly network: Network; unanswered: number }>()
  const usualKeepAliveMs = server.keepAliveTimeout
  let all = 0
  const warning = 'too many connections, idle ones are closed; if they are a proxy’s, name it in TRUST_PROXY'
  const warn = occasionally((connections) => log.warn({ connections }, warning))
  const mostIdle = () =>
    [...networks.values()].reduce((most, { idle }) => (idle.size > most.size ? idle : most), new Set<Socket>())
  const makeRoom = (network: Network | undefined): boolean => {
    const atLimit = network !== undefined && network.connections >= perNetwork
    if (!atLimit && all < total) return true
    warn()
    const idle = atLimit ? network.idle : mostIdle()
    const [longest] = idle
    if (!longest) return false
    idle.delete(longest)
    longest.destroy()
    return true
  }
  const count = (by: 1 | -1) => {
    all += by
    server.keepAliveTimeout = all < NEARLY_FULL * total ? usualKeepAliveMs : SHORT_KEEP_ALIVE_MS
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return // the client has already hung up
    const name = networkOf(remoteAddress)
    const isProxy = proxies.check(remoteAddress, familyOf(remoteAddress))
    const network = isProxy ? undefined : (networks.get(name) ?? { connections: 0, idle: new Set() })
    if (!makeRoom(network)) return void socket.destroy()
    count(1)
    socket.once('close', () => count(-1))
    if (!network) return
    networks.set(name, network)
    network.connections++
    network.idle.add(socket)
    connections.set(socket, { network, unanswered: 0 })
    socket.once('close', () => {
      network.idle.delete(socket)
      if (--network.connections === 0) networks.delete(name)
    })
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket)
    if (!connection) return
    connection.unanswered++
    connection.network.idle.delete(socket)
    response.once('close', () => {
      if (--connection.unanswered === 0 && !socket.destroyed) connection.network.idle.add(socket)
    })
  })
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

function addressList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = isIPv6(address) ? 128 : 32] = network.split('/')
    list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

/** Aborts when the client has hung up; also once the answer is complete. */
export function clientGone(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  // The client has already hung up, so "close" does not come again.
  if (reply.raw.destroyed || request.raw.socket.destroyed) gone.abort()
  return gone.signal
}

export interface Draining {
  /** Aborts when the server begins to stop; it still serves requests. */
  readonly begun: AbortSignal
  /** Aborts when the clients that still wait get their last answers. */
  readonly leaving: AbortSignal
}

/** A request may be on its way over a connection that was opened just before the port closed. */
const FIRST_REQUEST_MS = 1000
const LAST_ANSWERS_MS = 2000

/**
 * Ends the connections of a stopping server, none amid a request. Once the drain has begun, each answer is its
 * connection's last, so that clients change to another server. Node closes idle connections with the port, but would wait
 * forever for those that never sent a request (browsers open some in advance) and those that never finish one.
 */
export function endConnections(app: App, { begun, leaving }: Draining): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (begun.aborted) reply.header('connection', 'close')
    next(null, payload)
  })
  app.addHook('preClose', async () => {
    setTimeout(() => {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, FIRST_REQUEST_MS).unref()
    void whenAborted(leaving).then(() => setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS).unref())
  })
}
