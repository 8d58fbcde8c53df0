import { SLUG } from '../generation.js'
import type { ImageStore } from '../shared-ports.js'

export interface RemovedImage {
  readonly at: Date
  readonly reason: string | null
}

export interface ImageRemovals {
  /** Marks an image as removed; a repeat keeps the first time and reason. Undefined: the account has no such image. */
  remove(slug: string, reason: string | undefined, accountId?: string): Promise<RemovedImage | undefined>
}

interface RemovePorts {
  readonly removals: ImageRemovals
  readonly images: Pick<ImageStore, 'remove'>
}

/**
 * Takes an image down. The row first: its page says 410 from then on, and if the rest fails here, startTakedowns does it.
 * @param options `accountId`: its owner; without one it may be anybody's
 */
export async function removeImage(
  { removals, images }: RemovePorts,
  slug: string,
  { reason, accountId }: { readonly reason: string | undefined; readonly accountId?: string },
): Promise<RemovedImage | undefined> {
  const removed = SLUG.test(slug) ? await removals.remove(slug, reason, accountId) : undefined
  if (removed) await images.remove(slug)
  return removed
}

/** Images that were taken down, and of which the file, or the CDN's copy, may still be there. */
export interface Takedowns {
  /** Some that are due; each is due again later, and ever later, until it is finished. */
  claimDue(): Promise<string[]>
  finish(slug: string): Promise<void>
}

/** Has the CDN forget its copy of a URL. Rejects unless the CDN says that it has. */
export type PurgeCdn = (url: string, signal: AbortSignal) => Promise<void>

interface TakedownPorts {
  readonly takedowns: Takedowns
  readonly images: Pick<ImageStore, 'remove' | 'url'>
  /** Undefined where there is no CDN to tell. */
  readonly purge: PurgeCdn | undefined
  /** Told of a fault; what failed is tried again. */
  readonly onFault: (error: unknown) => void
}

const EVERY_MS = 1000

/** Removes the file and the CDN's copy of every image that was taken down in any process, and retries what fails. */
export function startTakedowns({ takedowns, images, purge, onFault }: TakedownPorts): { stop(): void } {
  const leaving = new AbortController()
  const { signal } = leaving
  let timer: NodeJS.Timeout | undefined

  const takeDown = async (slug: string) => {
    // The file first: a CDN that asks for it again must not get it.
    await images.remove(slug)
    await purge?.(images.url(slug), signal)
    await takedowns.finish(slug)
  }
  const takeDownAllDue = async () => {
    while (!signal.aborted) {
      const slugs = await takedowns.claimDue()
      if (slugs.length === 0) return
      const ends = await Promise.allSettled(slugs.map(takeDown))
      const failed = ends.find((end) => end.status === 'rejected')
      if (failed) throw failed.reason
    }
  }
  const pass = async () => {
    try {
      await takeDownAllDue()
    } catch (error) {
      if (!signal.aborted) onFault(error)
    }
    if (!signal.aborted) timer = setTimeout(pass, EVERY_MS)
  }
  void pass()

  return {
    /** Does not wait: what is under way is due again later. */
    stop() {
      leaving.abort()
      clearTimeout(timer)
    },
  }
}
