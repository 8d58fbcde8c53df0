import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { requireUsableDatabase } from '../../src/db/checks/database-checks.js'
import { requireFittingPooler, settingsLost } from '../../src/db/checks/pooler-checks.js'
import { createDatabase } from '../../src/db/client.js'
import { auditService } from '../../src/process/audit-service.js'
import { parseConfig } from '../../src/process/config.js'
import { useDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import { startPooler } from '../support/pooler.js'
import { startService } from '../support/service.js'
import { createTestDatabase } from '../support/services.js'
import { unguarded } from '../support/unguarded.js'

const context = useDatabase()

/** With TEST_POSTGRES=pgbouncer: the same through PgBouncer. */
const pooled = (url: string) => Object.assign(new URL(url), { host: inject('services').poolerAddress }).href

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
  const toldBehind = async (url: string): Promise<string | undefined> => {
    const db = createDatabase(url, { maxConnections: 2, onError: () => undefined })
    return settingsLost(db).finally(() => db.pool.end())
  }
  const givenPooler = async (shares: Parameters<typeof startPooler>[1]) => {
    const pooler = await startPooler(context.url, shares)
    onTestFinished(() => pooler.close())
    return pooler.through(context.url)
  }

  it('is not lost without a pooler, nor behind one that shares per session', async () => {
    expect(await toldBehind(context.url)).toBeUndefined()
    expect(await toldBehind(await givenPooler('per session'))).toBeUndefined()
  })

  it('is lost behind a pooler that shares per transaction, until Postgres sets it with the commands that are told', async () => {
    const sentence = (await toldBehind(await givenPooler('per transaction'))) ?? ''
    expect(sentence).toMatch(
      / SET lock_timeout = '2000';.* SET statement_timeout = '5000';.* Then let the pooler connect anew\.$/,
    )
    for (const command of sentence.match(/ALTER ROLE [^;]+;/g) ?? []) await context.db.pool.query(command)
    // Another connection of Postgres each, which begins with them.
    expect(await toldBehind(await givenPooler('per transaction'))).toBeUndefined()
  })

  it('is not missed where a limit is shorter, or UTC has its longer name', async () => {
    const set = (name: string, value: string) =>
      context.db.pool.query(
        `ALTER ROLE CURRENT_USER IN DATABASE ${new URL(context.url).pathname.slice(1)} SET ${name} = '${value}'`,
      )
    await set('statement_timeout', '4s')
    await set('timezone', 'Etc/UTC')
    expect(await toldBehind(await givenPooler('per transaction'))).toBeUndefined()
    await set('statement_timeout', '6s')
    expect(await toldBehind(await givenPooler('per transaction'))).toMatch(
      /with ALTER ROLE \S+ IN DATABASE \S+ SET statement_timeout = '5000'; Then/,
    )
  })

  it.skipIf(!inject('services').poolerAddress)('is told by a process at its start if it is lost', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    await context.db.pool.query(
      `ALTER ROLE pooled IN DATABASE ${new URL(context.url).pathname.slice(1)} SET lock_timeout = '1h'`,
    )
    const env = { DATABASE_URL: pooled(context.url), DATABASE_LISTEN_URL: context.url }
    await (await startService({ log, env })).close()
    expect(lines.join('')).toMatch(
      /A pooler shares connections to Postgres per transaction.* SET lock_timeout = '2000';/,
    )
  })
})

it.each(['unsupported startup parameter: options', 'unsupported startup parameter in options: options'])(
  'a pooler that refuses what a connection sets is named, with what mends it: %s',
  async (message) => {
    const answer = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
    const head = Buffer.from([0x45, 0, 0, 0, answer.length + 4])
    const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, answer]))))
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `postgres://easel@127.0.0.1:${(server.address() as AddressInfo).port}/easel?options=-csearch_path%3Dpublic`
    const db = createDatabase(url, { maxConnections: 1, onError: () => undefined })
    onTestFinished(() => db.pool.end())
    await expect(requireUsableDatabase(db)).rejects.toThrow(
      /^The pooler .* sets options: leave it out of DATABASE_URL .*ignore_startup_parameters\.$/,
    )
  },
)

describe('"easel migrate"', () => {
  it.each([
    ['per session', 0, /is up to date/],
    [
      'per transaction',
      1,
      /^error: DATABASE_URL leads to a pooler .*: for this command let it lead to Postgres itself\.$/m,
    ],
  ] as const)('through a pooler that shares %s: exit %i', async (shares, code, told) => {
    const pooler = await startPooler(context.url, shares)
    onTestFinished(() => pooler.close())
    const output = { text: '', write: (text: string) => (output.text += text) }
    const env = { DATABASE_URL: pooler.through(context.url), LOG_LEVEL: 'silent' }
    expect(await runCli(['migrate'], env, { stdout: output, stderr: output })).toBe(code)
    expect(output.text).toMatch(told)
  })
})
