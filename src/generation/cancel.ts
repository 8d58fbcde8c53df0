import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '../failpoint.js'
import type { ActiveGenerationLock } from './active-lock.js'
import type { ImageStore } from './image-store.js'
import type { GenerationQueue } from './queue.js'

export interface CancelStore {
  /**
   * Ends a generation that has not finished and gives its credits back; its worker notices at the next heartbeat.
   * `onlyQueued` spares one that is running. Resolves to undefined when there was nothing to end.
   */
  cancel(id: string, reason: string, options: { onlyQueued: boolean }): Promise<EndedGeneration | undefined>
}

export interface EndedGeneration {
  readonly id: string
  readonly accountId: string
  readonly attempt: number
  readonly metered: boolean
  /** What its owner is told. */
  readonly reason: string
  /** The slugs under which an attempt may have stored pictures that nobody will see; none if it never started. */
  readonly leftovers: readonly string[]
}

/** What a generation that ended without pictures leaves behind, outside Postgres. */
export interface LeftoverPorts {
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly images: Pick<ImageStore, 'remove'>
}

export type CancelPorts = LeftoverPorts & { readonly cancels: CancelStore }

/** Ends a generation, gives its credits back and frees its account at once. False: there was nothing to end. */
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

/** A store that hangs keeps nobody waiting for longer; the reconciler's sweep removes what is left. */
const REMOVED_WITHIN_MS = 1000

/** Frees the account, takes the delivery back and removes pictures that an attempt had stored; best effort. */
export async function clearLeftovers({ lock, queue, images }: LeftoverPorts, ended: EndedGeneration): Promise<void> {
  if (!ended.metered) await lock.release(ended.accountId, ended.id)
  await queue.withdraw(ended)
  const removed = Promise.allSettled(ended.leftovers.map((slug) => images.remove(slug)))
  await Promise.race([removed, delay(REMOVED_WITHIN_MS, undefined, { ref: false })])
}
