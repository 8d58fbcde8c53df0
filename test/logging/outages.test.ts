import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../src/config.js'
import { createLogger } from '../../src/logger.js'
import { startServer } from '../../src/start-server.js'
import { startOwnRedis } from '../redis/own-redis.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { givenStorage } from '../support/image-storage.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'

interface Line {
  readonly level: number
  readonly msg: string
  readonly reason?: string
  readonly dependency?: string
}

/** A server of this process, and what it logs. */
async function startLoggedServer(env: Record<string, string>) {
  const lines: Line[] = []
  const log = createLogger('info', 'test', undefined, { write: (line) => void lines.push(JSON.parse(line)) })
  const storage = await givenStorage()
  const config = { ...parseConfig({ BASE_URL: 'http://easel.test', ...storage.env, ...env }), port: 0 }
  const server = await startServer(config, log, { namespace: `t${randomBytes(6).toString('hex')}` })
  onTestFinished(async () => {
    await server.stop()
    await storage.remove()
  })
  // Not those of its start, when a busy machine may be slow to connect.
  const from = lines.length
  return {
    url: server.url,
    told: (msg: string) => until(() => lines.slice(from).find((line) => line.msg === msg), `the line "${msg}"`),
    complaints: () => lines.slice(from).filter(({ level }) => level >= 40),
  }
}

describe('an outage', () => {
  it.skipIf(!redisAvailable)(
    'of Redis is logged as one error with Redis’s own words, and one line at its end',
    async () => {
      const redis = await startOwnRedis()
      onTestFinished(() => redis.kill())
      const { url } = await createTestDatabase()
      const server = await startLoggedServer({ DATABASE_URL: url, REDIS_URL: redis.url })
      const admin = new Redis(redis.url)
      onTestFinished(() => admin.disconnect())
      await admin.config('SET', 'requirepass', 'changed')
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await server.told('redis is away')
      // Each of the server's connections is opened anew twice a second, and refused.
      const opened = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
      const before = await opened()
      await until(async () => (await opened()) > before + 6, 'more refusals')
      await admin.config('SET', 'requirepass', '')
      await server.told('redis is back')
      expect(server.complaints()).toEqual([
        expect.objectContaining({ level: 50, dependency: 'redis', reason: expect.stringContaining('NOAUTH') }),
      ])
    },
  )

  it('of Postgres is logged as one error, whatever fails with it, and one line at its end', async () => {
    const { url } = await createTestDatabase()
    const proxy = await startFaultProxy(url)
    onTestFinished(() => proxy.close())
    const server = await startLoggedServer({
      DATABASE_URL: proxy.through(url),
      ...(redisAvailable && { REDIS_URL: await redisUrl() }),
    })
    await proxy.refuse()
    await server.told('postgres is away')
    for (let n = 0; n < 5; n++) expect((await fetch(`${server.url}/ready`)).status).toBe(503)
    await proxy.pass()
    await server.told('postgres is back')
    expect(server.complaints()).toEqual([
      expect.objectContaining({ level: 50, dependency: 'postgres', reason: expect.stringContaining('ECONNREFUSED') }),
    ])
  })
})
