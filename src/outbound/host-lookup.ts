/** The addresses of hosts whose names subscribers choose, also of names whose name servers never answer. */
import { lookup, Resolver, TIMEOUT } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** All addresses of a name; rejects when there is none. Nobody waits for it any more once the signal aborts. */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<string[]>

/** Where a name is looked for, in this order. */
export interface NameSources {
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
