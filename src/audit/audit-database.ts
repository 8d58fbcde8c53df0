import pg from 'pg'
import { EXAMPLES, type Look, type SqlCheck, type Violations } from './check.js'

/** Set-based statements over whole tables take longer than a request's may. */
const STATEMENT_TIMEOUT_MS = 60_000

/** One core at most, and enough memory to join a million rows in one go; compiling takes longer than it saves. */
const SETTINGS = `
  SET default_transaction_read_only = on; SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = 2000;
  SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'; SET jit = off; SET timezone = 'UTC'`

/** Not every platform has it: ends the statement of an audit that has gone. */
const OPTIONAL_SETTING = 'SET client_connection_check_interval = 1000'

/** One connection that can't write. */
export interface AuditDatabase {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** Counts what a check's query finds. */
  look(check: SqlCheck): Promise<Look>
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
  return {
    rows: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,

    async look({ query, mendedWithinMs }) {
      const first = await violations(query)
      if (first.violations === 0 || mendedWithinMs === undefined) return first
      return { ...first, again: { afterMs: mendedWithinMs, look: () => violations(query) } }
    },

    close,
  }
}
