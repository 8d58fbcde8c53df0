import { lookup, Resolver, TIMEOUT } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalidParameter } from '../core/errors.js'
import type { WebhookTargets } from '../core/webhooks/ports.js'

const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number]
/** In public ranges, but answered by the cloud's own host agent (Azure). */
const HOST_AGENTS = ['168.63.129.16']

/** Which addresses may be connected to on behalf of a subscriber. */
export type AddressPolicy = ReturnType<typeof addressPolicy>

/** Allows public unicast addresses, and the operator's networks. @param allowedNetworks CIDRs or addresses */
export function addressPolicy(allowedNetworks: readonly string[]) {
  const allowed = allowedNetworks.map((network) => {
    const bits = network.includes(':') ? 128 : 32
    return ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${bits}`)
  })
  return {
    /** Whether the operator allows receivers inside the network. */
    hasInside: allowed.length > 0,
    /** @param text an IP address in any spelling; anything else is refused */
    allows(text: string): boolean {
      if (!ipaddr.isValid(text)) return false
      const address = ipaddr.parse(text)
      const isIn = (network: (typeof allowed)[0]) => network[0].kind() === address.kind() && address.match(network)
      return isPublic(address) || allowed.some(isIn)
    },
  }
}

/** An IPv6 address that embeds an IPv4 one (mapped, NAT64, 6to4, Teredo) is not public. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || HOST_AGENTS.includes(address.toString())) return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST_V6)
}

export interface TargetOptions {
  readonly policy: AddressPolicy
  readonly allowHttp: boolean
}

const MAX_LENGTH = 2048
/** Lower ports, except those of the web, are refused: their services must not get requests. */
const MIN_PORT = 1024
const WEB_PORTS = ['', '80', '443']
/** Names that only exist inside a network. */
const INSIDE = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|test|invalid|arpa)$/

/** Checks a URL without resolving its name, so that the client gets the error immediately. */
export const webhookTargets = ({ policy, allowHttp }: TargetOptions): WebhookTargets => ({
  require(text, parameter) {
    const refuse = (message: string) => invalidParameter(parameter, message)
    if (text.length > MAX_LENGTH) throw refuse(`${parameter} must have at most ${MAX_LENGTH} characters.`)
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || !(url.protocol === 'https:' || (allowHttp && url.protocol === 'http:')))
      throw refuse(
        allowHttp
          ? `${parameter} must be a URL that begins with https:// or http://.`
          : `${parameter} must be a URL that begins with https://.`,
      )
    if (url.username || url.password)
      throw refuse(`${parameter} must not hold a user or a password: put a secret into its path or query.`)
    if (!WEB_PORTS.includes(url.port) && Number(url.port) < MIN_PORT)
      throw refuse(`${parameter} must use port 443, 80, or one from ${MIN_PORT} up.`)
    // The URL parser has made plain addresses of numbers in any notation.
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/(?<!\.)\.+$/, '')
    const isOutside = isIP(host) ? policy.allows(host) : policy.hasInside || (host.includes('.') && !INSIDE.test(host))
    if (!isOutside) throw refuse(`${parameter} must point to a public address: this one is inside a network.`)
    url.hash = ''
    return url
  },
})

/** All addresses of a name; rejects when there is none. Nobody waits for it any more once the signal aborts. */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<string[]>

/** Where a name is looked for, in this order. */
interface NameSources {
  /** The hosts file, as text. */
  hostsFile(): Promise<string>
  /** DNS, asked directly, which holds no thread; an error's `code` says why there is no answer. */
  dns(name: string): Promise<string[]>
  /** The system's resolver, which knows search domains and more. It can't be stopped, and holds a thread. */
  system(name: string): Promise<string[]>
}

/**
 * Looks for names as the system does, but asks its resolver only for what DNS says that it does not know, and for one
 * name at a time: the whole process, its own databases too, has two threads for such questions, and whoever owns a
 * domain says how long one takes.
 */
export function hostLookup({ hostsFile, dns, system }: NameSources): ResolveHost {
  let turn: Promise<unknown> = Promise.resolve()
  const bySystem: ResolveHost = (name, signal) => {
    const found = turn.then(() => {
      signal.throwIfAborted()
      return system(name)
    })
    turn = found.catch(() => undefined)
    return found
  }
  return async (name, signal) => {
    const known = addressesIn(await hostsFile().catch(() => ''), name)
    if (known.length > 0) return known
    return dns(name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === TIMEOUT) throw error
      return bySystem(name, signal)
    })
  }
}

function addressesIn(hosts: string, name: string): string[] {
  const wanted = name.toLowerCase().replace(/\.$/, '')
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return isIP(address) && names.some((it) => it.toLowerCase() === wanted) ? [address] : []
  })
}

export const resolveHost = hostLookup({
  hostsFile: () => readFile('/etc/hosts', 'utf8'),

  async dns(name) {
    // A new one for each name: it reads anew which name servers there are.
    const resolver = new Resolver({ timeout: 1500, tries: 2 })
    const asked = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = asked.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    const reasons = asked.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    throw reasons.find(({ code }) => code === TIMEOUT) ?? reasons[0]
  },

  system: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
})
