import { timeLimit } from '../abort-signals.js'
import { BackendError, type BackendErrorKind } from '../generation/run/backend.js'
import { failure } from './failure.js'
import { recognize } from './recognize.js'
import type { ServerHttp } from './server-http.js'

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
