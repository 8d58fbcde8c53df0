import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { readiness } from '../../../src/process/health.js'
import { startOwnRedis } from '../../redis/own-redis.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.js'
import { freePort } from '../../support/free-port.js'
import { givenGeneration, givenUser, rowOf } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { createTestDatabase, redisAvailable } from '../../support/services.js'
import { until, within } from '../../support/until.js'
import { startWorkerProcess } from '../../support/worker-process.js'

const context = useService()

describe('GET /health and GET /ready', () => {
  it.each([
    ['/health', 'ok'],
    ['/ready', 'ready'],
  ])('%s answers 200 without a key', async (path, status) => {
    const answer = await call(context.service.url, 'GET', path)
    expect(answer).toMatchObject({ status: 200, body: { status } })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await call(context.service.url, 'HEAD', path)).toMatchObject({ status: 200, body: '' })
  })

  it.each([
    ['OPTIONS', 204],
    ['HEAD', 200],
    ['GET', 200],
  ])('%s / of a check without a Host answers %i', async (method, status) => {
    const socket = connect(Number(new URL(context.service.url).port), '127.0.0.1')
    socket.write(`${method} / HTTP/1.0\r\n\r\n`)
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })

  it('/ready answers 503 while the server drains, /health still 200', async () => {
    const { url, stop } = await context.service.server()
    // Requests that have begun when the server is told to stop are still served.
    const sockets = ['/ready', '/health'].map((path) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: easel.test\r\n`)
      return { socket, answer: text(socket) }
    })
    for (const { socket } of sockets) await once(socket, 'connect')
    await call(url, 'GET', '/health') // the server has read the halves by now, too
    const stopped = stop()
    await until(
      () =>
        call(url, 'GET', '/health').then(
          () => false,
          () => true,
        ),
      'the closed door',
    )
    for (const { socket } of sockets) socket.write('\r\n')
    const [ready, health] = await Promise.all(sockets.map(({ answer }) => answer))
    expect(ready).toMatch(/^HTTP\/1\.1 503 /)
    expect(ready).toMatch(/\r\nretry-after: 2\r\n/)
    expect(ready).toMatch(/\r\nconnection: close\r\n/)
    expect(ready).toMatch(/\r\n\r\n\{"error":"The service is temporarily unavailable\. [^"]+"\}$/)
    expect(health).toMatch(/^HTTP\/1\.1 200 /)
    await stopped
  })
})

describe('while the moderation endpoint is away', () => {
  const silent = useService({ env: { MODERATION_URL: 'http://127.0.0.1:1/v1/moderations' } })

  it('/ready names it, and stays 200', async () => {
    const { url, db } = silent.service
    expect((await call(url, 'GET', '/ready')).body).toEqual({ status: 'ready' })
    const { key } = await givenUser(db)
    await call(url, 'POST', '/api/v1/moderate', { key, body: { prompt: 'a lighthouse' } })
    expect(await call(url, 'GET', '/ready')).toMatchObject({
      status: 200,
      body: { status: 'ready', moderation: 'unavailable' },
    })
  })
})

describe('GET /version', () => {
  const answered = async (env: Record<string, string>) => {
    const { url } = await context.service.server({}, env)
    const answer = await call(url, 'GET', '/version')
    expect(answer.status).toBe(200)
    return answer.body
  }

  it('says without a key what runs: the version, the commit where the build was told, and the last migration', async () => {
    const { entries } = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'))
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const told = { version, commit: null, schema: entries.at(-1).tag }
    expect(await answered({})).toEqual(told)
    const commit = '176b82d0c0ffee'
    expect(await answered({ EASEL_COMMIT: commit })).toEqual({ ...told, commit })
  })
})

describe('readiness', () => {
  it('does not wait for a check that hangs', async () => {
    const hanging = () => new Promise<undefined>(() => {})
    const ready = readiness({ store: { vital: true, problem: hanging } }, () => false)
    const problems = { store: 'The check of store had no answer within 2 s.' }
    expect(await within(60_000, ready(), 'the look')).toEqual({ ready: false, problems })
  })

  it('takes a check that throws for one that has found something wrong', async () => {
    const throwing = () => {
      throw new Error('at /srv/store')
    }
    const ready = readiness({ store: { vital: true, problem: throwing } }, () => false)
    expect(await ready()).toEqual({ ready: false, problems: { store: 'The check of store failed.' } })
  })

  it('stays ready until a vital check has failed twice in a row', async () => {
    let problem: string | undefined
    const ready = readiness({ store: { vital: true, problem: () => problem } }, () => false)
    expect(await ready()).toEqual({ ready: true, problems: { store: undefined } })
    problem = 'It was late.'
    const first = await until(async () => {
      const look = await ready()
      return look.problems.store && look
    }, 'a look that finds something')
    expect(first).toEqual({ ready: true, problems: { store: 'It was late.' } })
    await until(async () => !(await ready()).ready, 'the second')
    problem = undefined
    await until(async () => (await ready()).ready, 'an end of it')
  })

  it('says that the process drains without waiting for a check', async () => {
    let checks = 0
    const problem = () => {
      checks++
      return new Promise<undefined>(() => {})
    }
    const { ready, problems } = await readiness({ store: { vital: true, problem } }, () => true)()
    expect({ ready, checks, named: Object.keys(problems) }).toEqual({ ready: false, checks: 0, named: ['draining'] })
  })
})

describe('while Postgres is away', () => {
  let proxy: FaultProxy
  const away = useService(async () => {
    const { url } = await createTestDatabase()
    proxy = await startFaultProxy(url)
    return { env: { DATABASE_URL: proxy.through(url) } }
  })
  afterAll(() => proxy.close())

  it.each(['refuse', 'stall'] as const)(
    '/ready answers 503 and says when to ask again, /health answers 200, and /ready heals by itself (%s)',
    async (fault) => {
      const { url } = away.service
      await until(async () => (await call(url, 'GET', '/ready')).status === 200, 'readiness')
      await proxy[fault]()
      // What was seen a moment ago counts for a second.
      const answer = await until(async () => {
        const ready = await call(url, 'GET', '/ready')
        return ready.status !== 200 && ready
      }, 'a server that is not ready')
      expectPersonalError(answer, 503, /temporarily unavailable/)
      expect(answer.headers.get('retry-after')).toBe('2')
      expect(await call(url, 'GET', '/health')).toMatchObject({ status: 200 })
      await proxy.pass()
      await until(async () => (await call(url, 'GET', '/ready')).status === 200, 'readiness')
    },
  )
})

describe('METRICS_PORT', () => {
  it('answers /health and /ready of server and worker, and nothing else', async () => {
    const [serverPort, workerPort] = [await freePort(), await freePort()]
    const worker = await context.service.worker({}, { METRICS_PORT: `${workerPort}` })
    const server = await context.service.server({}, { METRICS_PORT: `${serverPort}` })
    const ask = (port: number, path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method })
    const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status
    for (const [port, own] of [
      [serverPort, 'moderation'],
      [workerPort, 'backends'],
    ] as const) {
      expect([await statusOf(port, '/health'), await statusOf(port, '/ready')]).toEqual([200, 200])
      expect([await statusOf(port, '/health?from=probe'), await statusOf(port, '/ready/')]).toEqual([200, 200])
      expect([await statusOf(port, '/'), await statusOf(port, '/ready', 'POST')]).toEqual([404, 404])
      const checks = { postgres: 'ok', statements: 'ok', migrations: 'ok', reconciler: 'ok', images: 'ok', [own]: 'ok' }
      await until(
        async () => (await (await ask(port, '/ready')).json()).status === 'ready',
        'a reconciler that has begun',
      )
      expect(await (await ask(port, '/ready')).json()).toEqual({
        status: 'ready',
        checks: { ...checks, ...(redisAvailable && { redis: 'ok' }) },
      })
    }
    await Promise.all([server.stop(), worker.stop()])
    for (const port of [serverPort, workerPort]) await expect(statusOf(port, '/health')).rejects.toThrow()
  })

  it('ends a worker before it takes any work, if the port is taken', async () => {
    const { config, db, url } = context.service
    const generation = await givenGeneration(db, await givenUser(db))
    const env = { METRICS_PORT: new URL(url).port, INFERENCE_URL: 'preview:' }
    await expect(startWorkerProcess(config, env)).rejects.toThrow(`port ${env.METRICS_PORT} is already in use`)
    expect(await rowOf(db, generation)).toMatchObject({ status: 'queued', attempt: 1, worker: null })
  })
})

interface Body {
  readonly status: string
  readonly checks: Readonly<Record<string, string>>
}

describe('/ready on METRICS_PORT', () => {
  it('says which check fails, and answers 503 if the process can not do without', async () => {
    const own = redisAvailable ? await startOwnRedis() : undefined
    const { url } = await createTestDatabase()
    const proxy = await startFaultProxy(url)
    const port = await freePort()
    const env = { DATABASE_URL: proxy.through(url), METRICS_PORT: `${port}`, ...(own && { REDIS_URL: own.url }) }
    const service = await startService({ redis: false, env })
    const ready = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/ready`)
      return { code: answer.status, ...((await answer.json()) as Body) }
    }
    const says = (check: string, sentence: RegExp) =>
      until(async () => {
        const now = await ready()
        return sentence.test(now.checks[check] ?? '') && now
      }, `${check}: ${sentence}`)
    const admin = new pg.Client(url)
    await admin.connect()
    try {
      await until(async () => (await ready()).status === 'ready', 'a process that is ready')
      if (own) {
        const redis = new Redis(own.url)
        await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
        expect(await says('redis', /allkeys-lru: set it to noeviction\.$/)).toMatchObject({
          code: 200,
          status: 'degraded',
        })
        redis.disconnect()
        own.pause()
        expect(await says('redis', /^Redis does not answer/)).toMatchObject({ code: 200, status: 'degraded' })
        own.resume()
      }
      // As after the restore of an older dump.
      const last = `created_at = (SELECT max(created_at) FROM drizzle.__drizzle_migrations)`
      await admin.query(`DELETE FROM drizzle.__drizzle_migrations WHERE ${last}`)
      await until(async () => (await ready()).code === 503, 'a process that is not ready')
      expect(await says('migrations', /run "easel migrate" first\.$/)).toMatchObject({
        code: 503,
        status: 'unavailable',
      })
      expect((await call(service.url, 'GET', '/ready')).status).toBe(503)
      await proxy.refuse()
      expect(await says('postgres', /^Postgres does not answer/)).toMatchObject({ code: 503, status: 'unavailable' })
    } finally {
      await admin.end()
      await proxy.pass()
      await service.close()
      await Promise.all([proxy.close(), own?.kill()])
    }
  })
})
