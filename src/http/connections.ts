import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { Logger } from 'pino'
import { occasionally } from './admission.js'
import { networkOf } from './authentication.js'
import type { App } from './fastify-app.js'

export interface ConnectionLimits {
  /** In all: each takes memory, whatever it asks. */
  readonly total: number
  /** Of one address, or of one /64. */
  readonly perNetwork: number
}

const LIMITS: ConnectionLimits = { total: 5000, perNetwork: 1250 }
/** From this part of all on few places are left, and a connection may be idle for less. */
const FEW_LEFT = 0.8
const SHORT_KEEP_ALIVE_MS = 5000

interface Network {
  connections: number
  /** Those without a request at work; the longest idle comes first. */
  readonly idle: Set<Socket>
}

/**
 * Keeps a place for each new connection, whoever has the others. A network that has all it may have gives up the
 * connection that was idle longest; when all places are taken, the network with the most idle ones does. When there is
 * none to give up the new one is closed unanswered. A proxy speaks for many, so none of its connections is closed.
 */
export function shareConnections(
  { server }: App,
  log: Logger,
  trustedProxies: readonly string[],
  { total, perNetwork }: ConnectionLimits = LIMITS,
): void {
  const proxies = addressesOf(trustedProxies)
  const networks = new Map<string, Network>()
  const connections = new WeakMap<Socket, { readonly network: Network; unanswered: number }>()
  const usualKeepAliveMs = server.keepAliveTimeout
  let all = 0
  const tell = occasionally((connections) =>
    log.warn(
      { connections },
      'too many connections, idle ones are closed; if they are a proxy’s, name it in TRUST_PROXY',
    ),
  )

  const idlest = () => [...networks.values()].reduce((most, one) => (one.idle.size > most.idle.size ? one : most), NONE)
  const makeRoom = (network: Network | undefined): boolean => {
    const crowded = network !== undefined && network.connections >= perNetwork
    if (!crowded && all < total) return true
    tell()
    const { idle } = crowded ? network : idlest()
    const [longest] = idle
    if (!longest) return false
    idle.delete(longest)
    longest.destroy()
    return true
  }
  const count = (by: 1 | -1) => {
    all += by
    server.keepAliveTimeout = all < FEW_LEFT * total ? usualKeepAliveMs : SHORT_KEEP_ALIVE_MS
  }
  const join = (socket: Socket, name: string, network: Network) => {
    networks.set(name, network)
    network.connections++
    network.idle.add(socket)
    connections.set(socket, { network, unanswered: 0 })
    socket.once('close', () => {
      network.idle.delete(socket)
      if (--network.connections === 0) networks.delete(name)
    })
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return // it has left already
    const name = networkOf(remoteAddress)
    const isProxy = proxies.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4')
    const network = isProxy ? undefined : (networks.get(name) ?? { connections: 0, idle: new Set() })
    if (!makeRoom(network)) return void socket.destroy()
    count(1)
    socket.once('close', () => count(-1))
    if (network) join(socket, name, network)
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

const NONE: Network = { connections: 0, idle: new Set() }

function addressesOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
