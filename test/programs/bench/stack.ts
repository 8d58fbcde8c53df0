/** What is measured: Easel as it is built for production, and the bare rival, over one Postgres and one Redis. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { freePort } from '../../support/free-port.js'
import { startRedis } from '../../support/redis-server.js'
import { sharedTemporaryDirectory } from '../../support/temporary.js'
import { until } from '../../support/until.js'

export const WORKER = 'dist/worker.js'

type Environment = Readonly<Record<string, string>>

export interface Started {
  readonly url: string
  readonly pid: number
  /** From the start of the process to its first "ready". */
  readonly readyAfterMs: number
  stop(): Promise<void>
}

/** A new one. As root Postgres runs as another user, who must get in, or its data would stay behind elsewhere. */
export async function benchDirectory(): Promise<string> {
  const directory = await mkdtemp(join(sharedTemporaryDirectory(), 'easel-bench-'))
  await chmod(directory, 0o711)
  return directory
}

export type BenchStack = Awaited<ReturnType<typeof startBenchStack>>

/** What `npm run build` has built. */
const BUILT = { server: 'dist/server.js', worker: WORKER }

/**
 * Easel's server over a durable Postgres and a Redis, both our own.
 * @param own of every process beside what all have
 * @param scripts of another build
 * @param settings of Postgres
 * @param filled the directory in whose `postgres` is a database already; it is removed with the rest
 */
export async function startBenchStack(
  own: Environment = {},
  scripts = BUILT,
  settings: Environment = {},
  filled?: string,
) {
  const directory = filled ?? (await benchDirectory())
  const closers: (() => Promise<unknown> | undefined)[] = [
    () => rm(directory, { recursive: true, force: true, maxRetries: 5 }),
  ]
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const redis = await startRedis(directory)
    if (!redis) throw new Error('The benchmarks need a redis-server on the PATH.')
    closers.push(() => redis.stop())
    const postgres = await startLocalPostgres({
      dataDir: join(directory, 'postgres'),
      settings: { max_connections: '200', shared_buffers: '256MB', ...settings },
    })
    closers.push(() => postgres.stop())
    await migrateDatabase(postgres.url)
    const images = join(directory, 'images')
    await mkdir(images, { recursive: true })
    const [, nodeOptions = ''] = /^ENV NODE_OPTIONS=(.*)$/m.exec(await readFile('Dockerfile', 'utf8')) ?? []
    const env: Environment = {
      // As in the image; the rival has the same.
      NODE_OPTIONS: nodeOptions,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      STORAGE_URL: `file:${images}`,
      // The rival's.
      IMAGES: images,
      // The history is made up: the audit would complain.
      LOG_LEVEL: 'fatal',
      RATE_LIMIT_MAX: '1000000',
      // All clients have this address, as behind a proxy.
      TRUST_PROXY: '127.0.0.1',
      ...own,
    }
    const launch = async (script: readonly string[], extra: Environment = {}): Promise<Started> => {
      // A worker answers /ready there.
      const port = script[0] === scripts.worker ? 'METRICS_PORT' : 'PORT'
      const started = await startProcess(script, port, { ...env, ...extra })
      closers.push(started.stop)
      return started
    }
    const server = await launch([scripts.server])
    const db = createDatabase(postgres.url, { maxConnections: 4, onError: () => undefined })
    closers.push(() => db.pool.end())
    const redisPid = Number(await readFile(join(directory, 'redis.pid'), 'utf8'))
    return {
      url: server.url,
      server,
      db: db as Database,
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      /** The directory of published images. */
      images,
      /** Of every process. */
      env,
      /** Starts one more process over the same services, which `close` stops. */
      launch,
      /** CPU seconds that Postgres and Redis have used so far. */
      servicesCpu: async () => (await cpuOf(postgres.pid, true)) + (await cpuOf(redisPid)),
      postgresCpu: () => cpuOf(postgres.pid, true),
      redisCpu: () => cpuOf(redisPid),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** What must not outlive this process. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

async function startProcess(script: readonly string[], variable: string, env: Environment): Promise<Started> {
  const port = env[variable] ?? (await freePort())
  const begun = performance.now()
  const child: ChildProcess = spawn(process.execPath, script, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, [variable]: String(port), ...env },
  })
  const url = `http://127.0.0.1:${port}`
  const ended = once(child, 'exit')
  running.add(child)
  const stop = async () => {
    running.delete(child)
    child.kill('SIGKILL')
    await ended
  }
  const isReady = async () => {
    const ready = (await fetch(`${url}/ready`).catch(() => undefined))?.ok
    // Looked at last: if the port was another process's, that one has answered.
    if (child.exitCode !== null) throw new Error(`${script.join(' ')} ended instead of starting`)
    return ready
  }
  await until(isReady, `${script.join(' ')} to be ready`, 240_000).catch(async (error) => {
    await stop()
    throw error
  })
  return { url, pid: child.pid as number, readyAfterMs: performance.now() - begun, stop }
}

const TICKS_PER_SECOND = 100

/** CPU seconds of a process, and of its children (those that have ended, too). Linux's /proc, as proc(5) describes it. */
export async function cpuOf(pid: number, children = false): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name may hold spaces; utime is the 12th field after it.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [own = 0, system = 0, ended = 0, endedSystem = 0] = fields.slice(11, 15)
  const seconds = (own + system + (children ? ended + endedSystem : 0)) / TICKS_PER_SECOND
  if (!children) return seconds
  const ids = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const each = await Promise.all(
    ids
      .split(' ')
      .filter(Boolean)
      .map((id) => cpuOf(Number(id))),
  )
  return each.reduce((sum, one) => sum + one, seconds)
}

export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
