import { NOTFOUND, SERVFAIL, TIMEOUT } from 'node:dns/promises'
import { describe, expect, it } from 'vitest'
import { hostLookup } from '../../src/outbound/webhook-targets.js'

const HOSTS = `127.0.0.1\tlocalhost # not.this
::1 localhost ip6-localhost
# 10.0.0.1 commented.example
10.0.0.2   Receiver.Internal receiver
no-address wrong.example
10.0.0.3 receiver.internal.`

/** DNS knows the name that begins with this. */
const DNS: Record<string, string[]> = { known: ['192.0.2.1', '2001:db8::1'] }
const refused = (code: string) => Promise.reject(Object.assign(new Error(code), { code }))
const dns = (name: string) => {
  if (name.startsWith('silent')) return refused(TIMEOUT)
  return DNS[name.split('.')[0] as string]
    ? Promise.resolve(DNS[name.split('.')[0] as string] as string[])
    : refused(NOTFOUND)
}
const waits = new AbortController().signal

/** A system's resolver that answers when it is told to. */
function heldSystem() {
  const asked: { name: string; answer(addresses: string[]): void; fail(): void }[] = []
  const system = (name: string) =>
    new Promise<string[]>((resolve, reject) => {
      asked.push({ name, answer: resolve, fail: () => reject(new Error('ENOTFOUND')) })
    })
  return { asked, resolveHost: hostLookup({ hostsFile: async () => HOSTS, dns, system }) }
}
const turnsPass = () => new Promise((resolve) => setImmediate(resolve))

describe('the lookup of a name', () => {
  it('finds what the hosts file has, before anything else', async () => {
    const { asked, resolveHost } = heldSystem()
    expect(await resolveHost('localhost', waits)).toEqual(['127.0.0.1', '::1'])
    for (const name of ['receiver.internal', 'RECEIVER.internal.', 'receiver'])
      expect(await resolveHost(name, waits)).toContain('10.0.0.2')
    expect(asked).toEqual([])
  })

  it('takes what DNS answers, also while the system’s resolver hangs', async () => {
    const { asked, resolveHost } = heldSystem()
    void resolveHost('stuck.example', waits)
    await turnsPass()
    expect(asked.map(({ name }) => name)).toEqual(['stuck.example'])
    expect(await resolveHost('known.example', waits)).toEqual(['192.0.2.1', '2001:db8::1'])
    expect(asked).toHaveLength(1)
  })

  it('leaves the system’s resolver alone with names whose name servers never answer', async () => {
    const { asked, resolveHost } = heldSystem()
    const names = Array.from({ length: 50 }, (_, n) => `silent-${n}.example`)
    const ends = await Promise.allSettled(names.map((name) => resolveHost(name, waits)))
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(asked).toEqual([])
  })

  it.each([NOTFOUND, SERVFAIL, 'ECONNREFUSED', 'ENODATA'])(
    'asks the system’s resolver where DNS says %s',
    async (code) => {
      const resolveHost = hostLookup({
        hostsFile: () => Promise.reject(new Error('there is no such file')),
        dns: () => refused(code),
        system: async (name) => [`${name} by a search domain`],
      })
      expect(await resolveHost('receiver', waits)).toEqual(['receiver by a search domain'])
    },
  )

  it('asks the system’s resolver for one name at a time, and never for one that nobody waits for any more', async () => {
    const { asked, resolveHost } = heldSystem()
    const leaves = new AbortController()
    const first = resolveHost('a.example', waits)
    const left = expect(resolveHost('b.example', leaves.signal)).rejects.toThrow()
    const failing = expect(resolveHost('c.example', waits)).rejects.toThrow('ENOTFOUND')
    const last = resolveHost('d.example', waits)
    await turnsPass()
    expect(asked.map(({ name }) => name)).toEqual(['a.example'])
    leaves.abort()
    asked[0]?.answer(['10.0.0.9'])
    expect(await first).toEqual(['10.0.0.9'])
    await left
    await turnsPass()
    expect(asked.map(({ name }) => name)).toEqual(['a.example', 'c.example'])
    asked[1]?.fail()
    await failing
    await turnsPass()
    asked[2]?.answer(['10.0.0.8'])
    expect(await last).toEqual(['10.0.0.8'])
  })
})
