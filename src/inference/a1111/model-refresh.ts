import { whenAborted, withTimeLimit } from '../../lib/abort-signals.js'
import type { ServerHttp } from '../server-http.js'
import { discover } from './discovery.js'

/** How often a server that lacks a wanted model is told to look at its files. */
const EVERY_MS = 60_000
/** Looking at the files of a slow disk takes longer; the next check sees what has become of it. */
const WITHIN_MS = 1_500

/**
 * A server lists the checkpoints that were there when it started, until it is told to look again. It does so between two
 * drawings only, so it is not told during one.
 * @param wanted the model files that it should have
 */
export function modelRefresh(http: ServerHttp, wanted: () => Promise<readonly string[]> = async () => []) {
  let drawings = 0
  let nextAt = Number.NEGATIVE_INFINITY

  async function refreshIfLacking(models: readonly { readonly filename: string }[], limited: AbortSignal) {
    const files = (await Promise.race([wanted(), whenAborted(limited)])) ?? []
    const has = new Set(models.map(({ filename }) => filename))
    if (drawings > 0 || files.every((filename) => has.has(filename))) return false
    nextAt = performance.now() + EVERY_MS
    await http.post('/sdapi/v1/refresh-checkpoints', {}, limited)
    return true
  }

  return {
    /** What the server has, after another look at its files if a wanted one is missing. @throws BackendError */
    async withRefresh(signal: AbortSignal) {
      const server = await discover(http, signal)
      if (drawings > 0 || performance.now() < nextAt) return server
      const look = (limited: AbortSignal) => refreshIfLacking(server.models, limited)
      // Where it can't be known what is wanted, or the server refuses, the list stays as it is.
      const refreshed = await withTimeLimit(signal, WITHIN_MS, look).catch(() => false)
      return refreshed ? discover(http, signal) : server
    },
    async notDuring<T>(drawing: () => Promise<T>): Promise<T> {
      drawings++
      return drawing().finally(() => drawings--)
    },
  }
}
