import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { collationProblem } from '../../src/db/checks/database-checks.js'
import { createDatabase } from '../../src/db/client.js'

it('a database whose indexes were made by other rules of sorting is named, with what mends it', async () => {
  const name = `t_${randomBytes(8).toString('hex')}`
  const url = new URL(inject('services').postgresAdminUrl)
  const admin = new pg.Client(url.href)
  await admin.connect()
  onTestFinished(() => admin.end())
  // Only rules of ICU and of the system have a version.
  await admin.query(
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en'`,
  )
  onTestFinished(async () => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)))
  url.pathname = name
  const db = createDatabase(url.href, { maxConnections: 1, onError: () => undefined })
  onTestFinished(() => db.pool.end())

  expect(await collationProblem(db)).toBeUndefined()
  await admin.query(`UPDATE pg_database SET datcollversion = '0' WHERE datname = '${name}'`)
  expect(await collationProblem(db)).toMatch(
    new RegExp(`^Postgres sorts .*: REINDEX DATABASE ${name}; ALTER DATABASE ${name} REFRESH COLLATION VERSION;$`),
  )
  await db.pool.query(`ALTER DATABASE ${name} REFRESH COLLATION VERSION`)
  expect(await collationProblem(db)).toBeUndefined()
})
