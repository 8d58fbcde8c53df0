import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, inject } from 'vitest'
import type {} from './global-setup.js' // what inject() knows; its code stays out of the test files
import { REDIS_DATABASES } from './redis-server.js'

export interface TestDatabase {
  readonly url: string
  /** What a process that serves is given: with TEST_POSTGRES=pgbouncer through PgBouncer. */
  readonly env: { readonly DATABASE_URL: string; readonly DATABASE_LISTEN_URL?: string }
  /** Ends the connections that are left. Not needed for tidiness: it goes when its file's tests are over. */
  drop(): Promise<void>
}

/** A fresh database with every migration applied and the seeded catalog: a copy of the run's template. */
export function createTestDatabase(): Promise<TestDatabase> {
  const { templateDatabase } = inject('services')
  return create(async (admin) => {
    // Copying files beats copying through the log for a database this small; before 15 it was the only way.
    const { rows } = await admin.query(`SELECT current_setting('server_version_num')::int >= 150000 AS modern`)
    return `TEMPLATE ${templateDatabase} ${rows[0].modern ? 'STRATEGY file_copy' : ''}`
  })
}

/** One without any table, for what migrates itself. */
export const createEmptyDatabase = (encoding = 'UTF8'): Promise<TestDatabase> =>
  create(async () => `TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`)

/** Those of the test file that runs, by name. */
let databases: { readonly file: string | undefined; readonly names: string[] } = { file: undefined, names: [] }

async function create(how: (admin: pg.Client) => Promise<string>): Promise<TestDatabase> {
  const name = `t_${randomBytes(8).toString('hex')}`
  const file = expect.getState().testPath
  // The files of a process run one after the other: those of the last one would only take room.
  const ended = file === databases.file ? [] : databases.names
  if (file !== databases.file) databases = { file, names: [] }
  databases.names.push(name)
  await asAdmin(async (admin) => {
    for (const each of ended) await admin.query(dropping(each))
    await admin.query(`CREATE DATABASE ${name} ${await how(admin)}`)
  })
  const url = new URL(inject('services').postgresAdminUrl)
  url.pathname = name
  const { poolerAddress } = inject('services')
  const pooled = poolerAddress && Object.assign(new URL(url), { host: poolerAddress }).href
  return {
    url: url.href,
    env: pooled ? { DATABASE_URL: pooled, DATABASE_LISTEN_URL: url.href } : { DATABASE_URL: url.href },
    drop: () => asAdmin(async (admin) => void (await admin.query(dropping(name)))),
  }
}

const dropping = (name: string) => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`

async function asAdmin(work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client(inject('services').postgresAdminUrl)
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

/** Without it skip, with describe.skipIf(!redisAvailable); a run with CI=true has it or fails. */
export const redisAvailable: boolean = inject('services').redisUrl !== undefined

/** The compiled form of a script of src/ or test/, to be run as a process of its own. */
export async function compiled(script: string): Promise<string> {
  const answer = await fetch(inject('services').compilerUrl)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`src/ and test/ could not be compiled: ${text}`)
  return join(text, script.replace(/\.ts$/, '.js'))
}

/** By test file: the files of a process share this module. */
const ownDatabases = new Map<string, Promise<number>>()
/** A cluster has no databases: what the file before has left goes when the next one begins. */
const emptiedFor = new Map<string, Promise<void>>()

/** The run's Redis, which no other test file uses meanwhile; with TEST_REDIS=cluster a cluster, with sentinel what sentinels name. */
export async function redisUrl(file = expect.getState().testPath ?? ''): Promise<string> {
  const { redisClusters, redisSentinel } = inject('services')
  // The files of a process run one after the other.
  const cluster = redisClusters[(Number(process.env.VITEST_POOL_ID) - 1) % redisClusters.length]
  if (cluster) {
    const emptied = emptiedFor.get(file) ?? empty(cluster)
    emptiedFor.set(file, emptied)
    await emptied
    return cluster
  }
  const single = await singleRedisUrl(file)
  return redisSentinel ? Object.assign(new URL(redisSentinel), { pathname: new URL(single).pathname }).href : single
}

async function empty(cluster: string): Promise<void> {
  const { emptyRedis, openRedis } = await import('./test-redis.js')
  const redis = await openRedis(cluster)
  await emptyRedis(redis).finally(() => redis.disconnect())
}

/** A single Redis, for what is about one: a connection, what it holds, or a time when it is away. */
export async function singleRedisUrl(file = expect.getState().testPath ?? ''): Promise<string> {
  const base = inject('services').redisUrl
  if (!base) throw new Error('This run has no Redis: skip the test with describe.skipIf(!redisAvailable).')
  const own = ownDatabases.get(file) ?? claimRedisDatabase(base)
  ownDatabases.set(file, own)
  return `${base}/${await own}`
}

/** Database 0 counts the others. */
async function claimRedisDatabase(base: string): Promise<number> {
  const redis = new Redis(base)
  try {
    const number = await redis.incr('easel-test:databases')
    if (number >= REDIS_DATABASES)
      throw new Error(`More than ${REDIS_DATABASES - 1} test files: raise REDIS_DATABASES.`)
    return number
  } finally {
    redis.disconnect()
  }
}
