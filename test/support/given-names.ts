/** Names that only this process knows, with the addresses that a test gives them. */
import dns from 'node:dns'
import { isIP } from 'node:net'
import { vi } from 'vitest'

/** Not what a test before has put in its place, which would call itself. */
const known = dns.lookup as unknown as (host: string, ...rest: unknown[]) => void

type Found = (error: Error | null, address?: unknown, family?: number) => void

/** Lets a name have these addresses, in this order, for whatever this process connects to; until `vi.restoreAllMocks()`. */
export function givenName(name: string, addresses: readonly string[]): void {
  const lookup = (host: string, ...rest: unknown[]) => {
    if (host !== name) return known(host, ...rest)
    const found = rest.at(-1) as Found
    const all = addresses.map((address) => ({ address, family: isIP(address) }))
    const wantsAll = (rest[0] as { readonly all?: boolean }).all
    process.nextTick(() => (wantsAll ? found(null, all) : found(null, all[0]?.address, all[0]?.family)))
  }
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup)
}
