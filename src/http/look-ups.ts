import { setTimeout as after } from 'node:timers/promises'
import type { AccountStore, Caller } from '../account/account.js'

/** For how long look-ups are gathered: the delay of each, and what keeps their queries few. */
const GATHER_MS = 50

/** Looks a key up by its hash; @throws whatever Postgres does */
export type LookUp = (keyHash: Buffer) => Promise<Caller | undefined>

/** Look-ups that may wait a moment: however many come, they cost Postgres one query at a time, twenty a second at most. */
export function gatheredLookUps(accounts: Pick<AccountStore, 'findCallers'>): LookUp {
  let next: { readonly hashes: Buffer[]; readonly callers: ReturnType<AccountStore['findCallers']> } | undefined
  let latest: Promise<unknown> = Promise.resolve()

  const gather = () => {
    const hashes: Buffer[] = []
    const callers = Promise.allSettled([after(GATHER_MS), latest]).then(() => {
      next = undefined
      return accounts.findCallers(hashes)
    })
    latest = callers
    return { hashes, callers }
  }

  return async (keyHash) => {
    next ??= gather()
    const place = next.hashes.push(keyHash) - 1
    return (await next.callers)[place]
  }
}
