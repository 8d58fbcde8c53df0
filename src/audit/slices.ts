import { type SQL, sql } from 'drizzle-orm'
import { auditProgress } from '../db/process-schema.js'
import { named, pick } from '../db/statement.js'
import type { AuditDatabase } from './audit-database.js'
import type { AuditPosition, Slice } from './check.js'

/** Rows of each kind in a slice: so few that a statement ends in time with a cold cache, however long the history is. */
const SLICE = 5_000
/** No statement takes a minute (db/client.ts), so every older row is stored by now or never will be. */
const SETTLED = sql`created_at < now() - interval '1 minute'`

/** Worded like the partial index, so that Postgres uses it. By status it would read all rows. */
export const NOT_ENDED = 'finished_at IS NULL'

const newest = (status: string) =>
  sql`(SELECT seq FROM generations WHERE status = ${status} AND ${SETTLED} ORDER BY seq DESC LIMIT 1)`.inlineParams()

// Up to the oldest generation that has not ended, and only as far as no earlier row can still appear.
const END = sql`
  SELECT least((SELECT min(seq) FROM generations WHERE ${sql.raw(NOT_ENDED)}),
               coalesce(greatest(${newest('succeeded')}, ${newest('failed')}), 0) + 1) AS seq,
         coalesce((SELECT id FROM credit_ledger WHERE ${SETTLED} ORDER BY id DESC LIMIT 1), 0) + 1 AS "ledgerId"`

const PROGRESS = sql`SELECT ${named(pick(auditProgress, 'seq', 'ledgerId'))} FROM ${auditProgress}`

interface Part {
  readonly slice: Slice
  readonly start: AuditPosition
  readonly end: AuditPosition
}

/**
 * The slices of the history that this audit checks, the oldest first.
 * @param whole start at the beginning, whatever earlier audits have checked
 */
export async function partsToAudit(db: AuditDatabase, whole: boolean): Promise<Part[]> {
  const last = await positionOf(db, END)
  let start = whole ? { seq: 0, ledgerId: 0 } : await positionOf(db, PROGRESS)
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

async function positionOf(db: AuditDatabase, query: SQL): Promise<AuditPosition> {
  const [row] = await db.rows<{ seq: string; ledgerId: string }>(query)
  return { seq: Number(row?.seq ?? 0), ledgerId: Number(row?.ledgerId ?? 0) }
}

/** Without an end the slice includes rows that are stored meanwhile, and every generation that has not ended. */
function sliceOf(from: AuditPosition, to?: AuditPosition): Slice {
  // Each status has its own index, and so have the generations that have not ended.
  const ended = (status: string) =>
    `SELECT * FROM generations WHERE status = '${status}' AND seq >= ${from.seq} ${to ? `AND seq < ${to.seq}` : ''}`
  const active = `UNION ALL SELECT * FROM generations WHERE ${NOT_ENDED}`
  return {
    generations: `(${ended('succeeded')} UNION ALL ${ended('failed')} ${to ? '' : active})`,
    ledger: `(SELECT * FROM credit_ledger WHERE id >= ${from.ledgerId} ${to ? `AND id < ${to.ledgerId}` : ''})`,
  }
}
