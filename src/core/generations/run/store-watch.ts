import { setTimeout as after } from 'node:timers/promises'
import type { ImageStore } from '../../images/ports.js'
import { StoreFault, storeFault } from './publish.js'

/** The check of the store may take longer; meanwhile the backend must be announced. */
const STORE_WITHIN_MS = 3000
const STORE_SLOW = new StoreFault('The image store has not finished its check yet: it is slow, or does not answer.')

export type StoreWatch = ReturnType<typeof storeWatch>

/** Whether images can be stored, as a backend's loop has to know: what can't be stored need not be drawn. */
export function storeWatch(images: Pick<ImageStore, 'check'>) {
  /** Until the store's first check, images can't be stored for all we know. */
  let failed = true
  let running: Promise<StoreFault | undefined> | undefined
  /** Why the store last refused images that are still put again, by generation. */
  const refusals = new Map<string, StoreFault>()

  return {
    /** The store refused an image of this generation. Returns whether it is the generation's first refusal. */
    refused(id: string, fault: StoreFault): boolean {
      const isFirst = !refusals.has(id)
      refusals.set(id, fault)
      failed = true
      return isFirst
    },
    /** The generation's images are put no more. */
    ended: (id: string): void => void refusals.delete(id),
    /** Checks the store, if it has failed since the last time. @throws StoreFault while images can't be stored */
    async check(): Promise<void> {
      if (!failed) return
      running ??= images.check().then(
        () => undefined,
        (cause) => storeFault(cause),
      )
      const fault = await Promise.race([running, after(STORE_WITHIN_MS, STORE_SLOW, { ref: false })])
      // The next call reads what this check says in the end.
      if (fault === STORE_SLOW) throw fault
      const [refusal] = refusals.values()
      // What is put again shows more than another check would.
      if (!fault && refusal) throw refusal
      running = undefined
      if (fault) throw fault
      failed = false
    },
  }
}
