import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { call, endOf, expectPersonalError, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { givenName } from '../support/given-names.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'

describe('a Postgres that listens at a Unix socket', () => {
  const ends: (() => unknown)[] = []
  const context = useService(async () => {
    const { url } = await createTestDatabase()
    const { username, password, hostname, port, pathname } = new URL(url)
    const home = await mkdtemp(join(tmpdir(), 'easel-socket-'))
    // As Cloud SQL names them.
    const directory = join(home, 'project:region:name')
    await mkdir(directory)
    const socket = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      for (const it of [client, upstream]) it.on('error', () => undefined)
      client.pipe(upstream).pipe(client)
    }).listen(join(directory, '.s.PGSQL.5432'))
    ends.push(
      () => socket.close(),
      () => rm(home, { recursive: true, force: true }),
    )
    const DATABASE_URL = `postgres://${username}:${password}@${pathname}?host=${directory}&sslmode=require`
    return { redis: false, worker: true, env: { DATABASE_URL, INFERENCE_URL: 'preview:' } }
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })

  it('serves all: requests, notices, the queue and workers', async () => {
    const { service } = context
    const db = patientDatabase(service.config.databaseUrl, 1)
    ends.push(() => db.pool.end())
    const user = await givenUser(db)
    const { status, body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
    expect(status).toBe(201)
    expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
  })
})

describe('a Postgres whose name has two addresses', () => {
  let proxy: FaultProxy
  let address: string
  afterEach(() => vi.restoreAllMocks())
  afterAll(() => proxy.close())

  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  const context = useService(async () => {
    const { url } = await createTestDatabase()
    proxy = await startFaultProxy(url)
    address = proxy.through(url).replace('127.0.0.1', 'two-addresses.test')
    givenName('two-addresses.test', ['::1', '127.0.0.1'])
    return { log, env: { DATABASE_URL: address } }
  })

  it('is away when none of them can be reached: 503, with its line in the log', async () => {
    givenName('two-addresses.test', ['::1', '127.0.0.1'])
    const { url, db } = context.service
    const { key } = await givenUser(db) // well-formed, and unknown there
    const account = () => call(url, 'GET', '/api/v1/account', { key })
    expect(await account()).toMatchObject({ status: 401 })
    await proxy.refuse()
    expectPersonalError(await account(), 503, /^The service is temporarily unavailable\. /)
    const told = () => lines.map((line) => JSON.parse(line)).find(({ dependency }) => dependency === 'postgres')
    expect(await until(() => told(), 'the line of the outage')).toMatchObject({ reason: expect.stringMatching(/./) })
    expect(await call(url, 'GET', '/ready')).toMatchObject({ status: 503 })
    await proxy.pass()
    await until(async () => (await account()).status === 401, 'the answer of a service that works')
  })

  it('does not stop the start of a process, which serves when it is there', async () => {
    givenName('two-addresses.test', ['::1', '127.0.0.1'])
    await proxy.refuse()
    const { url } = await context.service.server()
    const { key } = await givenUser(context.service.db)
    const account = () => call(url, 'GET', '/api/v1/account', { key })
    expect((await account()).status).toBe(503)
    await proxy.pass()
    await until(async () => (await account()).status === 401, 'the answer of a service that works')
  })
})
