import { type SQL, sql } from 'drizzle-orm'
import { auditProgress } from '../db/process-schema.js'
import { named, pick } from '../db/statement.js'
import type { AuditDatabase } from './audit-database.js'
import type { Slice } from './check.js'

/** How far in the history: before these, everything was looked at. */
export interface Place {
  readonly seq: number
  readonly ledgerId: number
}

/** Rows of each kind: few enough to look the others up one by one, however long the history. */
const SLICE = 20_000
/** By then a row that was begun earlier is stored or never will be: no statement takes so long (db/client.ts). */
const SETTLED = sql`created_at < now() - interval '1 minute'`

/** In the words of an index: by its status it would be looked for among all there are. */
export const NOT_ENDED = 'finished_at IS NULL'

const newest = (status: string) =>
  sql`(SELECT seq FROM generations WHERE status = ${status} AND ${SETTLED} ORDER BY seq DESC LIMIT 1)`.inlineParams()

// Up to the oldest that has not ended, and no further than what may still be joined by an earlier one.
const END = sql`
  SELECT least((SELECT min(seq) FROM generations WHERE ${sql.raw(NOT_ENDED)}),
               coalesce(greatest(${newest('succeeded')}, ${newest('failed')}), 0) + 1) AS seq,
         coalesce((SELECT id FROM credit_ledger WHERE ${SETTLED} ORDER BY id DESC LIMIT 1), 0) + 1 AS "ledgerId"`

const PROGRESS = sql`SELECT ${named(pick(auditProgress, 'seq', 'ledgerId'))} FROM ${auditProgress}`

export interface Part {
  readonly slice: Slice
  readonly start: Place
  readonly end: Place
}

/** @param whole from the beginning, whatever earlier audits have looked at */
export async function partsToAudit(db: AuditDatabase, whole: boolean): Promise<Part[]> {
  const last = await placeOf(db, END)
  let start = whole ? { seq: 0, ledgerId: 0 } : await placeOf(db, PROGRESS)
  const parts: Part[] = []
  while (start.seq + SLICE < last.seq || start.ledgerId + SLICE < last.ledgerId) {
    const end = {
      seq: Math.min(start.seq + SLICE, last.seq),
      ledgerId: Math.min(start.ledgerId + SLICE, last.ledgerId),
    }
    parts.push({ slice: sliceOf(start, end), start, end })
    start = end
  }
  return [...parts, { slice: sliceOf(start), start, end: last }]
}

async function placeOf(db: AuditDatabase, query: SQL): Promise<Place> {
  const [row] = await db.rows<{ seq: string; ledgerId: string }>(query)
  return { seq: Number(row?.seq ?? 0), ledgerId: Number(row?.ledgerId ?? 0) }
}

/** Without an end it reaches to what is stored meanwhile, and to all that has not ended. */
function sliceOf(from: Place, to?: Place): Slice {
  // One index for each status; what has not ended is found in its own.
  const ended = (status: string) =>
    `SELECT * FROM generations WHERE status = '${status}' AND seq >= ${from.seq} ${to ? `AND seq < ${to.seq}` : ''}`
  const active = `UNION ALL SELECT * FROM generations WHERE ${NOT_ENDED}`
  return {
    generations: `(${ended('succeeded')} UNION ALL ${ended('failed')} ${to ? '' : active})`,
    ledger: `(SELECT * FROM credit_ledger WHERE id >= ${from.ledgerId} ${to ? `AND id < ${to.ledgerId}` : ''})`,
  }
}
