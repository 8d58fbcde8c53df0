import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { type Log, occasionally } from '../../core/log.js'
import type { App } from '../shared/fastify-app.js'
import { networkOf } from '../shared/networks.js'

export interface ConnectionLimits {
  /** In all: each takes memory, even when idle. */
  readonly total: number
  readonly perNetwork: number
}

const USUAL_LIMITS: ConnectionLimits = { total: 5000, perNetwork: 1250 }
/** Above this share of the total, connections get the short keep-alive. */
const NEARLY_FULL = 0.8
const SHORT_KEEP_ALIVE_MS = 5000
/**
 * Of a proxy's connections: longer than any proxy keeps an idle one (600 s at Google, 120 s at Caddy, 90 s at Traefik). Whoever closes
 * first, a request may be on its way: a proxy sends it again, but cannot send again what changes something, and answers 502.
 */
const PROXY_KEEP_ALIVE_MS = 620_000
/** This share of the places is for networks with few connections, so that a few networks can't take them all. */
const KEPT = 0.05
const FEW = 10
/** For Postgres, Redis, logs and calls to others. */
const OTHER_FILES = 100
/** A connection, and the image that is sent over it. */
const FILES_PER_CONNECTION = 2

/** How many files and connections this process may have open; undefined where the system does not tell (no /proc). */
export function openFileLimit(): number | undefined {
  try {
    // Node has already raised the soft limit, which comes first, to the hard one.
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/**
 * The limits of a process that may open so many files; undefined: nobody knows. Says when they are lower than usual.
 */
export function connectionLimits(openFiles: number | undefined, log: Log): ConnectionLimits {
  const enough = FILES_PER_CONNECTION * USUAL_LIMITS.total + OTHER_FILES
  if (openFiles === undefined || openFiles >= enough) return USUAL_LIMITS
  const fitting = Math.max(1, Math.floor((openFiles - OTHER_FILES) / FILES_PER_CONNECTION))
  const limits = { total: fitting, perNetwork: Math.ceil((fitting * USUAL_LIMITS.perNetwork) / USUAL_LIMITS.total) }
  const todo = `let this process open ${enough} files (ulimit -n; LimitNOFILE in systemd; ulimits in compose)`
  log.warn({ openFiles, ...limits }, `fewer connections than usual are possible: ${todo}`)
  return limits
}

interface Network {
  connections: number
  /** The connections without an unanswered request; the longest idle comes first. A proxy's are not among them. */
  readonly idle: Set<Socket>
  /** With the request that is to be answered next; who has had no answer for longest comes first. */
  readonly busy: Map<Socket, IncomingMessage>
}

const newNetwork = (): Network => ({ connections: 0, idle: new Set(), busy: new Map() })

/** The client has not sent its whole body, of which all that came was read, or it does not read its answer. */
const keepsUsWaiting = (socket: Socket, { complete, readableLength }: IncomingMessage): boolean =>
  socket.writableLength > 0 || (!complete && readableLength === 0)

/** Never the connection of a client that waits for us. */
function mostDispensable({ idle, busy }: Network): Socket | undefined {
  for (const socket of idle) return socket
  for (const [socket, request] of busy) if (keepsUsWaiting(socket, request)) return socket
  return undefined
}

/**
 * Keeps room for new connections. A network at its limit loses its longest idle connection, or else that of the client
 * that has kept us waiting for longest; at the total limit, the network with the most connections loses one so, but none
 * that has fewer than a newcomer's with many. If each client waits for us, the new connection is closed. A proxy has many clients, so it has no limit of its own, and loses only
 * connections that keep us waiting, if nobody else can lose one.
 */
export function limitConnections({ server, log }: App, trustedProxies: readonly string[], limits = USUAL_LIMITS): void {
  const { total, perNetwork } = limits
  const kept = Math.floor(KEPT * total)
  const proxies = addressList(trustedProxies)
  const networks = new Map<string, Network>()
  const proxied = newNetwork()
  const connections = new WeakMap<Socket, { readonly network: Network; readonly unanswered: Set<IncomingMessage> }>()
  const usualKeepAliveMs = server.keepAliveTimeout
  let all = 0
  const warning =
    'too many connections: idle ones, and those that keep this server waiting, are closed; if they are a proxy’s, name it in TRUST_PROXY'
  const warn = occasionally((connections) => log.warn({ connections }, warning))
  const mostDispensableOfAll = (atLeast: number) => {
    let most = atLeast - 1
    let found: Socket | undefined
    for (const network of networks.values()) {
      const candidate = network.connections > most ? mostDispensable(network) : undefined
      if (candidate) [most, found] = [network.connections, candidate]
    }
    return found ?? mostDispensable(proxied)
  }
  const makeRoom = (network: Network): boolean => {
    const { connections } = network
    const isMany = network !== proxied && connections >= FEW
    const atLimit = network !== proxied && connections >= perNetwork
    if (!atLimit && all < (isMany ? total - kept : total)) return true
    warn()
    const dispensable = atLimit ? mostDispensable(network) : mostDispensableOfAll(isMany ? connections : 1)
    if (!dispensable) return false
    forget(dispensable)
    dispensable.destroy()
    return true
  }
  const forget = (socket: Socket) => {
    const network = connections.get(socket)?.network
    network?.idle.delete(socket)
    network?.busy.delete(socket)
  }
  /** To the end of its line. */
  const place = (socket: Socket) => {
    forget(socket)
    const connection = connections.get(socket)
    if (!connection || socket.destroyed) return
    const [next] = connection.unanswered
    if (next) connection.network.busy.set(socket, next)
    else if (connection.network !== proxied) connection.network.idle.add(socket)
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
    const network = isProxy ? proxied : (networks.get(name) ?? newNetwork())
    if (!makeRoom(network)) return void socket.destroy()
    count(1)
    network.connections++
    if (!isProxy) networks.set(name, network)
    connections.set(socket, { network, unanswered: new Set() })
    place(socket)
    socket.once('close', () => {
      count(-1)
      forget(socket)
      if (--network.connections === 0) networks.delete(name)
    })
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const { network, unanswered } = connections.get(socket) ?? {}
    if (!unanswered) return
    unanswered.add(request)
    if (unanswered.size === 1) place(socket)
    response.once('close', () => {
      unanswered.delete(request)
      place(socket)
      // Node has just set it to that of all.
      if (network === proxied && unanswered.size === 0 && server.keepAliveTimeout === usualKeepAliveMs)
        socket.setTimeout(PROXY_KEEP_ALIVE_MS)
    })
  })
}

export const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

export function addressList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = isIPv6(address) ? 128 : 32] = network.split('/')
    list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}
