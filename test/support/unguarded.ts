import { type Database, withTransaction } from '../../src/db/client.js'

/**
 * Changes rows as no trigger would allow, such as the time when a generation was submitted. No trigger fires: foreign keys
 * are not checked, and nobody is notified.
 */
export async function unguarded(db: Database, statement: string, values: unknown[] = []): Promise<void> {
  await withTransaction(db, async (_tx, client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(statement, values.length > 0 ? values : undefined)
  })
}
