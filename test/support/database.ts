import { afterAll, beforeAll } from 'vitest'
import { createDatabase, type Database } from '../../src/db/client.js'
import { createTestDatabase } from './services.js'

/**
 * For what tests themselves ask: on a busy machine an answer may take longer than the service may wait for one, and what
 * they hold on purpose must stay held until it has waited.
 */
const PATIENT = { statementMs: 60_000, queryMs: 61_000, lockMs: 60_000, loginMs: 60_000, idleMs: 120_000 }

export const patientDatabase = (url: string, maxConnections: number): Database =>
  createDatabase(url, { maxConnections, onError: () => undefined, times: PATIENT })

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

/** In a transaction: until it ends, each claim waits after it has looked for what it could take. */
export const HOLD_CLAIMS = 'ALTER SEQUENCE create_image_streak OWNED BY NONE'
