import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { buildBareApp } from '../support/bare-app.js'
import { type Answer, call, expectCreateError, expectPersonalError, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { chargesOf, type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { createTestDatabase } from '../support/services.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

/** On a slow machine the look-up was given up meanwhile, which is told with another time to wait. */
function expectAdmitted({ status, headers }: Answer): void {
  expect([200, 503]).toContain(status)
  if (status === 503) expect(headers.get('retry-after')).toBe('5')
}

const UNAVAILABLE = /^The service is temporarily unavailable\. Try again in a moment\.$/

describe('while every place for a request is taken', () => {
  let proxy: FaultProxy
  let db: Database
  const context = useService(async () => {
    const { url } = await createTestDatabase()
    proxy = await startFaultProxy(url)
    db = patientDatabase(url, 2)
    return {
      env: { DATABASE_URL: proxy.through(url), TRUST_PROXY: '127.0.0.1', RATE_LIMIT_MAX: '1000' },
      server: { slots: { total: 3, perHolder: 2, patienceMs: 300 } },
    }
  })
  afterAll(async () => {
    await proxy.close()
    await db.pool.end()
  })

  const from = (address: string, { key }: GivenUser, method = 'GET', path = '/api/v1/account', body?: unknown) =>
    call(context.service.url, method, path, {
      key,
      headers: { 'x-forwarded-for': address },
      ...(body !== undefined && { body }),
    })

  /** Runs `meanwhile` when two requests of 192.0.2.1 are stuck in their look-ups, and lets them go on then. */
  async function whileTwoAreStuck(user: GivenUser, meanwhile: () => Promise<void>): Promise<void> {
    // The pool has its connections, so that the stuck ones do not fail for want of one.
    await Promise.all([from('192.0.2.1', user), from('192.0.2.1', user), from('192.0.2.2', user)])
    proxy.stall()
    const stuck = [from('192.0.2.1', user), from('192.0.2.1', user)]
    try {
      await turnedAway('192.0.2.1', user)
      await meanwhile()
    } finally {
      await proxy.pass()
      await Promise.all(stuck)
    }
  }

  /** Waits until the address has no place left: two are in by now, whichever they were. */
  const turnedAway = (address: string, user: GivenUser) =>
    until(async () => (await from(address, user)).headers.get('retry-after') === '2', 'the refusal')

  it('a request that finds none in time gets a 503 that says when to come back, in the shape of its interface', async () => {
    const user = await givenUser(db)
    await whileTwoAreStuck(user, async () => {
      const personal = await from('192.0.2.1', user)
      expectPersonalError(personal, 503, UNAVAILABLE)
      expect(personal.headers.get('retry-after')).toBe('2')
      const create = await from('192.0.2.1', user, 'POST', '/v1/images/generate', { prompt: 'x' })
      expectCreateError(create, 503, 'unavailable', UNAVAILABLE, { retry_after: 2 })
      expect(create.headers.get('retry-after')).toBe('2')
    })
    expect(await chargesOf(db, user)).toEqual([])
    expect(await from('192.0.2.1', user)).toMatchObject({ status: 200 })
  })

  it('requests of another address still come in, because no address may take all places', async () => {
    const user = await givenUser(db)
    const others: Promise<Answer>[] = []
    await whileTwoAreStuck(user, async () => {
      others.push(from('192.0.2.2', user))
      await turnedAway('192.0.2.1', user)
    })
    for (const answer of await Promise.all(others)) expectAdmitted(answer)
  })

  it('the addresses of one IPv6 network count as one', async () => {
    const user = await givenUser(db)
    const network = (n: number) => `2001:db8:0:0:${n}::1`
    await Promise.all([from(network(1), user), from(network(2), user), from(network(3), user)])
    proxy.stall()
    const stuck = [from(network(1), user), from(network(2), user)]
    try {
      await turnedAway(network(3), user)
    } finally {
      await proxy.pass()
      await Promise.all(stuck)
    }
  })

  it('health checks are answered', async () => {
    const user = await givenUser(db)
    // Also over a connection that other requests came over before.
    const socket = connect(Number(new URL(context.service.url).port), '127.0.0.1')
    const said = (sentence: string) =>
      until(async () => String((await once(socket, 'data'))[0]).includes(sentence), sentence)
    socket.write('GET /nothing HTTP/1.1\r\nHost: easel.test\r\n\r\n')
    await said('No such endpoint')
    await whileTwoAreStuck(user, async () => {
      const third = from('192.0.2.2', user)
      await turnedAway('192.0.2.3', user)
      expect(await call(context.service.url, 'GET', '/health')).toMatchObject({ status: 200 })
      const health = said('{"status":"ok"}')
      socket.write('GET /health HTTP/1.1\r\nHost: easel.test\r\n\r\n')
      await health
      socket.destroy()
      void third.catch(() => undefined)
    })
  })
})

describe('fifteen health checks at once', () => {
  const context = useService()

  it('ask Postgres once', async () => {
    const { db, url } = context.service
    const asking = async () => {
      const { rows } = await db.pool.query(
        `SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'active' AND query LIKE '%SELECT 1 FROM "generations" LIMIT 1'`,
      )
      return Number(rows[0].count)
    }
    const blocker = await db.pool.connect()
    try {
      await blocker.query('BEGIN; LOCK TABLE generations')
      let answered = false
      const answers = Promise.all(Array.from({ length: 15 }, () => call(url, 'GET', '/ready')))
      void answers.then(() => (answered = true))
      let most = 0
      await until(async () => {
        most = Math.max(most, await asking())
        return answered
      }, 'all answers')
      expect(most).toBe(1)
    } finally {
      await blocker.query('ROLLBACK')
      blocker.release()
    }
    await until(async () => (await call(url, 'GET', '/ready')).status === 200, 'readiness')
  })
})

describe('the place of a request', () => {
  const context = useService({ server: { slots: { total: 1, perHolder: 1, patienceMs: 60_000 } } })
  const account = ({ key }: GivenUser) => call(context.service.url, 'GET', '/api/v1/account', { key })

  it('is free again after each answer, also after one of an error', async () => {
    const user = await givenUser(context.service.db)
    const { url } = context.service
    const wrong: [string, string, unknown?][] = [
      ['GET', '/nothing'],
      ['GET', '/v1/nothing'],
      ['GET', '/%zz'],
      ['GET', '/cdn/none'],
      ['POST', '/api/v1/generate', '{broken'],
      ['POST', '/api/v1/generate', 'x'.repeat(70_000)],
      ['POST', '/v1/images/generate', {}],
    ]
    for (const [method, path, body] of wrong)
      expect(
        (await call(url, method, path, { key: user.key, ...(body !== undefined && { body }) })).status,
      ).toBeLessThan(500)
    expect(await account(user)).toMatchObject({ status: 200 })
  })

  /** A submit whose body is still on its way. */
  async function beginSubmit({ key }: GivenUser) {
    const socket = connect(Number(new URL(context.service.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `POST /api/v1/generate HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${JSON.stringify(PROMPT).length}\r\n\r\n`,
    )
    return socket
  }

  it('is not held by a client whose body is still on its way', async () => {
    const user = await givenUser(context.service.db)
    const socket = await beginSubmit(user)
    for (let n = 0; n < 3; n++) expect(await account(user)).toMatchObject({ status: 200 })
    socket.write(JSON.stringify(PROMPT))
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 201 /)
    socket.destroy()
  })

  it('is free again when the client hangs up before its body has come', async () => {
    const user = await givenUser(context.service.db)
    for (let n = 0; n < 3; n++) {
      const socket = await beginSubmit(user)
      // The next one comes in behind it.
      const next = call(context.service.url, 'GET', '/nothing')
      socket.destroy()
      expect(await next).toMatchObject({ status: 404 })
    }
    expect(await account(user)).toMatchObject({ status: 200 })
  })

  it('is not held by a Create Image client that waits for its image', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const waiting = call(url, 'POST', '/v1/images/generate', { key: user.key, body: { prompt: 'x' } })
    await until(async () => (await chargesOf(db, user)).length === 1, 'the charge')
    expect(await account(user)).toMatchObject({ status: 200 })
    const worker = standInWorker(db)
    await worker.succeed(await worker.claim())
    expect(await waiting).toMatchObject({ status: 200 })
  })

  it('is free again some time after its client has left, even if nothing ever answers the request', async () => {
    const app = await buildBareApp({ slots: { total: 1, perHolder: 1, patienceMs: 60_000, abandonedAfterMs: 50 } })
    let begun = false
    app.get('/never', () => {
      begun = true
      return new Promise(() => undefined)
    })
    try {
      const url = await app.listen({ host: '127.0.0.1', port: 0 })
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET /never HTTP/1.1\r\nHost: easel.test\r\n\r\n')
      await until(() => begun, 'the request')
      socket.destroy()
      expect(await call(url, 'GET', '/nothing')).toMatchObject({ status: 404 })
    } finally {
      await app.close()
    }
  })
})
