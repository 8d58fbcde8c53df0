import type { Database } from '../../src/db/client.js'

/** Runs `work` while Postgres refuses to record what operators do. */
export async function unrecordable(db: Database, work: () => Promise<void>): Promise<void> {
  await db.pool.query('ALTER TABLE operator_actions ADD CONSTRAINT refused CHECK (false) NOT VALID')
  try {
    await work()
  } finally {
    await db.pool.query('ALTER TABLE operator_actions DROP CONSTRAINT refused')
  }
}
