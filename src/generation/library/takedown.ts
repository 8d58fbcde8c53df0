import type { ImageStore } from '../image-store.js'

/** Images that were taken down, and of which the file, or the CDN's copy, may still be there. */
export interface Takedowns {
  /** Some that are due, for whoever asks first; each is due again later, and ever later, until it is finished. */
  claimDue(): Promise<string[]>
  finish(slug: string): Promise<void>
}

/** Has the CDN forget what it keeps of a URL. Rejects unless it says that it has. */
export type PurgeCdn = (url: string, signal: AbortSignal) => Promise<void>

interface TakedownPorts {
  readonly takedowns: Takedowns
  readonly images: Pick<ImageStore, 'remove' | 'url'>
  /** Undefined where no CDN is to be told. */
  readonly purge: PurgeCdn | undefined
  /** Told of what will be tried again. */
  readonly onFault: (error: unknown) => void
}

const EVERY_MS = 1000

/** Brings to an end what was begun by whoever took an image down, in any process and however often it takes. */
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
  /** Resolves to whether there may be more at once. */
  const look = async (): Promise<boolean> => {
    const slugs = await takedowns.claimDue()
    const ends = await Promise.allSettled(slugs.map(takeDown))
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
    return slugs.length > 0
  }
  const pass = async () => {
    try {
      while (!signal.aborted && (await look()));
    } catch (error) {
      if (!signal.aborted) onFault(error)
    }
    if (!signal.aborted) timer = setTimeout(pass, EVERY_MS)
  }
  void pass()

  return {
    /** Waits for nothing: what is under way is due again. */
    stop() {
      leaving.abort()
      clearTimeout(timer)
    },
  }
}
