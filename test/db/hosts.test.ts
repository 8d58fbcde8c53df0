import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase, type Database } from '../../src/db/client.js'
import { hostsIn, hostsProblem, postgresClient, serverOf, withHostInPlace } from '../../src/db/hosts.js'
import { listenTo } from '../../src/db/notifications.js'
import { openPool } from '../../src/queue/job-queue.js'
import { promote } from '../programs/chaos/standby.js'
import { makeCertificate } from '../support/certificates.js'
import { createTestDatabase } from '../support/services.js'
import { startTlsProxy } from '../support/tls-proxy.js'
import { until } from '../support/until.js'
import { givenStandby, type Host, type Replicated } from './given-standby.js'

describe('the hosts of a URL', () => {
  it.each([
    ['postgres://u:p@one/db', ['postgres://u:p@one/db'], 'any'],
    ['postgres://u:p@one:1,two:2/db', ['postgres://u:p@one:1/db', 'postgres://u:p@two:2/db'], 'any'],
    [
      'postgresql://u:p%40@[::1]:1,[::2]/db?sslmode=disable&target_session_attrs=read-write',
      ['postgresql://u:p%40@[::1]:1/db?sslmode=disable', 'postgresql://u:p%40@[::2]/db?sslmode=disable'],
      'read-write',
    ],
    [
      'postgres://one,two/db?target_session_attrs=standby&a=b',
      ['postgres://one/db?a=b', 'postgres://two/db?a=b'],
      'standby',
    ],
  ])('of %s are each one with the rest of it', (url, urls, target) => {
    expect(hostsIn(url)).toEqual({ urls, target })
    expect(hostsProblem(url)).toBeUndefined()
  })

  it.each([
    ['postgres://one,,two/db', /^must name its hosts as /],
    ['postgres://one:1,two:x/db', /^must name its hosts as /],
    ['postgres://u@/db?host=one,two', /^must name its hosts before the database/],
    ['postgres://one/db?target_session_attrs=writable', /^has the unknown target_session_attrs "writable"; use any, /],
  ])('of %s can not be used, for a reason that says what to write', (url, reason) => {
    expect(hostsProblem(url)).toMatch(reason)
  })
})

describe('a URL whose host stands elsewhere', () => {
  const SOCKET = 'host=%2Fcloudsql%2Fproject%3Aregion%3Aname&sslmode=disable'

  it.each([
    ['postgres://u:p@/easel?host=/cloudsql/project:region:name', `postgres://u:p@localhost/easel?${SOCKET}`],
    ['postgresql://u:p@/easel?host=%2Fcloudsql%2Fproject:region:name', `postgresql://u:p@localhost/easel?${SOCKET}`],
    ['postgres:///easel?host=/cloudsql/project:region:name', `postgres://localhost/easel?${SOCKET}`],
    ['postgres://u:p@any/easel?host=/cloudsql/project:region:name', `postgres://u:p@localhost/easel?${SOCKET}`],
    ['postgres://u:p@%2Fcloudsql%2Fproject%3Aregion%3Aname/easel', `postgres://u:p@localhost/easel?${SOCKET}`],
    ['postgres://u:p@%2fcloudsql%2fproject:region:name/easel', `postgres://u:p@localhost/easel?${SOCKET}`],
    ['postgres://u@%2Ftmp:5433/easel?a=b', 'postgres://u@localhost:5433/easel?a=b&host=%2Ftmp&sslmode=disable'],
    ['postgres://u@:5433/easel?host=/tmp', 'postgres://u@localhost:5433/easel?host=%2Ftmp&sslmode=disable'],
    ['postgres://u@/easel?host=/tmp&port=5433', 'postgres://u@localhost:5433/easel?host=%2Ftmp&sslmode=disable'],
    ['postgres://u@/easel?host=/tmp/.s.PGSQL.5433', 'postgres://u@localhost:5433/easel?host=%2Ftmp&sslmode=disable'],
    ['postgres://u@/easel?sslmode=require&host=/tmp', 'postgres://u@localhost/easel?host=%2Ftmp&sslmode=disable'],
    ['postgres://u@/easel?host=db.internal&port=5433', 'postgres://u@db.internal:5433/easel'],
    ['postgres://u@/easel?host=::1&a=b', 'postgres://u@[::1]/easel?a=b'],
  ])('%s is written as %s', (url, written) => {
    expect(withHostInPlace(url)).toBe(written)
    expect(URL.canParse(written)).toBe(true)
  })

  it.each([
    'postgres://u:p@db/easel?sslmode=require',
    'postgres:///easel',
    'postgres://%2Ftmp,two/easel',
    'postgres://u:%zz@db/easel',
    'mysql://db/easel',
    'db',
  ])('but %s stays as it is', (url) => {
    expect(withHostInPlace(url)).toBe(url)
  })
})

let pair: Replicated
const dbs: Database[] = []

const open = (target: string, hosts: readonly Host[] = ['standby', 'primary']) => {
  const db = createDatabase(pair.url(hosts, target), { maxConnections: 4, onError: () => undefined })
  dbs.push(db)
  return db
}
const close = async () => {
  for (const db of dbs.splice(0)) await db.pool.end()
  await pair.stop()
}
/** Of the host that a connection leads to; a busy machine may take longer to answer than a host may. */
const portOf = async (db: Database): Promise<number> => {
  const port = () => db.pool.query(`SELECT current_setting('port') AS port`).catch(() => undefined)
  return Number((await until(port, 'an answer')).rows[0].port)
}

describe('a URL of a primary and a standby', () => {
  beforeAll(async () => {
    pair = await givenStandby()
  })
  afterAll(close)

  it('leads connections to the host that fits, wherever it stands in the URL', async () => {
    for (const target of ['read-write', 'primary']) {
      expect(await portOf(open(target))).toBe(pair.primary.port)
      expect(await portOf(open(target, ['primary', 'standby']))).toBe(pair.primary.port)
    }
    for (const target of ['standby', 'read-only', 'prefer-standby'])
      expect(await portOf(open(target, ['primary', 'standby']))).toBe(pair.standby.port)
    expect([pair.primary.port, pair.standby.port]).toContain(await portOf(open('any')))
  })

  it('leads who prefers a standby to the primary where no standby answers', async () => {
    expect(await portOf(open('prefer-standby', ['nobody', 'primary']))).toBe(pair.primary.port)
  })

  it('says of each host why it does not fit, and counts it as an outage', async () => {
    await expect(open('read-write', ['standby', 'nobody']).pool.query('SELECT 1')).rejects.toMatchObject({
      code: '08001',
      message: `no host takes writes (127.0.0.1:${pair.networks.standby.port} is a standby; connect ECONNREFUSED 127.0.0.1:1)`,
    })
    await expect(open('read-write', ['standby']).pool.query('SELECT 1')).rejects.toThrow(/^no host takes writes/)
  })
})

describe('when a standby takes over, a URL of both', () => {
  beforeEach(async () => {
    pair = await givenStandby()
  })
  afterEach(close)

  it('leads to it, and ends at once what still waits for a primary that hangs', async () => {
    const db = open('read-write')
    const queue = openPool(serverOf(pair.url(['standby', 'primary'], 'read-write')), 1)
    onTestFinished(() => queue.end())
    await queue.query('CREATE SCHEMA IF NOT EXISTS bullmq')
    const received: string[] = []
    const listener = listenTo(
      pair.url(['primary', 'standby'], 'read-write'),
      'told',
      (it) => received.push(it),
      () => undefined,
      50,
    )
    onTestFinished(() => listener.close())
    const notify = async (text: string) => {
      await db.pool.query(`SELECT pg_notify('told', $1)`, [text]).catch(() => undefined)
      return received.includes(text)
    }
    await until(() => notify('before'), 'a notice')
    const client = await db.pool.connect()

    pair.networks.primary.stall()
    // Longer than any limit of ours: only the change of the host ends it.
    const stuck = client
      .query(Object.assign({ text: 'SELECT 1' }, { query_timeout: 600_000 }))
      .catch((error: Error) => error)
    const stuckJob = queue.query('SELECT 1').catch((error: Error) => error)
    await promote(pair.standby)
    await until(async () => (await portOf(db)) === pair.standby.port, 'the new primary')

    expect(await stuck).toMatchObject({ message: 'Connection terminated unexpectedly' })
    client.release(true)
    expect(await stuckJob).toBeInstanceOf(Error)
    await until(() => queue.query('SELECT 1').catch(() => undefined), 'a connection of the queue')
    await until(() => notify('after'), 'a notice of the new primary')

    pair.networks.primary.flow()
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => portOf(db))))).toEqual(
      new Set([pair.standby.port]),
    )
  })

  it('leaves a primary that has become read-only', async () => {
    const db = open('read-write')
    expect(await portOf(db)).toBe(pair.primary.port)
    await promote(pair.standby)
    const admin = postgresClient(pair.primary.url)
    await admin.connect()
    await admin.query('ALTER SYSTEM SET default_transaction_read_only = on')
    await admin.query('SELECT pg_reload_conf()')
    await admin.end()
    // It takes writes until each of its processes has read the settings again.
    const writes = () => db.pool.query('CREATE TABLE IF NOT EXISTS written ()').catch(() => undefined)
    await until(async () => (await writes()) && (await portOf(db)) === pair.standby.port, 'a write to the other host')
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => portOf(db))))).toEqual(
      new Set([pair.standby.port]),
    )
  })
})

it('checks the certificate of each host for the name that the URL gives it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'easel-hosts-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const authority = await makeCertificate('authority.test')
  const ca = join(directory, 'ca.pem')
  await writeFile(ca, authority.cert)
  const { url } = await createTestDatabase()
  const proxies = {
    named: await startTlsProxy(url, await makeCertificate('localhost', { by: authority })),
    other: await startTlsProxy(url, await makeCertificate('db.test', { by: authority })),
  }
  onTestFinished(() => {
    for (const proxy of Object.values(proxies)) proxy.close()
  })
  const { username, password, pathname } = new URL(url)
  const at = (proxy: keyof typeof proxies) => `localhost:${new URL(proxies[proxy].through(url)).port}`
  const to = (...hosts: string[]) =>
    `postgres://${username}:${password}@${hosts}${pathname}?sslmode=verify-full&sslrootcert=${ca}&target_session_attrs=read-write`
  const client = postgresClient(to(at('other'), at('named')))
  await client.connect()
  expect(client.port).toBe(Number(at('named').split(':')[1]))
  await client.end()
  await expect(postgresClient(to(at('other'))).connect()).rejects.toMatchObject({
    cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  })
})
