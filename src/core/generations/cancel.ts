import { setTimeout as delay } from 'node:timers/promises'
import type { ImageStore } from '../images/ports.js'
import type { Generation } from './generation.js'
import type { ActiveGenerationLock, Delivery, GenerationQueue } from './ports.js'

export interface CancelStore {
  /** Fails an active generation, with a refund; `onlyQueued`: unless it has started. Undefined: nothing to end. */
  cancel(id: string, reason: string, options: { onlyQueued: boolean }): Promise<EndedGeneration | undefined>
}

export interface EndedGeneration extends Delivery, Pick<Generation, 'accountId' | 'metered' | 'requestId'> {
  readonly reason: string
  /** The credits given back. */
  readonly refunded: number
  /** Slugs of images that an attempt may have stored, and that must be removed. */
  readonly leftovers: readonly string[]
}

/** What a failed generation may hold outside Postgres. */
export interface LeftoverPorts {
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly images: Pick<ImageStore, 'remove'>
}

export type CancelPorts = LeftoverPorts & { readonly cancels: CancelStore }

/** Cancels a generation, with a refund, and releases its account's lock. False: nothing to cancel. */
export async function cancelGeneration(
  ports: CancelPorts,
  id: string,
  reason: string,
  options: { readonly onlyQueued: boolean },
): Promise<boolean> {
  const ended = await ports.cancels.cancel(id, reason, options)
  if (!ended) return false
  await clearLeftovers(ports, ended)
  return true
}

/** How long to wait for a store that hangs; the reconciler's sweep removes the rest. */
const REMOVAL_TIMEOUT_MS = 1000

/** Releases the lock, removes the job and the images that an attempt has stored; best effort. */
export async function clearLeftovers({ lock, queue, images }: LeftoverPorts, ended: EndedGeneration): Promise<void> {
  if (!ended.metered) await lock.release(ended.accountId, ended.id)
  await queue.withdraw(ended)
  const removed = Promise.allSettled(ended.leftovers.map((slug) => images.remove(slug)))
  await Promise.race([removed, delay(REMOVAL_TIMEOUT_MS, undefined, { ref: false })])
}
