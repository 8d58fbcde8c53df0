import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { requireFittingPooler, settingsLost } from '../../src/db/checks/pooler-checks.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { auditService } from '../../src/process/audit-service.js'
import { parseConfig } from '../../src/process/config.js'
import { useDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import { createTestDatabase } from '../support/services.js'
import { unguarded } from '../support/unguarded.js'

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

it('an audit goes past a pooler, whose connections others would get as the audit has set them', async () => {
  // The other database stands for the pooler.
  const [{ url: pooled }, storage] = [await createTestDatabase(), await mkdtemp(join(tmpdir(), 'easel-pooler-'))]
  onTestFinished(() => rm(storage, { recursive: true }))
  const { id } = await givenUser(context.db)
  await unguarded(context.db, 'UPDATE users SET credits = credits + 1 WHERE id = $1', [id])
  const urls = { DATABASE_URL: pooled, DATABASE_LISTEN_URL: context.url }
  const checks = await auditService(parseConfig({ ...urls, STORAGE_URL: `file:${storage}` }), { sample: 1 })
  expect(checks.filter(({ violations }) => violations > 0).map(({ name }) => name)).toEqual([
    'balance-is-sum-of-ledger',
  ])
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

describe('what Easel sets on its connections', () => {
  const open = (): Database => {
    const db = createDatabase(context.url, { maxConnections: 1, onError: () => undefined })
    onTestFinished(() => db.pool.end())
    return db
  }
  /** A pooler tells its clients another process ID than that of the connection they get. */
  const behindPooler = async (db: Database): Promise<Database> => {
    const client = await db.pool.connect()
    Object.assign(client, { processID: 1 })
    client.release()
    return db
  }

  it('is not lost without a pooler', async () => {
    expect(await settingsLost(open())).toBeUndefined()
  })

  it('is lost behind a pooler, until Postgres sets it by itself with the commands that are told', async () => {
    const sentence = (await settingsLost(await behindPooler(open()))) ?? ''
    expect(sentence).toMatch(
      /^A pooler shares connections .* SET lock_timeout = '2000';.* SET statement_timeout = '5000';.* Then let the pooler connect anew\.$/,
    )
    for (const command of sentence.match(/ALTER ROLE [^;]+;/g) ?? []) await context.db.pool.query(command)
    expect(await settingsLost(await behindPooler(open()))).toBeUndefined()
  })
})
