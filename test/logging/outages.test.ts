import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { startOwnRedis } from '../redis/own-redis.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { createTestDatabase, redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

/** Each line is JSON. */
const linesOf = (server: ServerProcess) =>
  server
    .readLog()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string; dependency?: string })
const told = (server: ServerProcess, msg: string) => linesOf(server).find((line) => line.msg === msg)
/** Not those of its start, when a busy machine may be slow to connect. */
const complaints = (server: ServerProcess, from: number) =>
  linesOf(server)
    .slice(from)
    .filter(({ level }) => level >= 40)

describe('an outage', () => {
  it.skipIf(!redisAvailable)('of Redis is one error in its own words, and one line at its end', async () => {
    const redis = await startOwnRedis()
    const server = await startServerProcess({ REDIS_URL: redis.url })
    try {
      const from = linesOf(server).length
      const admin = new Redis(redis.url)
      await admin.config('SET', 'requirepass', 'changed')
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await until(() => told(server, 'redis is away'), 'the error')
      // Each of the server's connections is opened anew twice a second, and refused.
      const opened = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
      const before = await opened()
      await until(async () => (await opened()) > before + 10, 'more refusals')
      await admin.config('SET', 'requirepass', '')
      admin.disconnect()
      await until(() => told(server, 'redis is back'), 'the end')
      expect(complaints(server, from)).toEqual([
        expect.objectContaining({ level: 50, dependency: 'redis', reason: expect.stringContaining('NOAUTH') }),
      ])
    } finally {
      await server.stop()
      await redis.kill()
    }
  })

  it('of Postgres is one error, whatever fails with it, and one line at its end', async () => {
    const { url } = await createTestDatabase()
    const proxy = await startFaultProxy(url)
    const server = await startServerProcess({ DATABASE_URL: proxy.through(url) })
    try {
      const from = linesOf(server).length
      await proxy.refuse()
      await until(() => told(server, 'postgres is away'), 'the error')
      for (let n = 0; n < 5; n++) expect((await fetch(`${server.url}/ready`)).status).toBe(503)
      await proxy.pass()
      await until(() => told(server, 'postgres is back'), 'the end')
      expect(complaints(server, from)).toEqual([
        expect.objectContaining({ level: 50, dependency: 'postgres', reason: expect.stringContaining('ECONNREFUSED') }),
      ])
    } finally {
      await server.stop()
      await proxy.close()
    }
  })
})
