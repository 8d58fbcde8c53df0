import type { ActiveGenerationLock, CancelStore, GenerationQueue } from './ports.js'

export interface CancelPorts {
  readonly cancels: CancelStore
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
}

/** Ends a generation, gives its credits back and frees its account at once. False: there was nothing to end. */
export async function cancelGeneration(
  { cancels, lock, queue }: CancelPorts,
  id: string,
  reason: string,
  options: { readonly onlyQueued: boolean },
): Promise<boolean> {
  const ended = await cancels.cancel(id, reason, options)
  if (!ended) return false
  if (!ended.metered) await lock.release(ended.accountId, id)
  await queue.unring(ended)
  return true
}
