import type { Database } from '../client.js'
import { collationProblem, newerMigrations, requireUsableDatabase } from './database-checks.js'
import { requireFittingPooler, settingsLost } from './pooler-checks.js'

/**
 * Looks whether a process can work with this database. @returns a sentence for each thing to mend while it works
 * @throws Error with one sentence, though not for a Postgres that is only down: that does not stop the start
 */
export async function startChecks(db: Database, listenUrl: string): Promise<string[]> {
  await requireUsableDatabase(db)
  await requireFittingPooler(db, listenUrl)
  const asked = [settingsLost(db), collationProblem(db), newerMigrations(db.pool)].map((it) =>
    it.catch(() => undefined),
  )
  return (await Promise.all(asked)).filter((sentence) => sentence !== undefined)
}
