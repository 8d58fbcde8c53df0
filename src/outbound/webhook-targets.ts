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
    const refuse = (what: string) => invalidParameter(parameter, `${parameter} ${what}`)
    if (text.length > MAX_LENGTH) throw refuse(`must have at most ${MAX_LENGTH} characters.`)
    const url = URL.canParse(text) ? new URL(text) : undefined
    const schemes = allowHttp ? ['https:', 'http:'] : ['https:']
    if (!url || !schemes.includes(url.protocol))
      throw refuse(`must be a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`)
    if (url.username || url.password)
      throw refuse('must not hold a user or a password: put a secret into its path or query.')
    if (!WEB_PORTS.includes(url.port) && Number(url.port) < MIN_PORT)
      throw refuse(`must use port 443, 80, or one from ${MIN_PORT} up.`)
    // The URL parser has made plain addresses of numbers in any notation.
    const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
    const isOutside = isIP(host) ? policy.allows(host) : policy.hasInside || (host.includes('.') && !INSIDE.test(host))
    if (!isOutside) throw refuse('must point to a public address: this one is inside a network.')
    url.hash = ''
    return url
  },
})
