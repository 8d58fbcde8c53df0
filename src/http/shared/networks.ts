import ipaddr from 'ipaddr.js'

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
  const ip = readAddress(address)
  if (!ip) return address
  return ip instanceof ipaddr.IPv6 ? `${beginningOf(ip, 4)}::/64` : ip.toString()
}

/**
 * The network of an address with those around it, the widest first: who has many addresses has them in few of these. IPv4: /16 and
 * /24; IPv6: /32, of which providers have one or some, and /48, of which some customers have one.
 */
export function networksOf(address: string): readonly string[] {
  const ip = readAddress(address)
  if (!ip) return [address]
  const around =
    ip instanceof ipaddr.IPv6
      ? [`${beginningOf(ip, 2)}::/32`, `${beginningOf(ip, 3)}::/48`]
      : [`${ip.octets.slice(0, 2).join('.')}.0.0/16`, `${ip.octets.slice(0, 3).join('.')}.0/24`]
  return [...around, networkOf(address)]
}

/** Whether it is of this machine or of a network of our own: nobody on the internet has it. */
export const isPrivateAddress = (address: string): boolean =>
  ['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'].includes(readAddress(address)?.range() ?? '')

const beginningOf = (ip: ipaddr.IPv6, parts: number): string =>
  ip.parts
    .slice(0, parts)
    .map((part) => part.toString(16))
    .join(':')

function readAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined
}
