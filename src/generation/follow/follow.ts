import { setImmediate as othersTurn } from 'node:timers/promises'
import type { GenerationStatus, GenerationView } from '../generation.js'
import { PREVIEWS_EVERY_MS, type PreviewBoard } from '../shared-ports.js'
import { BEGUN, drawnSoFar, type Polled, type PollPorts } from './poll.js'

/** Tells of changes of any number of generations. While nothing changes it holds no connection of the pool. */
export interface GenerationWatch {
  /**
   * Tells each status that differs from the one before, beginning with `seen`; with `undefined` the present one, too.
   * Mostly within milliseconds; after an outage within seconds.
   * @returns stops watching
   */
  watch(id: string, seen: GenerationStatus | undefined, tell: (view: GenerationView) => void): () => void
}

interface FollowPorts extends Pick<PollPorts, 'positions' | 'progress'> {
  readonly watch: GenerationWatch
  readonly previews: PreviewBoard
}

export type Change =
  | { readonly kind: 'status' | 'queue_position' | 'progress'; readonly now: Polled }
  | { readonly kind: 'preview'; readonly image: Buffer }

interface Follower {
  seen: Polled
  readonly live: boolean
  readonly tell: (change: Change) => void
  preview: Buffer | undefined
}

export type Following = ReturnType<typeof createFollowing>

const LOOK_MS = 500
/** A smaller change of the progress, which ends at 1, is not told. */
const PROGRESS_STEP = 0.01
/** After so many followers other requests get a turn of the event loop. */
const AT_ONCE = 50

/** Stands for a place that is not known yet. */
const UNPLACED = 0

/** Follows generations in any number: one watch, and one look at places, progress and previews for all together. */
export function createFollowing({ watch, positions, progress, previews }: FollowPorts) {
  const followers = new Set<Follower>()
  let looking = false
  let previewsAt = Number.NEGATIVE_INFINITY

  const lookSoon = () => {
    if (looking) return
    looking = true
    setTimeout(async () => {
      // The next look retries what failed.
      await Promise.allSettled([lookAtPlaces(), lookAtProgress()])
      looking = false
      if (followers.size > 0) lookSoon()
    }, LOOK_MS).unref()
  }

  const lookAtPlaces = () =>
    inTurns(followers, async (follower) => {
      const { seen } = follower
      if (seen.status !== 'queued') return
      const queuePosition = await positions.of(seen)
      if (follower.seen !== seen || seen.queuePosition === queuePosition || !followers.has(follower)) return
      follower.seen = { ...seen, queuePosition }
      const kind = seen.queuePosition === UNPLACED ? 'status' : 'queue_position'
      follower.tell({ kind, now: follower.seen })
    })

  const lookAtProgress = async () => {
    const drawn = [...followers].filter(({ live, seen }) => live && seen.status === 'processing')
    if (drawn.length === 0) return
    const ids = [...new Set(drawn.map(({ seen }) => seen.id))]
    const withPreviews = performance.now() - previewsAt >= PREVIEWS_EVERY_MS
    if (withPreviews) previewsAt = performance.now()
    const [fractions, images] = await Promise.all([progress.get(ids), withPreviews ? previews.get(ids) : undefined])
    await inTurns(drawn, async (follower) => {
      const { seen } = follower
      if (seen.status !== 'processing' || !followers.has(follower)) return
      const { progress: fraction } = drawnSoFar(fractions.get(seen.id) ?? -1)
      if (fraction !== undefined && fraction - (seen.progress ?? 0) >= PROGRESS_STEP) {
        follower.seen = { ...seen, progress: fraction, before: 0 }
        follower.tell({ kind: 'progress', now: follower.seen })
      }
      const image = images?.get(seen.id)
      if (!image || follower.preview?.equals(image)) return
      follower.preview = image
      follower.tell({ kind: 'preview', image })
    })
  }

  return {
    /**
     * Tells each change against what was `seen`: of the status at once, of the place within about half a second.
     * @param live whether progress and previews are wanted, too
     * @returns stops following
     */
    follow(seen: Polled, live: boolean, tell: (change: Change) => void): () => void {
      const follower: Follower = { seen, live, tell, preview: undefined }
      const unwatch = watch.watch(seen.id, seen.status, (view) => {
        follower.seen = begun(view)
        // If it is back in the queue, the next look tells it with its place.
        if (follower.seen.status !== 'queued') tell({ kind: 'status', now: follower.seen })
      })
      followers.add(follower)
      lookSoon()
      return () => {
        followers.delete(follower)
        unwatch()
      }
    },
  }
}

function begun(view: GenerationView): Polled {
  const { status } = view
  if (status === 'queued') return { ...view, status, queuePosition: UNPLACED }
  return status === 'processing' ? { ...view, ...BEGUN } : { ...view, status }
}

async function inTurns<T>(all: Iterable<T>, visit: (one: T) => Promise<void>): Promise<void> {
  let visited = 0
  for (const one of [...all]) {
    await visit(one)
    if (++visited % AT_ONCE === 0) await othersTurn()
  }
}
