import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { AccountStore, Caller } from '../account/account.js'
import { hashApiKey, isWellFormedApiKey } from '../account/api-key.js'
import { invalidApiKey, missingApiKey, tooManyGuesses } from '../errors.js'
import type { App } from './fastify-app.js'
import { gatheredLookUps, type LookUp } from './look-ups.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by registerAuthentication before anything else of its scope runs. */
    caller: Caller
    /** By which the caller can be looked up again. */
    keyHash: Buffer
  }
  interface FastifyContextConfig {
    /** This route itself tells the caller that its account was deleted. */
    toldWhenDeleted?: boolean
  }
}

/** Counts events per key over a sliding window. */
export interface EventCounter {
  hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number; readonly ttlMs: number }>
}

export interface AuthenticationOptions {
  readonly accounts: AccountStore
  readonly guesses: EventCounter
  readonly keyPrefix: string
}

/** Well-formed keys that open nothing: a person's typo fails the checksum, so these are guesses or revoked keys. */
const GUESSES_PER_MINUTE = 30

/**
 * Requires a bearer key on every route of this scope; runs before the limiter, which is a hook of each route. Whether a
 * key is a guess is known only once it was looked up, and a valid one is served wherever it comes from: so of networks
 * over the limit of guesses keys are looked up, too, but gathered.
 * @returns the gathered look-up, for keys that are looked up again
 */
export function registerAuthentication(app: App, { accounts, guesses, keyPrefix }: AuthenticationOptions): LookUp {
  /** The networks over the limit, and when they no longer are. */
  const over = new Map<string, number>()
  const gathered = gatheredLookUps(accounts)

  const refusalOf = async (network: string) => {
    let until = over.get(network)
    if (until === undefined) {
      const { current, ttlMs } = await guesses.hit(`guess:${network}`, 60_000, GUESSES_PER_MINUTE)
      if (current <= GUESSES_PER_MINUTE) return invalidApiKey()
      until = performance.now() + ttlMs
      over.set(network, until)
      setTimeout(() => over.delete(network), ttlMs).unref()
    }
    return tooManyGuesses(Math.max(1, Math.ceil((until - performance.now()) / 1000)))
  }

  app.decorateRequest('caller', null as unknown as Caller)
  app.decorateRequest('keyHash', null as unknown as Buffer)
  app.addHook('onRequest', async (request) => {
    const key = bearerOf(request)
    if (!key || !isWellFormedApiKey(key, keyPrefix)) throw missingApiKey()
    const keyHash = hashApiKey(key)
    const network = networkOf(request.ip)
    const caller = await (over.has(network) ? gathered(keyHash) : accounts.findCaller(keyHash))
    if (!caller) throw await refusalOf(network)
    if (caller.account.deleted && !request.routeOptions.config.toldWhenDeleted) throw invalidApiKey()
    request.caller = caller
    request.keyHash = keyHash
  })
  return gathered
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
}

/** An IPv4 address, or the /64 that an IPv6 customer owns whole; some proxies write brackets and a port around it. */
export function networkOf(text: string): string {
  const address = text.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(address)) return text
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv6'
    ? `${(ip as ipaddr.IPv6).parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : ip.toString()
}
