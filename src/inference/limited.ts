import { linkedSignal, timeLimit } from '../abort-signals.js'
import { BackendError, type BackendErrorKind } from '../generation/run/backend.js'
import { callFailure, failure } from './backend-failure.js'
import { recognize } from './recognize.js'
import type { ServerHttp } from './server-http.js'

/** How many others the server works for first, as far as it tells; 0: for us. Until it is told the time counts as drawing. */
export type Waiting = (before: number) => void

interface Limits {
  readonly name: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** For waiting, in all; as long as `timeoutMs` unless given. */
  readonly queueMs?: number | undefined
  readonly onWaiting?: Waiting | undefined
}

/**
 * One call of the backend port, with its time: that in a server's queue, behind what nobody here could stop, counts apart
 * from the drawing.
 * @throws BackendError only: `canceled` when the signal aborted, `timeout` after `timeoutMs` of drawing, `busy` after
 *   `queueMs` of waiting, or what the work failed with
 */
export async function limited<T>(
  { name, signal, timeoutMs, queueMs = timeoutMs, onWaiting }: Limits,
  work: (stop: AbortSignal, waiting: Waiting) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stop = linkedSignal([signal, over.signal])
  const phases = {
    drawing: { leftMs: timeoutMs, fail: () => failure('timeout', `${name} took longer than ${timeoutMs} ms`) },
    waiting: { leftMs: queueMs, fail: () => failure('busy', `${name} did not begin within ${queueMs} ms`) },
  }
  let phase = phases.drawing
  let since = performance.now()
  let timer: NodeJS.Timeout | undefined
  const run = () => {
    since = performance.now()
    timer = setTimeout(() => over.abort(phase.fail()), phase.leftMs)
  }
  const enter = (next: typeof phase) => {
    if (next === phase) return
    clearTimeout(timer)
    phase.leftMs -= performance.now() - since
    phase = next
    run()
  }
  run()
  try {
    return await work(stop.signal, (before) => {
      enter(before > 0 ? phases.waiting : phases.drawing)
      onWaiting?.(before)
    })
  } catch (error) {
    if (over.signal.aborted && !signal.aborted) throw over.signal.reason as BackendError
    throw callFailure(name, signal, error)
  } finally {
    clearTimeout(timer)
    stop.clear()
  }
}

const PROBE_TIMEOUT_MS = 10_000
/** It answers, with what another kind of server would say. */
const STRANGE: readonly BackendErrorKind[] = ['unusable', 'bad_output', 'invalid_request']

/**
 * Asks a server what it is and has, within 10 s (or `timeoutMs`, if that is less). One that answers as none of this kind
 * does is said to be what it is, if we can tell.
 * @throws BackendError `unavailable`, `auth` or `unusable` and nothing else; the signal's reason when it aborted
 */
export async function probe<T>(
  { http, signal, timeoutMs }: { readonly http: ServerHttp; readonly signal: AbortSignal; readonly timeoutMs: number },
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = timeLimit(signal, Math.min(timeoutMs, PROBE_TIMEOUT_MS))
  try {
    return await ask(limit.signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof BackendError)) throw failure('unavailable', `${http.name} did not answer in time`, error)
    if (error.kind === 'auth') throw error
    if (!STRANGE.includes(error.kind)) throw failure('unavailable', error.message, error)
    const found = await recognize(http.address, limit.signal).catch(() => undefined)
    const isOther = found !== undefined && !http.name.startsWith(`${found.kind}+`)
    throw failure(
      'unusable',
      isOther ? `${http.name} is ${found.software}: write ${found.entry}` : error.message,
      error,
    )
  } finally {
    limit.clear()
  }
}

/** A report of progress that never falls and never throws: progress is a courtesy. */
export function risingProgress(report: ((progress: number) => void) | undefined): (progress: number) => void {
  let highest = 0
  return (progress) => {
    if (progress <= highest) return
    highest = progress
    try {
      report?.(progress)
    } catch {
      // the listener's trouble, not the generation's
    }
  }
}
