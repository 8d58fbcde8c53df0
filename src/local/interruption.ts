/** The same Ctrl-C comes from the terminal and once more from npm. */
const ECHO_MS = 500
const LOOK_MS = 1000

export interface Interruption {
  /** Aborted by the first Ctrl-C, SIGTERM or SIGHUP, and when npm was killed: come to an orderly end. */
  readonly asked: AbortSignal
  /** Aborted by the second: end at once. */
  readonly forced: AbortSignal
}

/** From here on signals end nothing by themselves. */
export function listenForInterruption(): Interruption {
  const asked = new AbortController()
  const forced = new AbortController()
  let askedAt = 0
  const interrupt = () => {
    if (!asked.signal.aborted) {
      askedAt = performance.now()
      asked.abort()
    } else if (performance.now() - askedAt > ECHO_MS) forced.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  whenNpmIsGone(() => asked.abort())
  return { asked: asked.signal, forced: forced.signal }
}

/**
 * A killed npm can pass nothing on to us, its child: that it is gone shows in our getting another parent. Without an
 * npm nobody is watched: whoever started us by hand may leave.
 */
function whenNpmIsGone(then: () => void): void {
  if (!process.env.npm_lifecycle_event) return
  const npm = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(timer)
    then()
  }, LOOK_MS)
  timer.unref()
}

/** The value of `work`, unless an interruption comes first; what `work` does goes on. */
export const unlessInterrupted = <T>(work: Promise<T>, { asked }: Interruption): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) => {
      const refuse = () => reject(asked.reason)
      if (asked.aborted) refuse()
      else asked.addEventListener('abort', refuse, { once: true })
    }),
  ])
