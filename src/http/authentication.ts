import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { AccountStore, Caller } from '../account/account.js'
import { hashApiKey, isWellFormedApiKey } from '../account/api-key.js'
import { invalidApiKey, missingApiKey, tooManyGuesses } from '../errors.js'
import type { App } from './app.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by registerAuthentication before anything else of its scope runs. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** This route itself tells the caller that his account was deleted. */
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

/** Requires a bearer key on every route of this scope; runs before the limiter, which is a hook of each route. */
export function registerAuthentication(app: App, { accounts, guesses, keyPrefix }: AuthenticationOptions): void {
  app.decorateRequest('caller', null as unknown as Caller)
  app.addHook('onRequest', async (request) => {
    // What does not exist asks for no key.
    if (request.is404) return
    const key = bearerOf(request)
    if (!key || !isWellFormedApiKey(key, keyPrefix)) throw missingApiKey()
    const caller = await accounts.findCaller(hashApiKey(key))
    if (!caller) {
      const { current, ttlMs } = await guesses.hit(`guess:${networkOf(request.ip)}`, 60_000, GUESSES_PER_MINUTE)
      if (current > GUESSES_PER_MINUTE) throw tooManyGuesses(Math.max(1, Math.ceil(ttlMs / 1000)))
      throw invalidApiKey()
    }
    if (caller.account.deleted && !request.routeOptions.config.toldWhenDeleted) throw invalidApiKey()
    request.caller = caller
  })
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
}

/** An IPv4 address, or the /64 that an IPv6 customer owns whole. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv6'
    ? `${(ip as ipaddr.IPv6).parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : ip.toString()
}
