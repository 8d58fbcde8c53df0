import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, expect, it } from 'vitest'
import { createFailFastRedis, whenReady } from '../../src/redis/client.js'
import { freePort } from '../support/free-port.js'
import { findRedis } from '../support/redis-server.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

const children: ChildProcess[] = []
let directory: string
let redis: Redis | undefined
afterEach(async () => {
  redis?.disconnect()
  for (const child of children) child.kill('SIGKILL')
  await rm(directory, { recursive: true, maxRetries: 5 })
})

/** @param settings lines of a redis.conf */
async function start(settings: readonly string[], ...args: string[]) {
  const port = await freePort()
  const file = join(directory, `${port}.conf`)
  await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, 'save ""', ...settings].join('\n'))
  const child = spawn(findRedis() as string, [file, ...args], { stdio: 'ignore' })
  children.push(child)
  return { port, child }
}

it.skipIf(!redisAvailable)('a Redis that sentinels name is the master, and after a failover the next one', async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-sentinel-'))
  const password = ['requirepass p@ss', 'masterauth p@ss']
  const master = await start(password)
  await start([...password, `replicaof 127.0.0.1 ${master.port}`])
  const sentinel = await start(
    [
      `sentinel monitor easel 127.0.0.1 ${master.port} 1`,
      'sentinel auth-pass easel p@ss',
      'sentinel down-after-milliseconds easel 500',
      'sentinel failover-timeout easel 3000',
    ],
    '--sentinel',
  )
  const nobody = await freePort()
  redis = createFailFastRedis(
    `redis://:p%40ss@easel/3?sentinels=127.0.0.1:${nobody},127.0.0.1:${sentinel.port}`,
    () => undefined,
  ) as Redis
  const set = (value: string) => redis?.set('k', value).catch(() => undefined)
  await whenReady(redis)
  await until(() => set('before'), 'the master')
  await until(() => redis?.wait(1, 100).catch(() => undefined), 'the replica')
  // A sentinel learns of a replica from the master, every ten seconds; without one there is nobody to take over.
  const asked = new Redis(sentinel.port)
  const replicas = async () => (await asked.call('sentinel', 'replicas', 'easel')) as unknown[]
  await until(async () => (await replicas()).length, 'the sentinel knowing the replica').finally(() =>
    asked.disconnect(),
  )
  master.child.kill('SIGKILL')
  await until(() => set('after'), 'the next master')
  expect(await until(() => redis?.get('k').catch(() => undefined), 'the value')).toBe('after')
  expect(redis.options.db).toBe(3)
})
