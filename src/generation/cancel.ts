import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '../failpoint.js'
import type { ActiveGenerationLock, GenerationQueue, ImageStore } from './shared-ports.js'

export interface CancelStore {
  /** Ends a generation, with a refund; `onlyQueued`: unless it has started. Undefined: there was nothing to end. */
  cancel(id: string, reason: string, options: { onlyQueued: boolean }): Promise<EndedGeneration | undefined>
}

export interface EndedGeneration {
  readonly id: string
  readonly accountId: string
  readonly attempt: number
  readonly metered: boolean
  readonly reason: string
  /** Slugs under which an attempt may have stored images that nobody will see. */
  readonly leftovers: readonly string[]
}

/** Where a failed generation may leave something behind, outside Postgres. */
export interface LeftoverPorts {
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly images: Pick<ImageStore, 'remove'>
}

export type CancelPorts = LeftoverPorts & { readonly cancels: CancelStore }

/** Ends a generation with a refund, and frees its account for the next one. False: there was nothing to end. */
export async function cancelGeneration(
  ports: CancelPorts,
  id: string,
  reason: string,
  options: { readonly onlyQueued: boolean },
): Promise<boolean> {
  const ended = await ports.cancels.cancel(id, reason, options)
  if (!ended) return false
  await failpoint('cancel.after_end')
  await clearLeftovers(ports, ended)
  return true
}

/** The longest wait for a store that hangs; the reconciler's sweep removes what is left. */
const REMOVED_WITHIN_MS = 1000

/** Frees the account, withdraws the job and removes images that an attempt had stored; best effort. */
export async function clearLeftovers({ lock, queue, images }: LeftoverPorts, ended: EndedGeneration): Promise<void> {
  if (!ended.metered) await lock.release(ended.accountId, ended.id)
  await queue.withdraw(ended)
  const removed = Promise.allSettled(ended.leftovers.map((slug) => images.remove(slug)))
  await Promise.race([removed, delay(REMOVED_WITHIN_MS, undefined, { ref: false })])
}
