import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { redisUrl as schema } from '../../src/process/config-values.js'
import { withSocketInPlace } from '../../src/redis/socket.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { redisAvailable, redisUrl } from '../support/services.js'

it.each([
  ['/run/redis.sock', 'redis://localhost/?socket=%2Frun%2Fredis.sock'],
  ['unix:///run/redis.sock?db=2', 'redis://localhost/2?socket=%2Frun%2Fredis.sock'],
  ['redis+unix://me:a%25b@/run/redis.sock', 'redis://me:a%25b@localhost/?socket=%2Frun%2Fredis.sock'],
  ['unix:///run/redis.sock?password=a/b', 'redis://:a%2Fb@localhost/?socket=%2Frun%2Fredis.sock'],
  ['redis://host:6379/1', 'redis://host:6379/1'],
])('%s is read as %s', (given, read) => {
  expect(withSocketInPlace(given)).toBe(read)
  expect(schema.parse(given)).toBe(read)
})

describe.skipIf(!redisAvailable || process.env.TEST_REDIS === 'cluster')(
  'a Redis that listens at a Unix socket',
  () => {
    const ends: (() => unknown)[] = []
    let connections = 0
    const context = useService(async () => {
      const { hostname, port, pathname } = new URL(await redisUrl())
      const home = await mkdtemp(join(tmpdir(), 'easel-redis-socket-'))
      const socket = createServer((client) => {
        connections++
        const upstream = connect(Number(port), hostname)
        for (const it of [client, upstream]) it.on('error', () => undefined)
        client.pipe(upstream).pipe(client)
      }).listen(join(home, 'redis.sock'))
      ends.push(
        () => socket.close(),
        () => rm(home, { recursive: true, force: true }),
      )
      const REDIS_URL = `unix://${home}/redis.sock?db=${pathname.slice(1) || 0}`
      return { worker: true, env: { REDIS_URL, INFERENCE_URL: 'preview:' } }
    })
    afterAll(async () => {
      for (const end of ends) await end()
    })

    it('serves all: locks, limits, the queue and workers', async () => {
      const { service } = context
      const user = await givenUser(service.db)
      const { status, body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
      expect(status).toBe(201)
      expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
      // Of the locks and limits, the producer and the worker.
      expect(connections).toBeGreaterThan(2)
    })
  },
)
