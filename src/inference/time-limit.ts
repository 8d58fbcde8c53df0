/** A signal that aborts with the outer one or at its own time limit. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Whether the limit, rather than the outer signal, ended it. */
  readonly isOver: () => boolean
  /** Stops the clock; call it when the work has ended. */
  readonly clear: () => void
}

/**
 * Instead of AbortSignal.any over AbortSignal.timeout: in Node 20 the garbage collector may take the timer of such a
 * pair before it has fired, and the work then has no limit at all.
 */
export function timeLimit(outer: AbortSignal, ms: number): TimeLimit {
  const controller = new AbortController()
  let over = false
  const timer = setTimeout(() => {
    over = !outer.aborted
    controller.abort(new DOMException(`Not done within ${ms} ms`, 'TimeoutError'))
  }, ms)
  const follow = () => controller.abort(outer.reason)
  outer.addEventListener('abort', follow, { once: true })
  if (outer.aborted) follow()
  return {
    signal: controller.signal,
    isOver: () => over,
    clear: () => {
      clearTimeout(timer)
      outer.removeEventListener('abort', follow)
    },
  }
}
