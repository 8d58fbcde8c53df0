import { linkedSignal } from '../../../lib/abort-signals.js'
import { generationFailed, generationTimedOut, shuttingDown } from '../../errors.js'
import { type CancelPorts, cancelGeneration } from '../cancel.js'
import type { GenerationView } from '../generation.js'
import type { SubmitPorts, Submitted } from '../submit/ports.js'
import type { Following, GenerationWatch } from './follow.js'
import { hasEnded, type Polled } from './poll.js'

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

const NO_GPU_IN_TIME = 'Canceled: no GPU was free in time. Please try again later.'

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
