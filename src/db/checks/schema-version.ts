/** Which migrations the database has. */
import { sql } from 'drizzle-orm'
import { lastMigration } from '../../core/release.js'
import { type Queryable, queryOnce } from '../statement.js'

/** What was applied, in the form of Drizzle's own migrator, which itself would run all files in one transaction. */
export const JOURNAL = sql.raw('drizzle.__drizzle_migrations')

/** Whether the database has every migration that this program knows. It may have newer ones: they only add. */
export async function isMigrated(on: Queryable): Promise<boolean> {
  const { when } = lastMigration()
  return (await queryOnce(on, sql`SELECT FROM ${JOURNAL} WHERE created_at >= ${when} LIMIT 1`)).length > 0
}
