export interface LimitedSignal {
  readonly signal: AbortSignal
  /** Stops the clock and leaves nothing behind on the other signal; call it when the work has ended. */
  readonly clear: () => void
}

/**
 * Aborts with the other signal, or at its own time limit. Instead of AbortSignal.any over AbortSignal.timeout: Node 20
 * keeps something of each such pair on the other signal for good, and may collect the timer before it has fired.
 */
export function timeLimit(outer: AbortSignal | undefined, ms: number): LimitedSignal {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new DOMException(`Not done within ${ms} ms`, 'TimeoutError')), ms)
  const follow = () => limit.abort(outer?.reason)
  outer?.addEventListener('abort', follow, { once: true })
  if (outer?.aborted) follow()
  return {
    signal: limit.signal,
    clear: () => {
      clearTimeout(timer)
      outer?.removeEventListener('abort', follow)
    },
  }
}

/** Aborts so long after the other signal, and at once where that has aborted already. */
export function graceAfter(outer: AbortSignal | undefined, ms: number): LimitedSignal {
  const late = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const begin = () => {
    timer = setTimeout(() => late.abort(outer?.reason), ms)
  }
  if (outer?.aborted) late.abort(outer.reason)
  else outer?.addEventListener('abort', begin, { once: true })
  return {
    signal: late.signal,
    clear: () => {
      clearTimeout(timer)
      outer?.removeEventListener('abort', begin)
    },
  }
}
