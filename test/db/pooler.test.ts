import { expect, it } from 'vitest'
import { requireFittingPooler } from '../../src/db/checks/database-checks.js'
import { createDatabase } from '../../src/db/client.js'
import { useDatabase } from '../support/database.js'
import { createTestDatabase } from '../support/services.js'

const context = useDatabase()

it('a process starts without a pooler, and while Postgres is away', async () => {
  await requireFittingPooler(context.db, context.url)
  await requireFittingPooler(context.db, 'postgres://easel@127.0.0.1:1/easel')
})

it('a process does not start where notices do not arrive', async () => {
  // They stay within their database, as they stay with the connection that a pooler happened to pick.
  const { url } = await createTestDatabase()
  await expect(requireFittingPooler(context.db, url, 100)).rejects.toThrow(
    /^Postgres notices do not arrive: .*DATABASE_LISTEN_URL/,
  )
})

it('a process does not start where a connection has statements that another client prepared', async () => {
  const db = createDatabase(context.url, { maxConnections: 2, onError: () => undefined })
  try {
    const client = await db.pool.connect()
    await client.query('PREPARE easel_probe AS SELECT 1')
    client.release()
    await expect(requireFittingPooler(db, context.url)).rejects.toThrow(
      /^The pooler in front of Postgres loses prepared statements: .*PgBouncer 1\.21/,
    )
  } finally {
    await db.pool.end()
  }
})
