import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccountStore, Caller } from '../../core/accounts/account.js'
import { hashApiKey, isWellFormedApiKey, operatorKeyPrefix } from '../../core/accounts/api-key.js'
import {
  invalidApiKey,
  missingApiKey,
  operatorKeyRefused,
  operatorKeyRequired,
  tooManyGuesses,
} from '../../core/errors.js'
import { batched } from '../../lib/batch.js'
import type { App } from './fastify-app.js'
import { networkOf } from './networks.js'
import { clientGone } from './responses.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set, like keyHash, before anything else of an authenticated scope runs. */
    caller: Caller
    keyHash: Buffer
  }
  interface FastifyContextConfig {
    /** This route itself tells callers that their account was deleted. */
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
  /** Takes the keys of operators instead of the others. */
  readonly forOperators?: boolean
  /** Resolves when a batch of slow look-ups may begin. Another one is for tests. */
  readonly slowBatch?: () => Promise<unknown>
}

type FindCaller = AccountStore['findCaller']

/** Only well-formed unknown keys count: a typo fails the checksum, so these are guesses or revoked keys. */
const GUESSES_PER_MINUTE = 30

/**
 * Requires an API key on every route of this scope, before the rate limiter runs. Only a look-up tells whether a key
 * is a guess, and a valid key is served wherever it comes from. So keys from a network with too many guesses are still
 * looked up, but slowly, in batches.
 * @returns the slow look-up, for keys that are looked up again
 */
export function registerAuthentication(app: App, options: AuthenticationOptions): FindCaller {
  const { accounts, guesses, keyPrefix, forOperators = false, slowBatch = () => after(BATCH_MS) } = options
  const prefixes = [keyPrefix, operatorKeyPrefix(keyPrefix)]
  /** The networks with too many guesses, and when that ends. */
  const blockedUntil = new Map<string, number>()
  const findSlowly = slowlyFindCaller(accounts, slowBatch)

  const refusalOf = async (network: string) => {
    let until = blockedUntil.get(network)
    if (until === undefined) {
      const { current, ttlMs } = await guesses.hit(`guess:${network}`, 60_000, GUESSES_PER_MINUTE)
      if (current <= GUESSES_PER_MINUTE) return invalidApiKey()
      until = performance.now() + ttlMs
      blockedUntil.set(network, until)
      setTimeout(() => blockedUntil.delete(network), ttlMs).unref()
    }
    return tooManyGuesses(Math.max(1, Math.ceil((until - performance.now()) / 1000)))
  }

  app.decorateRequest('caller', null as unknown as Caller)
  app.decorateRequest('keyHash', null as unknown as Buffer)
  app.addHook('onRequest', async (request) => {
    const key = keyOf(request.headers)
    if (!key || !prefixes.some((prefix) => isWellFormedApiKey(key, prefix))) throw missingApiKey()
    const keyHash = hashApiKey(key)
    const network = networkOf(request.ip)
    const caller = await (blockedUntil.has(network) ? findSlowly(keyHash) : accounts.findCaller(keyHash))
    if (!caller) throw await refusalOf(network)
    if (caller.account.deleted && !request.routeOptions.config.toldWhenDeleted) throw invalidApiKey()
    if ((caller.keyKind === 'operator') !== forOperators)
      throw forOperators ? operatorKeyRequired() : operatorKeyRefused()
    request.caller = caller
    request.keyHash = keyHash
  })
  return findSlowly
}

/** The key of `Authorization: Bearer`, else that of `X-API-Key`. Any other Authorization is a proxy's own, and no key. */
function keyOf({ authorization = '', 'x-api-key': apiKey }: IncomingHttpHeaders): string | undefined {
  if (/^Bearer\b/i.test(authorization)) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  return typeof apiKey === 'string' ? apiKey : undefined
}

/** How long what was read before the body may be used. Most bodies arrive in a tenth of that. */
const READ_AHEAD_FRESH_MS = 1000

/** Whether what was read before the body may still be used: a slow body, or whatever else takes long, makes it old. */
export const isReadAheadFresh = ({ elapsedTime }: FastifyReply): boolean => elapsedTime < READ_AHEAD_FRESH_MS

/** The catalog's revision at the look-up of the key; null, which means "read it", once that is old. */
export const catalogRevisionOf = (request: FastifyRequest, reply: FastifyReply): string | null =>
  isReadAheadFresh(reply) ? request.caller.catalogRevision : null

/** How long a batch collects keys. */
const BATCH_MS = 50

/** Looks keys up in batches: one query at a time, and at most twenty a second. */
function slowlyFindCaller(accounts: Pick<AccountStore, 'findCallers'>, pause: () => Promise<unknown>): FindCaller {
  let latest: Promise<unknown> = Promise.resolve()
  const find = (hashes: readonly Buffer[]) => {
    const callers = accounts.findCallers(hashes)
    latest = callers
    return callers
  }
  return batched(find, () => Promise.allSettled([pause(), latest]))
}

/** A revoked key may keep a stream open for 5 s at most; the look-up takes part of that. */
const LOOK_UP_EVERY_MS = 2000

/** Aborts when the key of a request is revoked, until the request is answered. */
export type KeyRevoked = ReturnType<typeof watchRevocations>

/** Authentication sees a key only once, so the keys of open streams and waits are looked up every few seconds. */
export function watchRevocations(app: App, findCaller: FindCaller) {
  const open = new Map<AbortController, Buffer>()
  const lookUp = async (revoked: AbortController, keyHash: Buffer) => {
    const caller = await findCaller(keyHash)
    if (!caller || caller.account.deleted) revoked.abort()
  }
  const timer = setInterval(() => {
    // If it fails, the next look-up tries again.
    for (const [revoked, keyHash] of open) lookUp(revoked, keyHash).catch(() => undefined)
  }, LOOK_UP_EVERY_MS).unref()
  app.addHook('preClose', async () => clearInterval(timer))

  return (request: FastifyRequest, reply: FastifyReply): AbortSignal => {
    const revoked = new AbortController()
    const gone = clientGone(request, reply)
    if (!gone.aborted) open.set(revoked, request.keyHash)
    gone.addEventListener('abort', () => open.delete(revoked))
    return revoked.signal
  }
}
