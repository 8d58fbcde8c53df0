import { sql } from 'drizzle-orm'
import { type Database, sqlState } from './client.js'
import { backends, leases } from './process-schema.js'
import { generations } from './schema.js'
import { queryOnce } from './statement.js'

/** What Postgres refuses for a reason that a person can mend, by SQLSTATE, and how. */
const SENTENCES: Readonly<Record<string, string>> = {
  '28000': 'Postgres refuses the user in DATABASE_URL: correct it.',
  '28P01': 'Postgres refuses the user or the password in DATABASE_URL: correct them.',
  '3D000': 'The database in DATABASE_URL does not exist: create it, or correct DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL has no right to that: run "easel migrate" as the owner of the tables, with this user in APP_DATABASE_URL.',
  '42P01': 'The database is not up to date: run "easel migrate" first.',
  '42703': 'The database is not up to date: run "easel migrate" first.',
  '55P03': 'The rows are in use by another process at the moment: try again.',
  '57014': 'Postgres took too long to answer: try again when it is less busy.',
}

/** The sentence for a refusal that somebody can mend; undefined for anything else. */
export const refusalOf = (error: unknown): string | undefined => SENTENCES[stateOf(error) ?? '']

/** Where Postgres asks for a password and there is none, the client itself stops, without a state. */
function stateOf(error: unknown): string | undefined {
  for (let e = error; e instanceof Error; e = e.cause) if (/^SASL: .* password must be/.test(e.message)) return '28P01'
  return sqlState(error)
}

const MENDED_BY_HAND = /^(28|3D|42)/

/**
 * Stops the start where waiting cannot help: wrong user, password or database, or one that was never migrated. A
 * Postgres that is merely away may come later.
 * @throws Error with one sentence
 */
export async function requireUsableDatabase({ pool }: Database): Promise<void> {
  try {
    await queryOnce(pool, sql`SELECT FROM ${generations}, ${backends}, ${leases} LIMIT 0`)
  } catch (error) {
    if (MENDED_BY_HAND.test(stateOf(error) ?? ''))
      throw new Error(refusalOf(error) ?? (error as Error).message, { cause: error })
  }
}

/** Whether the database answers now, and its tables can be read. */
export const isDatabaseReady = ({ pool }: Database): Promise<boolean> =>
  queryOnce(pool, sql`SELECT 1 FROM ${generations} LIMIT 1`).then(
    () => true,
    () => false,
  )
