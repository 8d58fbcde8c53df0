/** Sentinels, which name the master of a Redis: how they are asked, and what they have against us. */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Redis, type RedisOptions } from 'ioredis'
import { tlsOptions, tlsRefusal } from '../lib/tls.js'
import type { NodeOptions } from './cluster.js'

const ANSWERS_WITHIN_MS = 2000

/**
 * For `redis://:password@NAME/0?sentinels=HOST:PORT,HOST:PORT`: the master NAME of these sentinels. They have TLS where Redis
 * has it, unless `sentinel_tls` says otherwise, and no password unless `sentinel_password` names it.
 */
export function throughSentinels(url: string, retryStrategy: (attempt: number) => number): NodeOptions {
  const { protocol, username, password, hostname, pathname, searchParams } = new URL(url.replaceAll('+', '%2B'))
  const sentinels = searchParams.get('sentinels')
  if (sentinels === null) return {}
  return {
    sentinels: sentinels.split(',').map((address) => {
      const { hostname: host, port } = new URL(`redis://${address}`)
      return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 26379) }
    }),
    name: hostname,
    db: Number(pathname.slice(1)),
    sentinelRetryStrategy: retryStrategy,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { enableTLSForSentinelMode: true }),
    ...(sentinelsHaveTls(url) && { sentinelTLS: tlsOptions(searchParams) }),
    ...(searchParams.has('sentinel_username') && { sentinelUsername: searchParams.get('sentinel_username') as string }),
    ...(searchParams.has('sentinel_password') && { sentinelPassword: searchParams.get('sentinel_password') as string }),
  }
}

/** Whether connections to the sentinels of a URL have TLS. */
function sentinelsHaveTls(url: string): boolean {
  const { protocol, searchParams } = new URL(url)
  return (searchParams.get('sentinel_tls') ?? String(protocol === 'rediss:')) === 'true'
}

/** How to reach a server, or why its address is not to be had. */
export type Server = NodeOptions & { readonly sentence?: string }

/** The master that the sentinels name, or what one of them has against us: ioredis keeps only the words of the last error. */
export async function masterOf(options: RedisOptions): Promise<Server> {
  if (!options.sentinels) return options
  const { name, sentinelTLS: tls, sentinelUsername: username, sentinelPassword: password } = options
  const login = { ...(username && { username }), ...(password && { password }), ...(tls && { tls }) }
  let found: Server = {}
  for (const { host, port } of options.sentinels) {
    const asked = { host, port, ...login, enableReadyCheck: false, connectTimeout: ANSWERS_WITHIN_MS } as NodeOptions
    const place = `The sentinel at ${host}:${port}`
    let error: Error | undefined
    const probe = new Redis({ ...asked, lazyConnect: true, retryStrategy: null, commandTimeout: ANSWERS_WITHIN_MS })
    probe.on('error', (first) => {
      error ??= first
    })
    const address = await probe.call('SENTINEL', 'get-master-addr-by-name', `${name}`).catch((thrown) => {
      error ??= thrown
    })
    probe.disconnect()
    if (Array.isArray(address)) {
      const [at, itsPort] = address as [string, string]
      const itsTls = options.enableTLSForSentinelMode && options.tls
      return { host: at, port: Number(itsPort), ...(itsTls && { tls: itsTls }) }
    }
    if (address === null) found = { sentence: `${place} knows no master "${name}": correct the name in REDIS_URL.` }
    else if (await isOtherwise(asked)) found = { sentence: `${place} ${tls ? SENTINEL_NO_TLS : SENTINEL_ONLY_TLS}` }
    else if (error) found = sentenceAs(tlsRefusal(error, `the sentinel at ${host}:${port}`, 'REDIS_URL')) ?? found
  }
  return found
}

const sentenceAs = (sentence: string | undefined): Server | undefined => (sentence ? { sentence } : undefined)

const SENTINEL_NO_TLS = 'takes no TLS: write &sentinel_tls=false into REDIS_URL.'
const SENTINEL_ONLY_TLS =
  'takes no connection without TLS: write &sentinel_tls=true into REDIS_URL, or let REDIS_URL begin with rediss:// if Redis itself has TLS, too.'

export const REFUSED_LOGIN = /NOAUTH|WRONGPASS|invalid password/

/** What ioredis says when none of the sentinels is of use; the words of the last one stand behind it. */
export const SENTINELS_AWAY = /^All sentinels are unreachable/

/** The sentence for a login that the sentinels refused, which is not that of Redis. */
export const sentinelRefusal = ({ message }: Error): string | undefined =>
  REFUSED_LOGIN.test(message)
    ? 'The sentinels in REDIS_URL refuse the login: write their password as &sentinel_password=PASSWORD there, and &sentinel_username=USER if they have users.'
    : /NOPERM/.test(message)
      ? 'The sentinels in REDIS_URL give the user sentinel_username too few rights: allow it the command SENTINEL.'
      : /DENIED/.test(message)
        ? 'The sentinels in REDIS_URL are in protected mode: give them a password, or "protected-mode no" in a network that only you use.'
        : undefined

/** Whether Redis answers with TLS where we ask without, or the other way round: such a server says nothing to us. */
export async function isOtherwise({ host, port, path, tls }: NodeOptions): Promise<boolean> {
  if (port === undefined || path) return false
  const to = { host, port: Number(port), rejectUnauthorized: false, timeout: OTHERWISE_MS }
  const socket = (tls ? connectTcp(to) : connectTls(to)).on('error', () => undefined)
  socket.on('timeout', () => socket.destroy(new Error('too late'))).write('PING\r\n')
  // Some end it without a word.
  const answer = await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => [])
  socket.destroy()
  return /^[+-]/.test(`${answer[0]}`)
}
const OTHERWISE_MS = 1000
