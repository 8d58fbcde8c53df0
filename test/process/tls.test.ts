import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrateDatabase } from '../../src/db/migrations/migrate.js'
import { parseConfig } from '../../src/process/config.js'
import { startServer } from '../../src/process/start-server.js'
import { useDataDirectory } from '../local/own-postgres.js'
import { type Certificate, makeCertificate } from '../support/certificates.js'
import { call, expectPersonalError, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { freePort } from '../support/free-port.js'
import { givenUser } from '../support/givens.js'
import { givenStorage } from '../support/image-storage.js'
import { silentLog } from '../support/service.js'
import { createTestDatabase, redisAvailable, singleRedisUrl } from '../support/services.js'
import { startTlsProxy } from '../support/tls-proxy.js'
import { until } from '../support/until.js'

const HOST = '127.0.0.1'
let directory: string
let authority: Certificate
let good: Certificate
let bad: Record<'its own' | 'expired' | 'of another host' | 'not valid yet' | 'of an unknown authority', Certificate>
/** Files of certificates. */
let ca: string
let own: string
let database: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-tls-'))
  authority = await makeCertificate('authority.test')
  good = await makeCertificate(HOST, { by: authority })
  bad = {
    'its own': await makeCertificate(HOST),
    expired: await makeCertificate(HOST, { by: authority, days: [-9, -2] }),
    'of another host': await makeCertificate('db.test', { by: authority }),
    'not valid yet': await makeCertificate(HOST, { by: authority, days: [2, 9] }),
    'of an unknown authority': await makeCertificate(HOST, { by: await makeCertificate('other.test') }),
  }
  ca = join(directory, 'ca.pem')
  await writeFile(ca, authority.cert)
  own = join(directory, 'own.pem')
  await writeFile(own, bad['its own'].cert)
  database = (await createTestDatabase()).url
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const withParameters = (url: string, parameters: Record<string, string>) => {
  const changed = new URL(url)
  for (const [name, value] of Object.entries(parameters)) changed.searchParams.set(name, value)
  return changed.href
}

async function start(env: Record<string, string>) {
  const storage = await givenStorage()
  onTestFinished(() => storage.remove())
  const config = { ...parseConfig({ BASE_URL: 'http://easel.test', ...storage.env, ...env }), port: 0 }
  const server = await startServer(config, silentLog(), { namespace: 'tls' })
  onTestFinished(() => server.stop())
  return server
}

/** Why a process with these variables does not start. */
const refusal = (env: Record<string, string>): Promise<string> =>
  start(env).then(
    () => expect.fail('it started'),
    (error: Error) => error.message,
  )

const SENTENCES: [keyof typeof bad, (server: string, variable: string) => RegExp][] = [
  ['its own', (server, variable) => unknown(server, variable, 'DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['of an unknown authority', (server, variable) => unknown(server, variable, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
  ['expired', (server) => new RegExp(`^The certificate of ${server}, or of its authority, has expired: renew it`)],
  ['not valid yet', (server) => new RegExp(`^The certificate of ${server} is not valid yet: set the clock`)],
  [
    'of another host',
    (server, variable) =>
      new RegExp(
        `^The certificate of ${server} is for DNS:db\\.test and not for 127\\.0\\.0\\.1: write a host that it names into ${variable},`,
      ),
  ],
]
const unknown = (server: string, variable: string, code: string) =>
  new RegExp(
    `^The certificate of ${server} was not signed by an authority .* \\(${code}\\): add sslrootcert=\\S+ to ${variable}, .*sslmode=no-verify`,
  )

describe('TLS to Postgres', () => {
  const given = async (shown: Certificate, to = database) => {
    const proxy = await startTlsProxy(to, shown)
    onTestFinished(() => proxy.close())
    return { ...proxy, url: proxy.through(to) }
  }

  it.each(['require', 'verify-ca', 'verify-full'])(
    'with sslmode=%s works with a private authority',
    async (sslmode) => {
      const { url } = await given(good)
      const server = await start({ DATABASE_URL: withParameters(url, { sslmode, sslrootcert: ca }) })
      await until(async () => (await fetch(`${server.url}/ready`)).ok, 'readiness')
    },
  )

  it('works with a certificate that signed itself where it is named, and with any where none is checked', async () => {
    const { url } = await given(bad['its own'])
    await start({ DATABASE_URL: withParameters(url, { sslmode: 'verify-full', sslrootcert: own }) })
    await start({ DATABASE_URL: withParameters(url, { sslmode: 'no-verify' }) })
  })

  it.each(SENTENCES)('does not start with a certificate that is %s', async (kind, sentence) => {
    const { url } = await given(bad[kind])
    const DATABASE_LISTEN_URL = withParameters(url, { sslmode: 'require', sslrootcert: ca })
    const told = await refusal({ DATABASE_URL: DATABASE_LISTEN_URL })
    expect(told).toMatch(sentence('Postgres', 'DATABASE_URL'))
    // The other way to the same Postgres.
    expect(await refusal({ DATABASE_URL: database, DATABASE_LISTEN_URL })).toBe(
      told.replaceAll('DATABASE_URL', 'DATABASE_LISTEN_URL'),
    )
  })

  it('does not start with a Postgres that has none', async () => {
    expect(await refusal({ DATABASE_URL: withParameters(database, { sslmode: 'verify-full' }) })).toMatch(
      /^Postgres has no TLS where DATABASE_URL leads: turn it on there,/,
    )
  })

  it('says what a server that runs has met: 503, and the sentence', async () => {
    const proxy = await given(good)
    const db = patientDatabase(database, 1)
    onTestFinished(() => db.pool.end())
    const user = await givenUser(db)
    const port = await freePort()
    const DATABASE_URL = withParameters(proxy.url, { sslmode: 'verify-full', sslrootcert: ca })
    const server = await start({ DATABASE_URL, METRICS_PORT: `${port}` })
    proxy.show(bad.expired)
    const submit = () => call(server.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
    const refused = await until(() => submit().then((answer) => answer.status === 503 && answer), 'a refused submit')
    expectPersonalError(refused, 503, /temporarily unavailable/)
    expect(refused.headers.get('retry-after')).toBe('5')
    const problem = await until(async () => {
      const { checks } = await (await fetch(`http://127.0.0.1:${port}/ready`)).json()
      return checks.postgres !== 'ok' && checks.postgres
    }, 'the sentence')
    expect(problem).toMatch(/has expired: renew it/)
    proxy.show(good)
    await until(async () => (await submit()).status === 201, 'a submit that is taken')
  })

  describe('of a server that takes nothing else', () => {
    const own = useDataDirectory()

    it('is asked for, and a place without a rule is no wrong user', async () => {
      await own.start().then((it) => it.stop()) // its directory
      const data = join(own.path, 'data')
      const [key, cert] = [join(data, 'server.key'), join(data, 'server.crt')]
      await writeFile(key, good.key, { mode: 0o600 })
      await writeFile(cert, good.cert)
      const { uid, gid } = await stat(data)
      for (const file of [key, cert]) await chown(file, uid, gid)
      await writeFile(
        join(data, 'pg_hba.conf'),
        `hostssl easel all 127.0.0.1/32 scram-sha-256\nhost postgres all 127.0.0.1/32 scram-sha-256\n`,
      )
      const postgres = await own.start({ settings: { fsync: 'off', ssl: 'on' }, database: 'postgres' })
      const plain = Object.assign(new URL(postgres.url), { pathname: '/easel' }).href
      const encrypted = withParameters(plain, { sslmode: 'verify-full', sslrootcert: ca })
      await migrateDatabase(encrypted)
      expect(await refusal({ DATABASE_URL: plain })).toMatch(
        /^Postgres takes no connection without TLS from here \(.*no encryption\): add sslmode=verify-full to DATABASE_URL,/,
      )
      await start({ DATABASE_URL: encrypted })
      const elsewhere = Object.assign(new URL(encrypted), { pathname: '/template1' }).href
      expect(await refusal({ DATABASE_URL: elsewhere })).toMatch(
        /^Postgres lets this user in from no such place \(no pg_hba\.conf entry .*\): add a line to its pg_hba\.conf,/,
      )
      await writeFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n')
      await writeFile(join(data, 'root.crt'), authority.cert)
      await chown(join(data, 'root.crt'), uid, gid)
      const admin = new pg.Client(encrypted)
      await admin.connect()
      await admin.query(`ALTER SYSTEM SET ssl_ca_file = 'root.crt'`)
      await admin.query('SELECT pg_reload_conf()')
      await admin.end()
      const asked = await until(() => refusal({ DATABASE_URL: encrypted }).catch(() => undefined), 'the new rule')
      expect(asked).toMatch(/^Postgres asks for a client certificate: add sslcert=.* and sslkey=.* to DATABASE_URL\.$/)
      const [sslcert, sslkey] = [join(directory, 'client.crt'), join(directory, 'client.key')]
      const client = await makeCertificate('easel', { by: authority })
      await writeFile(sslcert, client.cert)
      await writeFile(sslkey, client.key)
      await start({ DATABASE_URL: withParameters(encrypted, { sslcert, sslkey }) })
    })
  })
})

describe.skipIf(!redisAvailable)('TLS to Redis', () => {
  const given = async (shown: Certificate) => {
    const url = await singleRedisUrl()
    const proxy = await startTlsProxy(url, shown)
    onTestFinished(() => proxy.close())
    return { plain: proxy.through(url), url: proxy.through(url).replace('redis:', 'rediss:') }
  }
  const REDIS_URL = (url: string, parameters: Record<string, string> = { sslrootcert: ca }) => ({
    DATABASE_URL: database,
    REDIS_URL: withParameters(url, parameters),
  })

  it('works with a private authority, with a certificate that signed itself, and unchecked', async () => {
    const { url } = await given(good)
    await start(REDIS_URL(url))
    const { url: other } = await given(bad['its own'])
    await start(REDIS_URL(other, { sslrootcert: own }))
    await start(REDIS_URL(other, { sslmode: 'no-verify' }))
  })

  it.each(SENTENCES)('does not start with a certificate that is %s', async (kind, sentence) => {
    const { url } = await given(bad[kind])
    expect(await refusal(REDIS_URL(url))).toMatch(sentence('Redis', 'REDIS_URL'))
  })

  it('does not start with a Redis that has none, or takes nothing else', async () => {
    const { plain } = await given(good)
    expect(await refusal(REDIS_URL(plain, {}))).toBe(
      'Redis takes no connection without TLS at that port: let REDIS_URL begin with rediss://.',
    )
    expect(await refusal(REDIS_URL((await singleRedisUrl()).replace('redis:', 'rediss:')))).toMatch(
      /^Redis has no TLS where REDIS_URL leads: /,
    )
  })

  // That it is none does not matter: it is refused before that.
  it('is spoken of in the same words where REDIS_URL leads to a cluster, whose nodes say nothing of it', async () => {
    const { plain } = await given(good)
    const cluster = { cluster: '127.0.0.1:1' }
    const first = (url: string) => Object.assign(new URL(url), { pathname: '' }).href
    expect(await refusal(REDIS_URL(first(plain), cluster))).toBe(
      'Redis takes no connection without TLS at that port: let REDIS_URL begin with rediss://.',
    )
    const { url } = await given(bad.expired)
    expect(await refusal(REDIS_URL(first(url), { sslrootcert: ca, ...cluster }))).toMatch(/certificate/)
  })
})
