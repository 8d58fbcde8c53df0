import { and, eq, type SQL, sql } from 'drizzle-orm'
import { UNLIMITED_TRANSACTIONS } from '../client.js'
import { postgresClient } from '../hosts.js'
import { auditProgress } from '../schema/operator.js'
import { columns, queryOnce, selectAs, setList } from '../statement.js'
import { NAMED, type Violations } from './check.js'

/** Statements over whole tables take longer than those of a request. */
const STATEMENT_TIMEOUT_MS = 60_000

/** One core at most, and memory to join a million rows in one statement; JIT compiling costs more than it saves. */
const SETTINGS = `
  SET default_transaction_read_only = on; SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = 2000;
  SET max_parallel_workers_per_gather = 0; SET random_page_cost = 1.1; SET work_mem = '64MB'; SET jit = off; SET timezone = 'UTC'`

/** How far the audit has come: every generation and ledger entry before these was checked. */
type AuditPosition = Readonly<Record<'seq' | 'ledgerId', number>>

export type AuditDatabase = Awaited<ReturnType<typeof auditDatabase>>

/**
 * One connection; it is read-only, except that it records the audit's position.
 * @param url past a pooler that pools per transaction: others would get the connection as it is set here
 */
export async function auditDatabase(url: string) {
  const client = postgresClient(url, {
    connectionTimeoutMillis: 5000,
    query_timeout: STATEMENT_TIMEOUT_MS + 5000,
    application_name: 'easel audit',
  })
  // The query that runs on a dying connection fails, too.
  client.on('error', () => undefined)
  const close = () => client.end().catch(() => undefined)
  try {
    await client.connect()
    await client.query(SETTINGS)
    await client.query(UNLIMITED_TRANSACTIONS).catch(() => undefined)
    // Ends the statement when the audit's process has died. Not every platform has it.
    await client.query('SET client_connection_check_interval = 1000').catch(() => undefined)
  } catch (error) {
    await close()
    throw error
  }
  const write = async (change: SQL) => {
    await client.query('BEGIN READ WRITE')
    await queryOnce(client, sql`UPDATE ${auditProgress} SET ${change}`)
    await client.query('COMMIT')
  }
  return {
    /** Also ends the statement that is running. */
    close,
    rows: <Row>(query: SQL): Promise<Row[]> => queryOnce(client, query),

    /** What a query for one column of text finds. */
    async texts(query: SQL): Promise<string[]> {
      return (await queryOnce<Record<string, string>>(client, query)).flatMap((row) => Object.values(row))
    },

    async violations(query: string): Promise<Violations> {
      const { rows } = await client.query<{ n: number; examples: string[] | null }>(
        `SELECT count(*)::integer AS n, (array_agg(what ORDER BY what))[1:${NAMED}] AS examples
           FROM (${query}) AS found (what)`,
      )
      return { violations: rows[0]?.n ?? 0, examples: rows[0]?.examples ?? [] }
    },

    /** Records that everything between had no violation, unless another audit has moved the start meanwhile. */
    moveOn(start: AuditPosition, end: AuditPosition): Promise<void> {
      const unmoved = and(eq(auditProgress.seq, start.seq), eq(auditProgress.ledgerId, start.ledgerId))
      return write(sql`${setList(auditProgress, end)} WHERE ${unmoved}`)
    },

    /** Has everything from this position on checked again, because of a violation there. */
    moveBack({ seq, ledgerId }: AuditPosition): Promise<void> {
      const least = { seq: sql`least(seq, ${seq}::bigint)`, ledgerId: sql`least(ledger_id, ${ledgerId}::bigint)` }
      return write(setList(auditProgress, least))
    },
  }
}

/** Rows of each kind in a slice: few enough for the planner to look related rows up one by one in any history. */
const SLICE = 5_000
/** No statement takes a minute (db/client.ts): older rows are committed by now or never will be. */
const SETTLED = sql`created_at < now() - interval '1 minute'`

/** Worded like the partial index, so that Postgres uses it; by status it would read all rows. */
export const NOT_ENDED = 'finished_at IS NULL'

const endOf = (status: string, way: 'ASC' | 'DESC') =>
  sql`(SELECT seq FROM generations WHERE status = ${status} AND ${SETTLED} ORDER BY seq ${sql.raw(way)} LIMIT 1)`.inlineParams()

const OLDEST = sql`
  SELECT least((SELECT min(seq) FROM generations WHERE ${sql.raw(NOT_ENDED)}), ${endOf('succeeded', 'ASC')}, ${endOf('failed', 'ASC')}) AS seq,
         0 AS "ledgerId"`

// The oldest generation that has not ended, or where earlier rows may still appear, whichever comes first.
const END = sql`
  SELECT least((SELECT min(seq) FROM generations WHERE ${sql.raw(NOT_ENDED)}),
               coalesce(greatest(${endOf('succeeded', 'DESC')}, ${endOf('failed', 'DESC')}), 0) + 1) AS seq,
         coalesce((SELECT id FROM credit_ledger WHERE ${SETTLED} ORDER BY id DESC LIMIT 1), 0) + 1 AS "ledgerId"`

const PROGRESS = sql`SELECT ${selectAs(columns(auditProgress, 'seq', 'ledgerId'))} FROM ${auditProgress}`

/** Of the entry `l`: none that has moved is newer. */
export const NEWER_THAN_MOVED = 'l.id > (SELECT coalesce(max(id), 0) FROM all_credit_ledger WHERE month IS NOT NULL)'

/** `start` and `end` are for the progress, which is of the live tables alone. */
interface Part {
  readonly slice: Slice
  readonly start?: AuditPosition
  readonly end?: AuditPosition
}

/**
 * The slices to check, the oldest first; `whole`: from the beginning, whatever earlier audits have checked, and then all months,
 * with what moves there meanwhile.
 */
export async function partsToAudit(db: AuditDatabase, whole: boolean): Promise<Part[]> {
  const live = await partsOf(db, LIVE, await positionOf(db, whole ? OLDEST : PROGRESS), await positionOf(db, END))
  const months = whole ? await db.texts(sql`SELECT to_char(month, 'YYYY-MM-DD') FROM months ORDER BY month`) : []
  const ofMonths = []
  for (const month of months) {
    const tables = tablesOf(month)
    const edge = (of: 'min' | 'max') =>
      positionOf(
        db,
        sql.raw(
          `SELECT (SELECT ${of}(seq) FROM ${tables.generations} g) AS seq, (SELECT ${of}(id) FROM ${tables.ledger} l) AS "ledgerId"`,
        ),
      )
    ofMonths.push(...(await partsOf(db, tables, await edge('min'), await edge('max'))).map(({ slice }) => ({ slice })))
  }
  return [...live, ...ofMonths]
}

async function partsOf(db: AuditDatabase, tables: Tables, from: AuditPosition, last: AuditPosition) {
  const parts = []
  let start = from
  // Of entries few may be left between those that have moved.
  const entriesFrom = (id: number) =>
    sql.raw(
      `SELECT max(id) + 1 AS "ledgerId" FROM (SELECT id FROM ${tables.ledger} l WHERE id >= ${id} ORDER BY id LIMIT ${SLICE}) e`,
    )
  while (start.seq + SLICE < last.seq || start.ledgerId + SLICE < last.ledgerId) {
    const { ledgerId } = await positionOf(db, entriesFrom(start.ledgerId))
    const end = {
      seq: Math.min(start.seq + SLICE, last.seq),
      ledgerId: ledgerId === 0 ? last.ledgerId : Math.min(ledgerId, last.ledgerId),
    }
    parts.push({ slice: sliceOf(tables, start, end), start, end })
    start = end
  }
  return [...parts, { slice: sliceOf(tables, start), start, end: last }]
}

async function positionOf(db: AuditDatabase, query: SQL): Promise<AuditPosition> {
  const [row] = await db.rows<{ seq?: string; ledgerId: string }>(query)
  return { seq: Number(row?.seq ?? 0), ledgerId: Number(row?.ledgerId ?? 0) }
}

const LIVE = {
  generations: 'generations',
  images: 'images',
  usage: 'usage',
  ledger: 'credit_ledger',
  /** Where the entry `l` before an entry `e` of these is looked for first, and when it is surely that one. */
  near: 'credit_ledger',
  isNearest: NEWER_THAN_MOVED,
}
type Tables = typeof LIVE

/** All that hangs on a generation is in the same month as it. Read through the partitioned tables: on those of a month alone nobody has rights. */
function tablesOf(month: string): Tables {
  const of = (table: string) => `(SELECT * FROM ${table} WHERE month = '${month}')`
  return {
    generations: of('all_generations'),
    images: of('all_images'),
    usage: of('all_usage'),
    ledger: of('all_credit_ledger'),
    near: `(SELECT * FROM all_credit_ledger WHERE month = '${month}' OR month IS NULL)`,
    isNearest: `l.id > (SELECT coalesce(max(id), 0) FROM all_credit_ledger WHERE month < '${month}')
      AND e.id < (SELECT coalesce(min(id), 9223372036854775807) FROM all_credit_ledger WHERE month > '${month}')`,
  }
}

/** A part of the history, to select from. What has ended no longer changes and is checked once, the rest every time. */
export type Slice = ReturnType<typeof sliceOf>

/** Without an end the slice includes rows that are stored meanwhile, and every generation that has not ended. */
function sliceOf(tables: Tables, from: AuditPosition, to?: AuditPosition) {
  // Each status has its own index, and so have the generations that have not ended.
  const ended = (status: string) =>
    `SELECT * FROM ${tables.generations} g WHERE status = '${status}' AND seq >= ${from.seq} ${to ? `AND seq < ${to.seq}` : ''}`
  const active = `UNION ALL SELECT * FROM generations WHERE ${NOT_ENDED}`
  return {
    generations: `(${ended('succeeded')} UNION ALL ${ended('failed')} ${to || tables !== LIVE ? '' : active})`,
    ledger: `(SELECT * FROM ${tables.ledger} l WHERE id >= ${from.ledgerId} ${to ? `AND id < ${to.ledgerId}` : ''})`,
    tables,
  }
}
