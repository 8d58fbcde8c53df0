import { and, eq, type SQL, sql } from 'drizzle-orm'
import pg from 'pg'
import { auditProgress } from '../db/process-schema.js'
import { assign, queryOnce } from '../db/statement.js'
import { type AuditPosition, EXAMPLES, type Look, type Slice, type SqlCheck, type Violations } from './check.js'

/** Set-based statements over whole tables take longer than a request's may. */
const STATEMENT_TIMEOUT_MS = 60_000

/** One core at most, and enough memory to join a million rows in one go; compiling takes longer than it saves. */
const SETTINGS = `
  SET default_transaction_read_only = on; SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = 2000;
  SET max_parallel_workers_per_gather = 0; SET random_page_cost = 1.1; SET work_mem = '64MB'; SET jit = off; SET timezone = 'UTC'`

/** Not every platform has it: ends the statement of an audit that has gone. */
const OPTIONAL_SETTING = 'SET client_connection_check_interval = 1000'

/** One connection that can't write anything but how far the audit has come. */
export interface AuditDatabase {
  rows<Row>(query: SQL): Promise<Row[]>
  /** Counts what a check's query finds. */
  look(check: SqlCheck, slice: Slice): Promise<Look>
  /** What lies between was right and need not be looked at again; unless another audit has moved the start meanwhile. */
  moveOn(start: AuditPosition, end: AuditPosition): Promise<void>
  /** What comes after was not, and is to be looked at again. */
  moveBack(to: AuditPosition): Promise<void>
  /** Also ends the statement that is running. */
  close(): Promise<void>
}

export async function auditDatabase(url: string): Promise<AuditDatabase> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5000,
    query_timeout: STATEMENT_TIMEOUT_MS + 5000,
    application_name: 'easel audit',
  })
  // A connection that dies also fails the query it was for.
  client.on('error', () => undefined)
  const close = () => client.end().catch(() => undefined)
  try {
    await client.connect()
    await client.query(SETTINGS)
    await client.query(OPTIONAL_SETTING).catch(() => undefined)
  } catch (error) {
    await close()
    throw error
  }
  const violations = async (query: string): Promise<Violations> => {
    const { rows } = await client.query<{ n: number; examples: string[] | null }>(
      `SELECT count(*)::integer AS n, (array_agg(what ORDER BY what))[1:${EXAMPLES}] AS examples
         FROM (${query}) AS found (what)`,
    )
    return { violations: rows[0]?.n ?? 0, examples: rows[0]?.examples ?? [] }
  }
  const write = async (change: SQL) => {
    await client.query('BEGIN READ WRITE')
    await queryOnce(client, sql`UPDATE ${auditProgress} SET ${change}`)
    await client.query('COMMIT')
  }
  return {
    rows: (query) => queryOnce(client, query),

    async look({ query: of, mendedWithinMs }, slice) {
      const query = typeof of === 'string' ? of : of(slice)
      const first = await violations(query)
      if (first.violations === 0 || mendedWithinMs === undefined) return first
      return { ...first, again: { afterMs: mendedWithinMs, look: () => violations(query) } }
    },

    moveOn: (start, end) =>
      write(
        sql`${assign(auditProgress, end)} WHERE ${and(
          eq(auditProgress.seq, start.seq),
          eq(auditProgress.ledgerId, start.ledgerId),
        )}`,
      ),

    moveBack: ({ seq, ledgerId }) =>
      write(
        assign(auditProgress, {
          seq: sql`least(${auditProgress.seq}, ${seq}::bigint)`,
          ledgerId: sql`least(${auditProgress.ledgerId}, ${ledgerId}::bigint)`,
        }),
      ),

    close,
  }
}
