import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { requireFittingPooler, requirePostgresItself } from '../../src/db/checks/pooler-checks.js'
import { createDatabase } from '../../src/db/client.js'
import { auditService } from '../../src/process/audit-service.js'
import { parseConfig } from '../../src/process/config.js'
import { useDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import { type Pooler, startPooler } from '../support/pooler.js'
import { startService } from '../support/service.js'
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

describe('behind a pooler', () => {
  let pooler: Pooler
  beforeAll(async () => {
    pooler = await startPooler(context.url)
  })
  afterAll(() => pooler.close())

  it('what Easel sets on its connections is lost, until Postgres sets it with the commands that a process tells', async () => {
    const told = async (url: string) => {
      const lines: string[] = []
      const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
      const service = await startService({ log, env: { DATABASE_URL: url, DATABASE_LISTEN_URL: context.url } })
      await service.close()
      return lines.map((line) => JSON.parse(line).msg as string).find((message) => /^A pooler /.test(message))
    }
    expect(await told(`${context.url}?keepalives=1`)).toBeUndefined()
    const sentence = (await told(pooler.through(context.url))) ?? ''
    expect(sentence).toMatch(
      / SET lock_timeout = '2000';.* SET statement_timeout = '5000';.* Then let the pooler connect anew\.$/,
    )
    for (const command of sentence.match(/ALTER ROLE [^;]+;/g) ?? []) await context.db.pool.query(command)
    expect(await told(pooler.through(context.url))).toBeUndefined()
  })

  it('nothing is lost if it shares per session, which needs no way around', async () => {
    await requireFittingPooler(context.db, pooler.through(context.url))
    await requirePostgresItself(pooler.through(context.url), pooler.through(context.url))
  })

  it('"easel migrate" is refused if it shares per transaction', async () => {
    const env = { DATABASE_URL: pooler.through(context.url), DATABASE_LISTEN_URL: context.url, LOG_LEVEL: 'silent' }
    const output = { text: '', write: (text: string) => (output.text += text) }
    const migrate = (url: string) =>
      runCli(['migrate'], { ...env, DATABASE_URL: url }, { stdout: output, stderr: output })
    expect(await migrate(env.DATABASE_URL)).toBe(1)
    expect(output.text).toMatch(/DATABASE_URL leads to a pooler .*: for this command let it lead to Postgres itself/)
    expect(await migrate(context.url)).toBe(0)
  })
})
