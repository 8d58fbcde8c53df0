import { setTimeout as after } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { AccountStore, Caller } from '../account/account.js'
import { hashApiKey, isWellFormedApiKey } from '../account/api-key.js'
import { invalidApiKey, missingApiKey, tooManyGuesses } from '../errors.js'
import { networkOf } from './connections.js'
import type { App } from './fastify-app.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by registerAuthentication before anything else of its scope runs. */
    caller: Caller
    /** With this hash the caller can be looked up again. */
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
}

/** Finds the caller by the hash of their key; @throws whatever Postgres does */
export type FindCaller = (keyHash: Buffer) => Promise<Caller | undefined>

/** Counted are well-formed keys that nobody has: a typo fails the checksum, so these are guesses or revoked keys. */
const GUESSES_PER_MINUTE = 30

/**
 * Requires a bearer key on every route of this scope, before the rate limiter runs. Only a look-up tells whether a key
 * is a guess, and a valid key is served wherever it comes from. So keys from a network with too many guesses are still
 * looked up, but in batches.
 * @returns the look-up in batches, for keys that are looked up again
 */
export function registerAuthentication(app: App, { accounts, guesses, keyPrefix }: AuthenticationOptions): FindCaller {
  /** The networks with too many guesses, and when that ends. */
  const blockedUntil = new Map<string, number>()
  const findInBatch = batchedFindCaller(accounts)

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
    const key = bearerOf(request)
    if (!key || !isWellFormedApiKey(key, keyPrefix)) throw missingApiKey()
    const keyHash = hashApiKey(key)
    const network = networkOf(request.ip)
    const caller = await (blockedUntil.has(network) ? findInBatch(keyHash) : accounts.findCaller(keyHash))
    if (!caller) throw await refusalOf(network)
    if (caller.account.deleted && !request.routeOptions.config.toldWhenDeleted) throw invalidApiKey()
    request.caller = caller
    request.keyHash = keyHash
  })
  return findInBatch
}

const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]

/** How long a batch collects keys. */
const BATCH_MS = 50

/** Looks keys up in batches: one query at a time, and at most twenty a second, however many keys there are. */
function batchedFindCaller(accounts: Pick<AccountStore, 'findCallers'>): FindCaller {
  let next: { readonly hashes: Buffer[]; readonly callers: ReturnType<AccountStore['findCallers']> } | undefined
  let latest: Promise<unknown> = Promise.resolve()

  const newBatch = () => {
    const hashes: Buffer[] = []
    const callers = Promise.allSettled([after(BATCH_MS), latest]).then(() => {
      next = undefined
      return accounts.findCallers(hashes)
    })
    latest = callers
    return { hashes, callers }
  }

  return async (keyHash) => {
    next ??= newBatch()
    const index = next.hashes.push(keyHash) - 1
    return (await next.callers)[index]
  }
}
