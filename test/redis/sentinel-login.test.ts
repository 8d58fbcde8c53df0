import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFailFastRedis, createPatientRedis, redisProblem, whenReady } from '../../src/redis/client.js'
import { masterOf } from '../../src/redis/sentinels.js'
import { makeCertificate } from '../support/certificates.js'
import { freePort } from '../support/free-port.js'
import { findRedis } from '../support/redis-server.js'
import { redisAvailable } from '../support/services.js'
import { startTlsProxy } from '../support/tls-proxy.js'
import { until } from '../support/until.js'

const quiet = () => undefined
const hasIpv6 = networkInterfaces().lo?.some(({ address }) => address === '::1')
const closers: (() => unknown)[] = []
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-sentinel-'))
  closers.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** @param settings lines of a redis.conf @returns its port, once it answers whoever has that login */
async function start(settings: readonly string[], login: { readonly username?: string; readonly password?: string }) {
  const port = await freePort()
  const file = join(directory, `${port}.conf`)
  await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, 'save ""', ...settings].join('\n'))
  const args = settings.some((line) => line.startsWith('sentinel ')) ? ['--sentinel'] : []
  const child = spawn(findRedis() as string, [file, ...args], { stdio: 'ignore' })
  closers.push(() => void child.kill('SIGKILL'))
  const probe = new Redis({ port, ...login, enableReadyCheck: false, maxRetriesPerRequest: null }).on('error', quiet)
  await until(() => probe.ping().catch(quiet), 'Redis').finally(() => probe.disconnect())
  return port
}

/** A master with a password, and a sentinel that knows it as `easel`. */
async function startBoth(settings: readonly string[] = [], login = {}) {
  const master = await start(['requirepass p@ss'], { password: 'p@ss' })
  const monitor = [`sentinel monitor easel 127.0.0.1 ${master} 1`, 'sentinel auth-pass easel p@ss']
  return start([...monitor, ...settings], login)
}

function opened(url: string, create = createFailFastRedis): Redis {
  const redis = create(url, quiet) as Redis
  closers.push(() => redis.disconnect())
  return redis
}

const begun = async (url: string) => {
  const redis = opened(url)
  await whenReady(redis, 20_000)
  return redis
}
/** Again where a busy machine did not answer in time: a process would start then, and wait for its Redis. */
const refusal = (url: string): Promise<string> =>
  until(
    () =>
      whenReady(opened(url), 1000).then(
        () => undefined,
        ({ message }: Error) => message,
      ),
    'a refusal',
  )

describe.skipIf(!redisAvailable)('sentinels with a password of their own', () => {
  const LOGIN = /^The sentinels in REDIS_URL refuse the login: write their password as &sentinel_password=PASSWORD /

  it('are reached by an address of IPv6', async () => {
    const port = await startBoth(['bind 127.0.0.1 -::1'])
    const redis = opened(`redis://:p%40ss@easel/0?sentinels=[::1]:${port}`)
    expect(redis.options.sentinels).toEqual([{ host: '::1', port }])
    const found = await masterOf(redis.options)
    if (hasIpv6) expect(found).toMatchObject({ host: '127.0.0.1' })
  })

  it('let in who writes it into the URL, and are named by the start that lacks it', async () => {
    const sentinel = await startBoth(['requirepass s+ecret&/'], { password: 's+ecret&/' })
    const url = `redis://:p%40ss@easel/0?sentinels=127.0.0.1:${sentinel}`
    expect((await begun(`${url}&sentinel_password=s+ecret%26%2F`)).status).toBe('ready')
    expect(await refusal(url)).toMatch(LOGIN)
    expect(await refusal(`${url}&sentinel_password=wrong`)).toMatch(LOGIN)
  })

  it('may have users', async () => {
    const rules = ['user default off', 'user easel on >secret ~* &* +@all', 'user other on >secret ~* &* +ping']
    const sentinel = await startBoth(rules, { username: 'easel', password: 'secret' })
    const url = `redis://:p%40ss@easel/0?sentinels=127.0.0.1:${sentinel}&sentinel_password=secret`
    expect((await begun(`${url}&sentinel_username=easel`)).status).toBe('ready')
    expect(await refusal(url)).toMatch(LOGIN)
    expect(await refusal(`${url}&sentinel_username=other`)).toMatch(
      /^The sentinels in REDIS_URL give the user sentinel_username too few rights: /,
    )
  })

  it('leave the password of Redis to be named when that is the wrong one', async () => {
    const sentinel = await startBoth(['requirepass secret'], { password: 'secret' })
    const url = `redis://:wrong@easel/0?sentinels=127.0.0.1:${sentinel}&sentinel_password=secret`
    expect(await refusal(url)).toBe('Redis refuses the user or the password in REDIS_URL: correct them.')
  })

  it('are named by a process that runs when their password changes', async () => {
    const sentinel = await startBoth(['requirepass secret'], { password: 'secret' })
    const redis = opened(`redis://:p%40ss@easel/0?sentinels=127.0.0.1:${sentinel}&sentinel_password=wrong`)
    const problem = redisProblem(redis, 'easel')
    await until(async () => LOGIN.test((await problem()) ?? ''), 'the sentence')
  })
})

it.skipIf(!redisAvailable)(
  'a name that no sentinel knows is said, and a sentinel that is away is not asked twice',
  async () => {
    const sentinel = await startBoth()
    const gone = await freePort()
    const sentinels = `127.0.0.1:${gone},127.0.0.1:${sentinel}`
    expect((await begun(`redis://:p%40ss@easel/0?sentinels=${sentinels}`)).status).toBe('ready')
    expect(await refusal(`redis://:p%40ss@esel/0?sentinels=${sentinels}`)).toBe(
      `The sentinel at 127.0.0.1:${sentinel} knows no master "esel": correct the name in REDIS_URL.`,
    )
    // As while all are being started anew: the process waits for them.
    await whenReady(opened(`redis://:p%40ss@easel/0?sentinels=127.0.0.1:${gone}`), 1000)
  },
)

describe.skipIf(!redisAvailable)('sentinels with TLS', () => {
  it('are reached with it alone, and each mismatch is said', async () => {
    const authority = await makeCertificate('authority.test')
    const ca = join(directory, 'ca.pem')
    await writeFile(ca, authority.cert)
    const sentinel = await startBoth()
    const proxy = await startTlsProxy(
      `redis://127.0.0.1:${sentinel}`,
      await makeCertificate('127.0.0.1', { by: authority }),
    )
    closers.push(() => proxy.close())
    const secure = Number(new URL(proxy.through('redis://x')).port)
    const at = (port: number, more = '') => `redis://:p%40ss@easel/0?sentinels=127.0.0.1:${port}${more}`
    expect((await begun(at(secure, `&sentinel_tls=true&sslrootcert=${ca}`))).status).toBe('ready')
    expect(await refusal(at(secure))).toMatch(
      `The sentinel at 127.0.0.1:${secure} takes no connection without TLS: write &sentinel_tls=true into REDIS_URL, `,
    )
    expect(await refusal(at(secure, '&sentinel_tls=true'))).toMatch(
      `The certificate of the sentinel at 127.0.0.1:${secure} was not signed by an authority that is known here `,
    )
    expect(await refusal(at(sentinel, `&sentinel_tls=true&sslrootcert=${ca}`))).toBe(
      `The sentinel at 127.0.0.1:${sentinel} takes no TLS: write &sentinel_tls=false into REDIS_URL.`,
    )
    // Redis itself has none here.
    const both = at(secure, `&sslrootcert=${ca}`).replace('redis:', 'rediss:')
    expect(await refusal(both)).toMatch(/^Redis has no TLS where REDIS_URL leads: /)
    expect(await refusal(both.replace('easel', 'esel'))).toMatch(/ knows no master "esel": /)
  })
})

describe.skipIf(!redisAvailable)('a master with TLS', () => {
  it('is reached where the sentinels call it as its certificate does; otherwise the start says how they come to', async () => {
    const authority = await makeCertificate('authority.test')
    const ca = join(directory, 'ca.pem')
    await writeFile(ca, authority.cert)
    const master = await start([], {})
    const proxy = await startTlsProxy(
      `redis://127.0.0.1:${master}`,
      await makeCertificate('localhost', { by: authority }),
    )
    closers.push(() => proxy.close())
    const secure = Number(new URL(proxy.through('redis://x')).port)
    const urlOf = (sentinel: number) =>
      `rediss://easel/0?sentinels=127.0.0.1:${sentinel}&sentinel_tls=false&sslrootcert=${ca}`
    const names = ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes']
    const named = await start([...names, `sentinel monitor easel localhost ${secure} 1`], {})
    expect((await begun(urlOf(named))).status).toBe('ready')
    const unnamed = await start([`sentinel monitor easel 127.0.0.1 ${secure} 1`], {})
    expect(await refusal(urlOf(unnamed))).toMatch(
      /^The certificate of Redis is for DNS:localhost and not for 127\.0\.0\.1, as the sentinels call it: /,
    )
  })
})

describe.skipIf(!redisAvailable)('a connection whose certificate is refused', () => {
  // Node emits the server's alert about it on a connection that it has ended already, if that arrives in time.
  it.each([
    ['for requests', createFailFastRedis],
    ['for the queue', createPatientRedis],
    ['that BullMQ copies', (url: string) => (createPatientRedis(url, quiet) as Redis).duplicate().on('error', quiet)],
  ])('%s does not end the process when the server then says so, too', async (_, create) => {
    const redisPort = await start([], {})
    const proxy = await startTlsProxy(`redis://127.0.0.1:${redisPort}`, await makeCertificate('127.0.0.1'))
    closers.push(() => proxy.close())
    const redis = opened(proxy.through('redis://x').replace('redis:', 'rediss:'), create as typeof createFailFastRedis)
    const streams = new Set<{ emit(event: 'error', error: Error): boolean }>()
    redis.on('error', () => void streams.add((redis as unknown as { stream: never }).stream))
    await until(() => streams.size > 1, 'two tries')
    for (const stream of streams) expect(() => stream.emit('error', new Error('alert'))).not.toThrow()
  })
})
