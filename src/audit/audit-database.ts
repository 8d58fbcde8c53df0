import pg from 'pg'
import { EXAMPLES, type Violations } from './check.js'

/** Set-based statements over whole tables take longer than a request's may. */
const STATEMENT_TIMEOUT_MS = 60_000

const SETTINGS = `
  SET default_transaction_read_only = on; SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = 2000;
  SET timezone = 'UTC'`

/** One connection that can't write. */
export interface AuditDatabase {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** Counts the rows of a query with one column, a text that names what is wrong. */
  violations(query: string, values?: unknown[]): Promise<Violations>
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
  } catch (error) {
    await close()
    throw error
  }
  return {
    rows: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,

    async violations(query, values = []) {
      const { rows } = await client.query<{ n: number; examples: string[] | null }>(
        `SELECT count(*)::integer AS n, (array_agg(what ORDER BY what))[1:${EXAMPLES}] AS examples
           FROM (${query}) AS found (what)`,
        values,
      )
      return { violations: rows[0]?.n ?? 0, examples: rows[0]?.examples ?? [] }
    },

    close,
  }
}
