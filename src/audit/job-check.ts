/** What BullMQ holds: deliveries ("jobs") of active generations, and nothing else. */
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { backends } from '../db/process-schema.js'
import { generations } from '../db/schema.js'
import type { AuditDatabase } from './audit-database.js'
import { counted, type Look } from './check.js'

export interface Job {
  /** BullMQ's job id. */
  readonly id: string
  /**
   * - `waiting`: to be heard; or it was, by a worker that has gone
   * - `heard`: by a worker that is at work because of it
   * - `kept`: where nothing ever belongs, like the failed ones, or in no list at all
   */
  readonly place: 'waiting' | 'heard' | 'kept'
}

/** Every job there is, in pages. */
export type Jobs = () => AsyncIterable<readonly Job[]>

const g = alias(generations, 'g')

/** As queue/generation-job.ts names it. */
const BELL_ID = /^(.+)-(\d+)$/

/** A worker with a free hand hears a job within a second, and finds one that a lost worker had heard within two. */
const HEARD_WITHIN_MS = 4000

/**
 * Jobs that nobody will hear or whose attempt is no longer to be run. A stray one is no fault while every worker is at
 * work: the next one that is free hears it.
 */
export async function jobCheck(db: AuditDatabase, jobs: Jobs): Promise<Look> {
  const first = await leftOver(db, jobs)
  const look = async () => {
    const second = await leftOver(db, jobs)
    return counted([...second].filter((id) => first.has(id)))
  }
  const found = counted([...first])
  return first.size === 0 ? found : { ...found, again: { afterMs: HEARD_WITHIN_MS, look } }
}

async function leftOver(db: AuditDatabase, jobs: Jobs): Promise<Set<string>> {
  const found = new Set<string>()
  const somebodyHears = await freeHand(db)
  for await (const page of jobs()) {
    for (const { id, place } of page) if (place === 'kept') found.add(id)
    const waiting = page.filter(({ place }) => place === 'waiting').map(({ id }) => id)
    if (somebodyHears && waiting.length > 0) for (const id of await stray(db, waiting)) found.add(id)
  }
  return found
}

/** A worker hears as many jobs at once as it has backends. Without any worker a stray job stays for ever. */
async function freeHand(db: AuditDatabase): Promise<boolean> {
  const [row] = await db.rows<{ free: boolean }>(sql`
    SELECT hands = 0 OR hands > (SELECT count(*) FROM ${generations} ${g} WHERE ${g.status} = 'processing') AS free
      FROM (SELECT count(*) AS hands FROM ${backends} WHERE ${backends.seenAt} > now() - interval '15 seconds') b`)
  return row?.free ?? true
}

async function stray(db: AuditDatabase, ids: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ id: string; attempt: number }>(
    sql`SELECT ${g.id}, ${g.attempt} FROM ${generations} ${g}
         WHERE ${g.id} = ANY (${sql.param(ids.map((id) => BELL_ID.exec(id)?.[1] ?? id))})
           AND ${g.status} IN ('queued', 'processing')`,
  )
  const wanted = new Set(rows.map(({ id, attempt }) => `${id}-${attempt}`))
  return ids.filter((id) => !wanted.has(id))
}
