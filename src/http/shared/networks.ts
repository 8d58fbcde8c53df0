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
  const bare = address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(bare)) return address
  const ip = ipaddr.process(bare)
  if (!(ip instanceof ipaddr.IPv6)) return ip.toString()
  const prefix = ip.parts.slice(0, 4).map((part) => part.toString(16))
  return `${prefix.join(':')}::/64`
}
