/** The Postgres and the Redis of a run. With TEST_KEEP=1 they stay for the next such run. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { migrateDatabase } from '../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../src/local/postgres.js'
import { registerUse } from '../../src/local/processes.js'
import { ROOT } from './compile.js'
import type { TestServices } from './global-setup.js'
import { startPgBouncer } from './pgbouncer.js'
import { type RedisCluster, startRedisCluster } from './redis-cluster.js'
import { startRedisSentinel } from './redis-sentinel.js'
import { runningRedis, startRedis } from './redis-server.js'
import { fastTemporaryDirectory } from './temporary.js'

/** Speed before safety: nothing in it is worth saving. Tests that are about statistics make them themselves. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '1GB',
  checkpoint_timeout: '1h',
  max_connections: '300',
}

/** Kept services end when no run has used them for so long. */
const KEPT_MINUTES = 30

export interface RunServices {
  /** A directory that ends with the run, for others, too. */
  readonly directory: string
  readonly provided: Omit<TestServices, 'compilerUrl'>
  /** Ends what is not kept, and takes the run's traces out of what is. */
  end(): Promise<void>
}

interface RunOptions {
  /** Use the services that the last run with `keep` has left, and leave them. */
  readonly keep: boolean
  /** How many processes run test files at a time. */
  readonly workers: number
}

export async function startRunServices({ keep, workers }: RunOptions): Promise<RunServices> {
  const parent = fastTemporaryDirectory()
  const directory = await mkdtemp(join(parent, 'easel-test-'))
  await chmod(directory, 0o755)
  const home = keep ? join(parent, `easel-kept-${process.getuid?.()}-${digest(ROOT)}`) : directory
  await mkdir(home, { recursive: true, mode: 0o755 })
  const endUse = await registerUse(join(home, 'runs'))
  const watchdog = watchOver(directory, 'cat > /dev/null')
  const ends: (() => Promise<unknown>)[] = []
  const end = async () => {
    await Promise.all(ends.map((each) => each()))
    watchdog.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const rules = join(home, 'pg_hba.conf')
    await writeFile(rules, CHEAP_LOGINS)
    await chmod(rules, 0o644) // as root, another user reads it, whatever the umask
    const settings = { ...POSTGRES_SETTINGS, hba_file: rules }
    const template = `template_${digest(...(await migrationTexts()))}`
    const [postgres, redis, s3] = await Promise.all([
      startLocalPostgres({ dataDir: join(home, 'postgres'), settings, database: template }),
      keep ? runningRedis(home).then((it) => it ?? startRedis(home, { outlives: true })) : startRedis(home),
      process.env.TEST_STORAGE === 's3'
        ? import('./s3-server.js').then((it) => it.startS3(join(directory, 's3')))
        : undefined,
    ])
    if (keep) {
      await writeFile(join(home, 'used'), '')
      if (!postgres.reused)
        watchOver(home, `while [ -n "$(find "$1/used" -mmin -${KEPT_MINUTES})" ]; do sleep 20; done`)
      ends.push(async () => {
        await utimes(join(home, 'used'), new Date(), new Date())
        if (await endUse()) await Promise.all([dropTestDatabases(postgres.adminUrl), redis && emptyRedis(redis.url)])
      })
    } else ends.push(postgres.stop, async () => redis?.stop())
    if (s3) ends.push(() => s3.close())
    const pooler =
      process.env.TEST_POSTGRES === 'pgbouncer' ? await startPgBouncer(directory, postgres.adminUrl) : undefined
    if (pooler) ends.push(pooler.stop)
    const clusters: RedisCluster[] = []
    for (let i = 0; process.env.TEST_REDIS === 'cluster' && i < workers; i++) {
      const cluster = await startRedisCluster(join(directory, `cluster-${i}`), { replicas: false })
      ends.push(() => cluster.stop())
      clusters.push(cluster)
    }
    const sentinel =
      process.env.TEST_REDIS === 'sentinel' ? await startRedisSentinel(join(directory, 'sentinel')) : undefined
    if (sentinel) ends.push(sentinel.stop)
    await Promise.all([migrateDatabase(postgres.url), makeLoginsCheap(postgres.adminUrl)])
    return {
      directory,
      provided: {
        postgresAdminUrl: postgres.adminUrl,
        templateDatabase: template,
        poolerAddress: pooler?.address,
        redisUrl: redis?.url,
        redisSentinel: sentinel?.url,
        redisClusters: clusters.map(({ url }) => url),
        s3: await s3?.env('easel'),
      },
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

const digest = (...texts: readonly string[]) => createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12)

/** Of the template: another schema or catalog is another template. */
async function migrationTexts(): Promise<string[]> {
  const migrations = join(ROOT, 'migrations')
  const files = (await readdir(migrations)).filter((file) => file.endsWith('.sql')).sort()
  const paths = [...files.map((file) => join(migrations, file)), join(ROOT, 'src/core/catalog/model-version.ts')]
  return Promise.all(paths.map((path) => readFile(path, 'utf8')))
}

/**
 * A run logs in thousands of times. A password that is sent as it is takes two messages less than SCRAM does, and a
 * third less of both processes' time. `trust` would take still less, but would make every user of the machine superuser.
 */
const CHEAP_LOGINS = 'host all all 127.0.0.1/32 password\n'

/** Postgres hashes the password that it is sent, too: once instead of 4,096 times. */
const makeLoginsCheap = (adminUrl: string) =>
  asAdmin(adminUrl, async (admin) => {
    const { username, password } = new URL(adminUrl)
    await admin.query('SET scram_iterations = 1')
    await admin.query(`ALTER ROLE ${username} PASSWORD ${admin.escapeLiteral(decodeURIComponent(password))}`)
  })

/** Those of runs that ended early are among them. */
const dropTestDatabases = (adminUrl: string) =>
  asAdmin(adminUrl, async (admin) => {
    const { rows } = await admin.query(`SELECT datname FROM pg_database WHERE datname ~ '^t_[0-9a-f]{16}$'`)
    for (const { datname } of rows) await admin.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`)
  })

async function asAdmin(url: string, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client(url)
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

async function emptyRedis(url: string): Promise<void> {
  const redis = new Redis(url)
  await redis.flushall().finally(() => redis.disconnect())
}

/**
 * Stops the servers whose files are in `directory` and removes them, once the shell command has ended. For a run of its
 * own it waits for the end of the pipe from us, which comes however we end: Vitest skips the teardown on Ctrl-C, and a
 * killed process can't clean up.
 */
function watchOver(directory: string, waiting: string) {
  const script = `
    ${waiting}
    [ -f "$1/redis.pid" ] && kill -KILL "$(cat "$1/redis.pid")"
    pid_file="$1/postgres/data/postmaster.pid"
    [ -f "$pid_file" ] && kill -QUIT "$(head -n 1 "$pid_file")"
    for i in $(seq 50); do [ -f "$pid_file" ] || break; sleep 0.1; done
    rm -rf "$1"`
  const shell = spawn('/bin/sh', ['-c', script, 'sh', directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  const pipe = shell.stdin as Socket
  pipe.unref()
  return shell
}
