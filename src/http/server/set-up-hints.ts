/** What the log says, once each, when requests show that a proxy in front or BASE_URL is set up in another way than they come. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from '../shared/fastify-app.js'
import { isPrivateAddress } from '../shared/networks.js'
import { addressList, familyOf } from './connection-limits.js'

interface SetUp {
  readonly trustedProxies: readonly string[]
  readonly baseUrl: string
}

const FORWARDS = ['x-forwarded-for', 'x-real-ip', 'forwarded']
/** This machine alone can follow a link there. */
const HERE = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i
/** Asked by health checks, under any name. */
const PROBED = /^\/(health|ready|version)\b/

export function logSetUpHints({ server, log }: App, { trustedProxies, baseUrl }: SetUp): void {
  const proxies = addressList(trustedProxies)
  const logged = new Set<string>()
  const warnOnce = (facts: object, sentence: string) => {
    if (logged.has(sentence)) return
    logged.add(sentence)
    log.warn(facts, sentence)
  }
  /** Of each connection the first request alone is looked at: whoever opened it sends all of them in the same way. */
  const seen = new WeakSet<Socket>()
  const isHere = HERE.test(new URL(baseUrl).host)
  server.on('request', ({ headers, socket, url = '' }: IncomingMessage) => {
    if (seen.has(socket)) return
    seen.add(socket)
    const { remoteAddress: address = '' } = socket
    // From the internet these headers say nothing.
    if (FORWARDS.some((name) => headers[name] !== undefined) && isPrivateAddress(address)) {
      if (!proxies.check(address, familyOf(address)))
        warnOnce({ address }, 'all who come through this proxy count as one for every limit: name it in TRUST_PROXY')
      else if (headers['x-forwarded-for'] === undefined)
        warnOnce(
          { address },
          'all who come through this proxy count as one for every limit: let it send X-Forwarded-For',
        )
    }
    const { host = '' } = headers
    if (isHere && host !== '' && !HERE.test(host) && !PROBED.test(url))
      warnOnce(
        { host, baseUrl },
        'links and images lead to BASE_URL, which is this machine: set it to the address that people use',
      )
  })
}
