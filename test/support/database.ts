import { afterAll, beforeAll } from 'vitest'
import { createDatabase, type Database } from '../../src/db/client.js'
import { createTestDatabase } from './services.js'

/** For what tests themselves ask: on a busy machine a connection may take longer than the service may wait for one. */
export function patientDatabase(url: string, maxConnections: number): Database {
  const db = createDatabase(url, { maxConnections, onError: () => undefined })
  db.pool.options.connectionTimeoutMillis = 60_000
  return db
}

/** A database of the file's own, open while its tests run. Read `db` inside a test, not while the file loads. */
export function useDatabase(): { readonly db: Database; readonly url: string } {
  const held: { db?: Database; url?: string } = {}
  beforeAll(async () => {
    const { url } = await createTestDatabase()
    held.url = url
    held.db = patientDatabase(url, 30)
  })
  afterAll(async () => {
    await held.db?.pool.end()
  })
  return held as { db: Database; url: string }
}
