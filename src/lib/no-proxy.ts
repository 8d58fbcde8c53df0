/** Which addresses NO_PROXY leaves out by their networks (10.0.0.0/8), which neither undici nor proxy-from-env know. */
import { BlockList, isIP } from 'node:net'

const noProxy = (): string => process.env.no_proxy ?? process.env.NO_PROXY ?? ''

/** Of an address alone: no name is looked up for it. */
export function isInNoProxyNetwork(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '')
  if (!isIP(address)) return false
  const networks = new BlockList()
  for (const entry of noProxy().split(/[,\s]+/)) {
    const [network = '', bits = ''] = entry.split('/')
    const version = isIP(network)
    if (version && /^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
      networks.addSubnet(network, Number(bits), `ipv${version as 4 | 6}`)
  }
  return networks.check(address, `ipv${isIP(address) as 4 | 6}`)
}

/** The proxy that leads to a URL; empty: none. @param proxyOf knows the rest of what the environment says */
export const proxyFor = (url: string, proxyOf: (url: string) => string): string =>
  URL.canParse(url) && isInNoProxyNetwork(new URL(url).hostname) ? '' : proxyOf(url)
