import { tooManyStreams } from '../core/errors.js'

/** An account has one generation at a time, so more calls than one wait for the same one. */
const MAX_PER_ACCOUNT = 8

/** By how much a cancellation may overtake its call. */
const OVERTAKES_MS = 10_000

/** The calls that wait for a generation on this server. */
export function runningCalls() {
  const byName = new Map<string, AbortController>()
  /** A cancellation may overtake its call. */
  const canceledBefore = new Set<string>()
  const perAccount = new Map<string, number>()

  const count = (accountId: string, by: 1 | -1) => {
    const calls = (perAccount.get(accountId) ?? 0) + by
    if (calls > 0) perAccount.set(accountId, calls)
    else perAccount.delete(accountId)
  }

  return {
    /**
     * @param name by which it may be canceled
     * @throws too_many_streams, before anything is done
     */
    async during<T>(
      accountId: string,
      name: string | undefined,
      work: (canceled: AbortSignal) => Promise<T>,
    ): Promise<T> {
      if ((perAccount.get(accountId) ?? 0) >= MAX_PER_ACCOUNT) throw tooManyStreams(MAX_PER_ACCOUNT)
      const call = new AbortController()
      const ownName = `${accountId} ${name}`
      count(accountId, 1)
      if (name !== undefined) byName.set(ownName, call)
      if (canceledBefore.has(ownName)) call.abort()
      try {
        return await work(call.signal)
      } finally {
        count(accountId, -1)
        // A repeat of the same request has taken its place.
        if (byName.get(ownName) === call) byName.delete(ownName)
      }
    },

    /** False: no such call runs here; one that comes within seconds is canceled, too. */
    cancel(accountId: string, name: string): boolean {
      const ownName = `${accountId} ${name}`
      const call = byName.get(ownName)
      call?.abort()
      if (call) return true
      canceledBefore.add(ownName)
      setTimeout(() => canceledBefore.delete(ownName), OVERTAKES_MS).unref()
      return false
    },
  }
}
