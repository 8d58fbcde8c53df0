import { tmpdir } from 'node:os'
import { beforeAll, expect, it } from 'vitest'
import { parseConfig } from '../../../src/process/config.js'
import { startServer } from '../../../src/process/start-server.js'
import { startWorker } from '../../../src/process/start-worker.js'
import { useDatabase } from '../../support/database.js'
import { silentLog } from '../../support/service.js'

const database = useDatabase()
beforeAll(() =>
  database.db.pool.query(
    `DELETE FROM drizzle.__drizzle_migrations WHERE created_at = (SELECT max(created_at) FROM drizzle.__drizzle_migrations)`,
  ),
)

it.each([
  ['server', startServer],
  ['worker', startWorker],
])('a %s does not start on a database that lacks a migration', async (_name, start) => {
  const env = { DATABASE_URL: database.url, STORAGE_URL: `file:${tmpdir()}/easel-not-used` }
  await expect(start({ ...parseConfig(env), port: 0 }, silentLog())).rejects.toThrow(
    'The database is not up to date: run "easel migrate" first.',
  )
})
