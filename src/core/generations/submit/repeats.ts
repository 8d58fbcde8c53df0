import type { SubmittedGeneration } from '../generation.js'
import type { Submitted } from './ports.js'

/** What makes two requests the same: the API key, and SHA-256 over method, path and validated body. */
export interface RequestIdentity {
  readonly keyId: string
  readonly requestHash: Buffer
}

export interface UnansweredStore {
  /** Keeps for a few minutes that nobody got the answer about this generation. */
  note(generationId: string, request: RequestIdentity): Promise<void>
  /** The generation of such a request that has waited longest and has not failed, if any. Nobody else gets it then. */
  take(request: RequestIdentity): Promise<SubmittedGeneration | undefined>
}

/**
 * Lets a request take over the generation of an earlier one like it whose client hung up before the answer. So a client
 * that repeats on its own, because a proxy or its own time limit gave up, is not charged for another generation. Each
 * such generation is taken over once: several requests that are alike stay several.
 */
export function unansweredRepeats(store: UnansweredStore) {
  /** A repeat may come before this server has stored what its first request left behind. */
  const leaving = new Map<string, Promise<unknown>>()

  return (request: RequestIdentity) => {
    const name = `${request.keyId} ${request.requestHash.toString('base64')}`
    // Read now: later it may be this request itself that leaves.
    const earlier = leaving.get(name)
    return {
      /** The generation that this request takes over. */
      async first(): Promise<SubmittedGeneration | undefined> {
        await earlier
        return store.take(request)
      },

      /** This request's own client has hung up before its answer. @returns when that is stored */
      async leave(submitting: Promise<Submitted>): Promise<void> {
        const noted = submitting.then(
          ({ id }) => store.note(id, request),
          () => undefined, // refused: nothing is left behind
        )
        const all = Promise.allSettled([leaving.get(name), noted])
        leaving.set(name, all)
        await all
        if (leaving.get(name) === all) leaving.delete(name)
        await noted
      },
    }
  }
}
