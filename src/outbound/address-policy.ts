import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Which addresses may be connected to on behalf of a subscriber. */
export interface AddressPolicy {
  /** @param address an IP address in any spelling; what is none is refused */
  allows(address: string): boolean
  /** Whether the operator has receivers of their own inside. */
  readonly hasInside: boolean
}

const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number]
/** Public by its number, but answered by the cloud's own host agent. */
const HOST_AGENTS = ['168.63.129.16']

/**
 * Public unicast addresses, and what the operator allows besides.
 * @param allowedNetworks CIDRs or addresses
 */
export function addressPolicy(allowedNetworks: readonly string[]): AddressPolicy {
  const allowed = allowedNetworks.map((network) =>
    network.includes('/') ? ipaddr.parseCIDR(network) : wholeAddress(ipaddr.parse(network)),
  )
  return {
    hasInside: allowed.length > 0,
    allows(text) {
      if (!ipaddr.isValid(text)) return false
      const address = ipaddr.parse(text)
      return (
        isPublic(address) || allowed.some((network) => network[0].kind() === address.kind() && address.match(network))
      )
    },
  }
}

const wholeAddress = (address: Address): [Address, number] => [address, address.kind() === 'ipv4' ? 32 : 128]

/** An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4, Teredo) is judged as what it is: not public. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || HOST_AGENTS.includes(address.toString())) return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST_V6)
}
