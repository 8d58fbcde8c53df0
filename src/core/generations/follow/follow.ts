import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { linkedSignal } from '../../../lib/abort-signals.js'
import { generationFailed, generationTimedOut, shuttingDown } from '../../errors.js'
import { type CancelPorts, cancelGeneration } from '../cancel.js'
import { NO_GPU_IN_TIME } from '../failure-reason.js'
import type { GenerationStatus, GenerationView } from '../generation.js'
import { type LiveBoard, PREVIEWS_EVERY_MS, type PreviewBoard } from '../ports.js'
import type { SubmitPorts, Submitted } from '../submit/ports.js'
import { hasEnded, type Polled, type PollPorts, progressFrom } from './poll.js'

/** Notifies of changes of any number of generations. Holds no pool connection while nothing changes. */
export interface GenerationWatch {
  /**
   * Calls `tell` for each status that differs from the one before, beginning with `seen`; with `undefined` for the
   * current one, too. Usually within milliseconds; after an outage within seconds.
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

const ROWS_POLL_MS = 500
/** Smaller changes of the progress (0 to 1) are not reported. */
const PROGRESS_STEP = 0.01
/** After so many followers the loop yields to other requests. */
const YIELD_EVERY = 50

/** A queue position that is not known yet. */
const UNKNOWN_POSITION = 0

/** Follows any number of generations with one watch, and one poll of positions, progress and previews for all. */
export function createFollowing({ watch, positions, progress, previews }: FollowPorts) {
  const followers = new Set<Follower>()
  let polling = false
  let previewsAt = Number.NEGATIVE_INFINITY

  const pollSoon = () => {
    if (polling) return
    polling = true
    setTimeout(async () => {
      // The next poll retries what failed.
      await Promise.allSettled([pollPositions(), pollProgress()])
      polling = false
      if (followers.size > 0) pollSoon()
    }, ROWS_POLL_MS).unref()
  }

  const pollPositions = () =>
    forEachYielding(followers, async (follower) => {
      const { seen } = follower
      if (seen.status !== 'queued') return
      const queuePosition = await positions.of(seen)
      if (follower.seen !== seen || seen.queuePosition === queuePosition || !followers.has(follower)) return
      follower.seen = { ...seen, queuePosition }
      const kind = seen.queuePosition === UNKNOWN_POSITION ? 'status' : 'queue_position'
      follower.tell({ kind, now: follower.seen })
    })

  const pollProgress = async () => {
    const running = [...followers].filter(({ live, seen }) => live && seen.status === 'processing')
    if (running.length === 0) return
    const ids = [...new Set(running.map(({ seen }) => seen.id))]
    const withPreviews = performance.now() - previewsAt >= PREVIEWS_EVERY_MS
    if (withPreviews) previewsAt = performance.now()
    const [fractions, images] = await Promise.all([
      allOf(progress, ids),
      withPreviews ? allOf(previews, ids) : undefined,
    ])
    await forEachYielding(running, async (follower) => {
      const { seen } = follower
      if (seen.status !== 'processing' || !followers.has(follower)) return
      const { progress: fraction } = progressFrom(fractions.get(seen.id))
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
     * Calls `tell` for each change since `seen`: of the status immediately, of the position within about half a second.
     * @param live whether to report progress and previews, too
     * @returns stops following
     */
    follow(seen: Polled, live: boolean, tell: (change: Change) => void): () => void {
      const follower: Follower = { seen, live, tell, preview: undefined }
      const unwatch = watch.watch(seen.id, seen.status, (view) => {
        follower.seen = withoutProgress(view)
        // A requeued generation is reported by the next poll, with its position.
        if (follower.seen.status !== 'queued') tell({ kind: 'status', now: follower.seen })
      })
      followers.add(follower)
      pollSoon()
      return () => {
        followers.delete(follower)
        unwatch()
      }
    },
  }
}

async function allOf<T>(board: LiveBoard<T>, ids: readonly string[]): Promise<ReadonlyMap<string, T | undefined>> {
  return new Map(await Promise.all(ids.map(async (id) => [id, await board.get(id)] as const)))
}

function withoutProgress(view: GenerationView): Polled {
  const { status } = view
  if (status === 'queued') return { ...view, status, queuePosition: UNKNOWN_POSITION }
  return status === 'processing' ? { ...view, status, ...progressFrom() } : { ...view, status }
}

async function forEachYielding<T>(all: Iterable<T>, visit: (one: T) => Promise<void>): Promise<void> {
  let visited = 0
  for (const one of [...all]) {
    await visit(one)
    if (++visited % YIELD_EVERY === 0) await yieldToEventLoop()
  }
}

/** A time-out in ms, then signals whose abort ends a wait, too. */
type Limits = readonly [timeoutMs: number, signals: readonly AbortSignal[]]

/** Resolves to the generation when its status or position has changed, or to `seen` at the time-out or an abort. */
export async function waitForChange(following: Following, seen: Polled, ...limits: Limits): Promise<Polled> {
  const changed = await firstValue<Polled>(
    (tell) => following.follow(seen, false, (change) => change.kind !== 'preview' && tell(change.now)),
    ...limits,
  )
  return changed ?? seen
}

/** Resolves when the generation has ended, or to undefined at the time-out or an abort. */
export const waitForEnd = ({ watch }: GenerationWatch, id: string, ...limits: Limits) =>
  firstValue<GenerationView>((tell) => watch(id, undefined, (view) => hasEnded(view) && tell(view)), ...limits)

/** Tells each change of a generation. Resolves to how it stands at its end, or at the time-out or an abort. */
export async function followToEnd(
  following: Following,
  seen: Polled,
  tell: (now: Polled) => void,
  ...limits: Limits
): Promise<Polled> {
  let now = seen
  if (hasEnded(seen)) return seen
  const follow = (end: (value: true) => void) =>
    following.follow(seen, true, (change) => {
      if (change.kind === 'preview') return
      now = change.now
      if (hasEnded(now)) end(true)
      else tell(now)
    })
  await firstValue(follow, ...limits)
  return now
}

/** @param subscribe returns a function that unsubscribes; must not call `tell` before it returns */
function firstValue<T>(
  subscribe: (tell: (value: T) => void) => () => void,
  ...[timeoutMs, signals]: Limits
): Promise<T | undefined> {
  return new Promise((resolve) => {
    const settle = (value: T | undefined) => {
      clearTimeout(timeout)
      stop.clear()
      unsubscribe()
      resolve(value)
    }
    const giveUp = () => settle(undefined)
    const stop = linkedSignal(signals)
    const timeout = setTimeout(giveUp, timeoutMs)
    const unsubscribe = subscribe(settle)
    stop.signal.addEventListener('abort', giveUp, { once: true })
    if (stop.signal.aborted) giveUp()
  })
}

export type CreateImagePorts = SubmitPorts & CancelPorts & { readonly watch: GenerationWatch }

/**
 * Waits for the images of a submitted generation, without a database connection. The time-out cancels a generation only
 * if it has not started; a running one may still succeed.
 * @param options `gone` aborts when the client has hung up, `leaving` when this server stops; the generation goes on
 * @throws generation_failed, timeout or unavailable
 */
export async function waitForImage(
  ports: CreateImagePorts,
  { id }: Submitted,
  options: { readonly timeoutSeconds: number; readonly gone: AbortSignal; readonly leaving: AbortSignal },
): Promise<GenerationView> {
  const { timeoutSeconds, gone, leaving } = options
  const ended = await waitForEnd(ports.watch, id, timeoutSeconds * 1000, [gone, leaving])
  if (!ended) {
    if (leaving.aborted || gone.aborted) throw shuttingDown(id)
    const canceled = await cancelGeneration(ports, id, NO_GPU_IN_TIME, { onlyQueued: true })
    throw generationTimedOut(id, timeoutSeconds, !canceled)
  }
  if (ended.status === 'failed') throw generationFailed(ended.error ?? '')
  return ended
}
