/** Generations as those who wait for them see them: polls, and notices of every change. */
import { sql } from 'drizzle-orm'
import type { GenerationWatch } from '../../core/generations/follow/follow.js'
import type { PollStore } from '../../core/generations/follow/poll.js'
import type { GenerationStatus, GenerationView } from '../../core/generations/generation.js'
import type { GenerationEnds } from '../../core/generations/run/lease.js'
import { batched } from '../../lib/batch.js'
import { orBroughtBack } from '../brought-back.js'
import type { Database } from '../client.js'
import { LIVE, liveFirst, type Tables } from '../months.js'
import { FINISHED, listenTo, MOVED } from '../notifications.js'
import { generations as g } from '../schema/generations.js'
import { columns, param, type RowOf, selectAs, statement } from '../statement.js'

export const viewOf = ({ g, i }: Tables) => ({
  ...columns(g, 'id', 'status', 'lane', 'seq', 'seed', 'error', 'createdAt'),
  ...columns(g, 'filename', 'width', 'height', 'steps', 'batchSize'),
  elapsedMs: sql<number | null>`CASE WHEN ${g.status} = 'processing' AND ${g.attempt} = 1 THEN
    (extract(epoch FROM clock_timestamp() - ${g.startedAt}) * 1000)::float8 END`,
  slugs: sql<string[] | null>`CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT array_agg(${i.slug} ORDER BY ${i.idx}) FROM ${i}
     WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END`,
})
export const VIEW = viewOf(LIVE)
export type ViewRow = RowOf<typeof VIEW>

// Not `=` for the user: a planner that expects few generations of a user would read all of them.
const FIND_OWNED = liveFirst<ViewRow, 'id' | 'accountId'>('find_owned', { id: 'text', accountId: 'uuid' }, (tables) => {
  const { g } = tables
  return sql`SELECT ${selectAs(viewOf(tables))} FROM ${g} WHERE ${g.id} = item.id AND ${g.userId} IS NOT DISTINCT FROM item."accountId"`
})

// What is followed is live. How many they are is hidden from the planner: see eachOf.
const FIND_ALL = statement<ViewRow>('find_views')`
  SELECT ${selectAs(VIEW)} FROM ${g} WHERE ${g.id} = ANY ((SELECT ${param('ids')}::text[])::text[])`

const FIND_MOVED = statement<ViewRow>('find_moved')`
  SELECT ${selectAs(VIEW)} FROM unnest(${param('ids')}::text[], ${param('statuses')}::text[]) AS seen (id, status)
    JOIN ${g} ON ${g.id} = seen.id AND ${g.status} <> seen.status`

export const pollStore = (db: Database): PollStore => {
  const find = batched(async (asked: readonly Record<'id' | 'accountId', string>[]) =>
    (await FIND_OWNED(db.pool, asked)).map((row) => row && toView(row)),
  )
  return { findOwned: (accountId, id) => orBroughtBack(db, id, () => find({ accountId, id }), accountId) }
}

export const toView = ({
  filename,
  width,
  height,
  steps,
  batchSize,
  elapsedMs,
  slugs,
  ...view
}: ViewRow): GenerationView => ({
  ...view,
  slugs: slugs ?? [],
  work: { filename, width, height, steps, batchSize },
  runningSince: elapsedMs === null ? undefined : performance.now() - elapsedMs,
})

/** How often all watched rows are read again, in case a notice was lost. */
const RE_READ_MS = 1000

interface Watcher {
  seen: GenerationStatus | undefined
  readonly tell: (view: GenerationView) => void
}

/**
 * Watches any number of generations over one LISTEN connection: the statement that moves or ends one also notifies.
 * Notices that come during a query wait for the next one, so at most two connections of the pool are in use.
 */
export function generationWatch(
  { pool }: Database,
  databaseUrl: string,
  onError: (error: Error) => void,
  reReadMs = RE_READ_MS,
): GenerationWatch & { close(): Promise<void> } {
  const all = new Map<string, Set<Watcher>>()
  let due = new Set<string>()
  let reading = false

  const tell = (rows: readonly ViewRow[]) => {
    for (const view of rows.map(toView)) {
      for (const watcher of all.get(view.id) ?? []) {
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
        if (ids.length > 0) tell(await FIND_ALL.rows(pool, { ids }))
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
    for (const [id, watchers] of all) {
      const [status, ...others] = new Set([...watchers].map((watcher) => watcher.seen))
      // Its watchers know nothing yet or disagree: a query for them failed, or is on its way.
      if (status === undefined || others.length > 0) due.add(id)
      else seen.set(id, status)
    }
    void readDue()
    if (seen.size > 0) tell(await FIND_MOVED.rows(pool, { ids: [...seen.keys()], statuses: [...seen.values()] }))
  }
  let timer: NodeJS.Timeout | undefined
  const reReadSoon = () => {
    timer ??= setTimeout(async () => {
      await reRead().catch(onError)
      timer = undefined
      if (all.size > 0) reReadSoon()
    }, reReadMs).unref()
  }

  const listener = listenTo(databaseUrl, [MOVED, FINISHED], look, onError)

  return {
    watch(id, seen, tell) {
      const watcher: Watcher = { seen, tell }
      const watchers = all.get(id) ?? new Set()
      all.set(id, watchers.add(watcher))
      // It may have moved since the caller read it.
      look(id)
      reReadSoon()
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0 && all.get(id) === watchers) all.delete(id)
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
