import { afterAll, beforeAll } from 'vitest'
import { createDatabase, type Database } from '../../src/db/client.js'
import { createTestDatabase } from './services.js'

/** A database of the file's own, open while its tests run. Read `db` inside a test, not while the file loads. */
export function useDatabase(): { readonly db: Database; readonly url: string } {
  const held: { db?: Database; url?: string } = {}
  beforeAll(async () => {
    const { url } = await createTestDatabase()
    held.url = url
    held.db = createDatabase(url, { maxConnections: 30, onError: () => undefined })
  })
  afterAll(async () => {
    await held.db?.pool.end()
  })
  return held as { db: Database; url: string }
}
