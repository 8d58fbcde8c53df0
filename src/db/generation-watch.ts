import type { GenerationWatch } from '../generation/follow/follow.js'
import type { GenerationStatus, GenerationView } from '../generation/generation.js'
import type { GenerationEnds } from '../generation/run/lease.js'
import type { Database } from './client.js'
import { FINISHED, listenTo, MOVED } from './notices.js'
import { findMoved, findViews } from './poll-store.js'

/** How often all watched rows are read again, in case a notice was lost. */
const RE_READ_MS = 1000

interface Watcher {
  seen: GenerationStatus | undefined
  readonly tell: (view: GenerationView) => void
}

interface Watched {
  readonly watchers: Set<Watcher>
  /** As last read. */
  status: GenerationStatus | undefined
}

/**
 * Watches any number of generations over one LISTEN connection. The statement that moves or ends one also notifies; in
 * case a notice is lost, one query a second reads all of them again. Notices that come during a query wait for the next
 * one, so at most two connections of the pool are in use.
 */
export function generationWatch(
  db: Database,
  databaseUrl: string,
  onError: (error: Error) => void,
): GenerationWatch & { close(): Promise<void> } {
  const all = new Map<string, Watched>()
  let due = new Set<string>()
  let reading = false

  const tellAll = (views: readonly GenerationView[]) => {
    for (const view of views) {
      const watched = all.get(view.id)
      if (!watched) continue
      watched.status = view.status
      for (const watcher of watched.watchers) {
        if (watcher.seen === view.status) continue
        watcher.seen = view.status
        watcher.tell(view)
      }
    }
  }

  const readDue = async () => {
    if (reading) return
    reading = true
    try {
      while (due.size > 0) {
        const ids = [...due].filter((id) => all.has(id))
        due = new Set()
        if (ids.length > 0) tellAll(await findViews(db, ids))
      }
    } catch (error) {
      onError(error as Error)
    } finally {
      reading = false
    }
  }
  const look = (id: string) => {
    if (!all.has(id)) return
    due.add(id)
    void readDue()
  }

  const reRead = async () => {
    const seen = new Map<string, GenerationStatus>()
    for (const [id, { status, watchers }] of all) {
      if (status !== undefined) seen.set(id, status)
      // Not read yet, or a watcher was not told: its query failed.
      if (status === undefined || [...watchers].some((watcher) => watcher.seen !== status)) due.add(id)
    }
    void readDue()
    if (seen.size > 0) tellAll(await findMoved(db, seen))
  }
  let timer: NodeJS.Timeout | undefined
  const reReadSoon = () => {
    timer ??= setTimeout(async () => {
      await reRead().catch(onError)
      timer = undefined
      if (all.size > 0) reReadSoon()
    }, RE_READ_MS).unref()
  }

  const listener = listenTo(databaseUrl, [MOVED, FINISHED], look, onError)

  return {
    watch(id, seen, tell) {
      const watcher: Watcher = { seen, tell }
      const watched = all.get(id) ?? { watchers: new Set(), status: undefined }
      watched.watchers.add(watcher)
      all.set(id, watched)
      // It may have moved since the caller read it.
      look(id)
      reReadSoon()
      return () => {
        watched.watchers.delete(watcher)
        if (watched.watchers.size === 0 && all.get(id) === watched) all.delete(id)
      }
    },

    async close() {
      all.clear()
      clearTimeout(timer)
      await listener.close()
    },
  }
}

/** Tells workers when another process ends a generation that they run. */
export function generationEnds(
  databaseUrl: string,
  onError: (error: Error) => void,
): GenerationEnds & { close(): Promise<void> } {
  const watched = new Map<string, () => void>()
  const { close } = listenTo(databaseUrl, FINISHED, (id) => watched.get(id)?.(), onError)
  return {
    watch(id, onEnd) {
      watched.set(id, onEnd)
      return () => {
        if (watched.get(id) === onEnd) watched.delete(id)
      }
    },
    close,
  }
}
