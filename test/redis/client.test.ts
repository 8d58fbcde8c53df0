import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startJobWorker } from '../../src/queue/job-worker.js'
import {
  createFailFastRedis,
  createPatientRedis,
  createProducerRedis,
  redisAvailability,
  redisProblem,
  whenReady,
} from '../../src/redis/client.js'
import { startProxy } from '../programs/chaos/proxy.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { freePort } from '../support/free-port.js'
import { findRedis } from '../support/redis-server.js'
import { redisAvailable, singleRedisUrl } from '../support/services.js'
import { until } from '../support/until.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const quiet = () => undefined
type Create = (url: string, onError: () => void) => Redis

async function openBehindProxy(create: Create) {
  const proxy = await startFaultProxy(await singleRedisUrl())
  const redis = create(proxy.through(await singleRedisUrl()), quiet)
  closers.push(
    () => proxy.close(),
    () => redis.disconnect(),
  )
  await whenReady(redis)
  return { proxy, redis }
}

const KINDS = [
  ['that fails fast', createFailFastRedis],
  ['of the producer', createProducerRedis],
  ['that waits', createPatientRedis],
] as [string, Create][]

describe.skipIf(!redisAvailable)('a connection to Redis', () => {
  it.each(KINDS)(
    '%s connects again at least twice a second, however long Redis has been away',
    async (_name, create) => {
      const { redis } = await openBehindProxy(create)
      for (const attempt of [1, 10, 1000, 1e6]) expect(redis.options.retryStrategy?.(attempt)).toBeLessThanOrEqual(500)
    },
  )

  it.each(KINDS)('%s works again by itself after Redis was away', async (_name, create) => {
    const { proxy, redis } = await openBehindProxy(create)
    await proxy.refuse()
    await until(() => redis.status === 'reconnecting', 'the outage being seen')
    await proxy.pass()
    await until(() => redis.ping().catch(quiet), 'an answer')
  })

  it.each(KINDS.slice(0, 2))('%s refuses at once while Redis is away', async (_name, create) => {
    const { proxy, redis } = await openBehindProxy(create)
    await proxy.refuse()
    await until(() => redis.status !== 'ready', 'the outage being seen')
    let refused = false
    redis.ping().catch(() => {
      refused = true
    })
    // Before anything could have come from outside.
    await new Promise(setImmediate)
    expect(refused).toBe(true)
  })

  it('that fails fast gives a command up that a hanging Redis does not answer', async () => {
    const { proxy, redis } = await openBehindProxy(createFailFastRedis as Create)
    proxy.stall()
    await expect(redis.ping()).rejects.toThrow('Command timed out')
    expect(redis.options.commandTimeout).toBe(300)
  })

  it.each(KINDS)(
    '%s is opened anew when nothing comes back any more, as after a failover without a word',
    { timeout: 90_000 },
    async (_name, create) => {
      const { proxy, redis } = await openBehindProxy(create)
      proxy.abandon()
      await until(() => redis.ping().catch(quiet), 'an answer on another connection', 60_000)
    },
  )

  it('that waits gives a blocking read its time, and repeats a command that an outage has interrupted', async () => {
    const { proxy, redis } = await openBehindProxy(createPatientRedis as Create)
    expect(await redis.bzpopmin('nothing-here', 0.7)).toBeNull()
    proxy.stall()
    const asked = redis.ping()
    await proxy.refuse()
    await proxy.pass()
    expect(await asked).toBe('PONG')
  })

  it.each(KINDS.slice(0, 2))('%s does not repeat a command whose answer was lost', async (_name, create) => {
    const { port } = new URL(await singleRedisUrl())
    const proxy = await startProxy(Number(port))
    const url = new URL(await singleRedisUrl())
    url.port = String(proxy.port)
    const redis = create(url.href, quiet)
    closers.push(
      () => proxy.close(),
      () => redis.disconnect(),
    )
    await whenReady(redis)
    const key = `counted-once-${create.name}`
    proxy.cutReplies(/incr/i, 1)
    redis.incr(key).catch(quiet)
    await until(() => proxy.swallowed() === 1, 'the answer being lost')
    await until(() => redis.status !== 'ready', 'the end of the connection')
    await until(() => redis.ping().catch(quiet), 'the next connection')
    expect(await redis.get(key)).toBe('1')
  })
})

it('after a command that failed, no command is sent to Redis for a second', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  closers.push(() => vi.useRealTimers())
  const availability = redisAvailability()
  let asked = 0
  const ask = () => {
    asked++
    return asked === 1 ? Promise.reject(new Error('Command timed out')) : Promise.resolve('PONG')
  }
  await expect(availability.run(ask)).rejects.toThrow('Command timed out')
  vi.advanceTimersByTime(999)
  await expect(availability.run(ask)).rejects.toThrow('the command is not sent')
  expect(asked).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await availability.run(ask)).toBe('PONG')
})

/**
 * A server of its own, with these settings. A cluster also takes the port that is higher by 10,000, which may be somebody's: then Redis ends, and
 * gets other ports.
 */
async function startRedisWith(...settings: string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-redis-'))
  closers.push(() => rm(directory, { recursive: true, force: true }))
  const args = settings.some((line) => line.startsWith('sentinel ')) ? ['--sentinel'] : []
  for (let tries = 1; tries <= 20; tries++) {
    const port = await freePort()
    const file = join(directory, `conf-${port}`)
    const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, 'save ""', ...settings]
    await writeFile(file, lines.join('\n'))
    const child = spawn(findRedis() as string, [file, ...args], { stdio: 'ignore' })
    closers.push(() => void child.kill('SIGKILL'))
    const url = `redis://127.0.0.1:${port}`
    const probe = new Redis(url, { maxRetriesPerRequest: null }).on('error', quiet)
    closers.push(() => probe.disconnect())
    const ended = once(child, 'exit').then(() => false)
    const isUp = await Promise.race([probe.ping().then(() => true, quiet), ended])
    if (isUp) return url
    probe.disconnect()
  }
  throw new Error('Redis ended each time instead of starting')
}

describe.skipIf(!redisAvailable)('a process', () => {
  it.each<[string, RegExp, string[]]>([
    ['a cluster', /^Redis is a cluster: write /, ['cluster-enabled yes']],
    ['a sentinel', /^REDIS_URL leads to a sentinel: write /, ['sentinel monitor easel 127.0.0.1 1 1']],
  ])('does not start with %s, whatever connection finds out', async (_kind, sentence, settings) => {
    const url = await startRedisWith(...settings)
    for (const [, create] of KINDS) {
      const redis = create(url, quiet)
      closers.push(() => redis.disconnect())
      await expect(whenReady(redis, 60_000)).rejects.toThrow(sentence)
    }
  })

  it('does not start with a database that Redis does not have, and would use another one', async () => {
    const url = await startRedisWith('databases 4')
    for (const [, create] of KINDS) {
      const redis = create(`${url}/4`, quiet)
      closers.push(() => redis.disconnect())
      await expect(whenReady(redis, 60_000)).rejects.toThrow(/^Redis has no database with the number at the end of /)
    }
  })

  it.each(KINDS)(
    '%s is opened anew while it leads to a replica, as its name may lead elsewhere',
    async (_name, create) => {
      const url = await startRedisWith()
      const [redis, admin] = [create(url, quiet), new Redis(url)]
      closers.push(
        () => redis.disconnect(),
        () => admin.disconnect(),
      )
      await whenReady(redis)
      let opened = 0
      redis.on('ready', () => opened++)
      await admin.replicaof('127.0.0.1', 1)
      const write = () => redis.set('x', 'x').catch(quiet)
      // Also the second time: a name is often moved only later.
      await until(() => write().then(() => opened >= 2), 'two more connections')
      await admin.replicaof('NO', 'ONE')
      await until(write, 'a write')
    },
  )

  it('starts with a replica, which may become the primary, and says what it is', async () => {
    const url = await startRedisWith('replicaof 127.0.0.1 1')
    const [redis, admin] = [createFailFastRedis(url, quiet), new Redis(url)]
    closers.push(
      () => redis.disconnect(),
      () => admin.disconnect(),
    )
    await whenReady(redis)
    const problem = redisProblem(redis, 'easel')
    expect(await until(problem, 'the sentence')).toMatch(/^Redis is a replica and takes nothing:/)
    await admin.replicaof('NO', 'ONE')
    await until(async () => (await problem()) === undefined, 'a primary')
  })
})

describe.skipIf(!redisAvailable)('what is wrong with a Redis', () => {
  const started = async (...settings: string[]) => {
    const url = await startRedisWith(...settings)
    const [redis, admin] = [createFailFastRedis(url, quiet), new Redis(url)]
    admin.on('error', quiet)
    closers.push(
      () => redis.disconnect(),
      () => admin.disconnect(),
    )
    await whenReady(redis)
    return { admin, problem: redisProblem(redis, 'easel') }
  }

  type State = [string, RegExp, (admin: Redis) => unknown, (admin: Redis) => unknown]
  const given = (...state: State) => state
  it.each<State>([
    [
      'that is full',
      /^Redis has no memory left: raise its maxmemory\./,
      (it) => it.config('SET', 'maxmemory', '1'),
      (it) => it.config('SET', 'maxmemory', '0'),
    ],
    [
      'that lacks its replicas',
      /^Redis takes nothing because too few of its replicas are there: /,
      (it) => it.config('SET', 'min-replicas-to-write', '1'),
      (it) => it.config('SET', 'min-replicas-to-write', '0'),
    ],
    [
      'whose user may run no scripts',
      /^Redis gives the user in REDIS_URL too few rights: /,
      (it) => it.acl('SETUSER', 'default', '-@scripting'),
      (it) => it.acl('SETUSER', 'default', '+@all'),
    ],
    [
      'whose user may write other keys only',
      /^Redis gives the user in REDIS_URL too few rights: /,
      (it) => it.acl('SETUSER', 'default', 'resetkeys', '~other:*'),
      (it) => it.acl('SETUSER', 'default', 'allkeys'),
    ],
    [
      'whose user may write the keys of locks, and not those of the queue',
      /^Redis gives the user in REDIS_URL too few rights: /,
      (it) => it.acl('SETUSER', 'default', 'resetkeys', '~easel:*'),
      (it) => it.acl('SETUSER', 'default', 'allkeys'),
    ],
    [
      'whose user may not wait for jobs',
      /^Redis gives the user in REDIS_URL too few rights: /,
      (it) => it.acl('SETUSER', 'default', '-bzpopmin'),
      (it) => it.acl('SETUSER', 'default', '+@all'),
    ],
    ...['xadd', 'hmset', 'zrange', 'time', 'ltrim'].map((name) =>
      given(
        `whose user may not run ${name}`,
        new RegExp(
          `^Redis does not let the user in REDIS_URL run ${name.toUpperCase()}: allow all commands and keys\\. `,
        ),
        (it) => it.acl('SETUSER', 'default', `-${name}`),
        (it) => it.acl('SETUSER', 'default', '+@all'),
      ),
    ),
    [
      'that evicts',
      /^Redis may drop jobs and locks, because its maxmemory-policy is allkeys-lru: /,
      (it) => it.config('SET', 'maxmemory-policy', 'allkeys-lru'),
      (it) => it.config('SET', 'maxmemory-policy', 'noeviction'),
    ],
  ])('%s is said, and no longer when it is mended', async (_state, sentence, begin, end) => {
    const { admin, problem } = await started()
    expect(await problem()).toBeUndefined()
    await begin(admin)
    expect(await problem()).toMatch(sentence)
    await end(admin)
    expect(await problem()).toBeUndefined()
  })

  it('that is a cluster behind one address is said, though it does not call itself one', async () => {
    const redis = createFailFastRedis(await startRedisWith('cluster-enabled yes'), quiet)
    closers.push(() => redis.disconnect())
    await until(() => redis.status === 'ready', 'the connection')
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await until(async () => /cluster_state:ok/.test(String(await redis.call('CLUSTER', 'INFO'))), 'its slots')
    expect(await redisProblem(redis, 'easel')()).toMatch(/^Redis is a cluster behind one address: write \?cluster /)
  })

  it('whose user may not run INFO is said, and leaves the process alive, which BullMQ then would not', async () => {
    // ioredis tells the console.
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    closers.push(() => vi.restoreAllMocks())
    const url = await startRedisWith('user default on nopass ~* &* +@all -info')
    const redis = createFailFastRedis(url, quiet)
    const patient = createPatientRedis(url, quiet)
    closers.push(
      () => redis.disconnect(),
      () => patient.disconnect(),
    )
    await Promise.all([whenReady(redis), whenReady(patient)])
    const errors: Error[] = []
    const worker = startJobWorker('jobs', {
      ...{ connection: { kind: 'redis', redis: patient, prefix: '{easel}' }, concurrency: 1 },
      ...{ onJob: async () => undefined, onError: (error) => errors.push(error) },
    })
    await until(() => errors.some(({ message }) => /NOPERM/.test(message)), 'its error')
    expect(await redisProblem(redis, 'easel')()).toMatch(/^Redis gives the user in REDIS_URL too few rights: /)
    await worker.close(1000)
  })

  it('whose password was changed is said although there is no connection', async () => {
    const { admin, problem } = await started()
    await admin.config('SET', 'requirepass', 'another')
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until(async () => /refuses the user or the password/.test((await problem()) ?? ''), 'the wrong password')
    await admin.config('SET', 'requirepass', '')
    await until(async () => (await problem()) === undefined, 'the login')
  })
})
