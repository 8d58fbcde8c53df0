import { whenStarterIsGone } from './starter.js'

/** The same Ctrl-C comes from the terminal and once more from npm. */
const ECHO_MS = 500

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
  void whenStarterIsGone(() => asked.abort())
  return { asked: asked.signal, forced: forced.signal }
}

/** The value of `work`, unless an interruption comes first; what `work` does goes on. */
export async function unlessInterrupted<T>(work: Promise<T>, { asked }: Interruption): Promise<T> {
  const settled = new AbortController()
  const interrupted = new Promise<never>((_, reject) => {
    const refuse = () => reject(asked.reason)
    if (asked.aborted) refuse()
    else asked.addEventListener('abort', refuse, { once: true, signal: settled.signal })
  })
  try {
    return await Promise.race([work, interrupted])
  } finally {
    settled.abort()
  }
}
