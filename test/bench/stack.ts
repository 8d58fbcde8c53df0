import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { parseConfig } from '../../src/config.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { migrateDatabase } from '../../src/db/migrate.js'
import { startLocalPostgres } from '../../src/local/postgres.js'
import { startServer } from '../../src/start-server.js'
import { startRedis } from '../support/redis-server.js'
import { until } from '../support/until.js'

export interface BenchStack {
  readonly url: string
  readonly db: Database
  readonly databaseUrl: string
  readonly redisUrl: string | undefined
  /** Resident memory of the server, in MiB; of this process where it is not apart. */
  residentMiB(): Promise<number>
  close(): Promise<void>
}

/**
 * Easel's server over a Postgres (durable, as in production) and a Redis of its own, without a rate limit to speak of.
 * @param apart whether the server is a process of its own
 */
export async function startBenchStack(apart = false): Promise<BenchStack> {
  const directory = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'easel-bench-'))
  const closers: (() => Promise<unknown> | undefined)[] = [
    () => rm(directory, { recursive: true, force: true, maxRetries: 5 }),
  ]
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const redis = await startRedis(directory)
    closers.push(() => redis?.stop())
    const postgres = await startLocalPostgres({
      dataDir: join(directory, 'postgres'),
      settings: { max_connections: '200' },
    })
    closers.push(() => postgres.stop())
    await migrateDatabase(postgres.url)
    const env = {
      DATABASE_URL: postgres.url,
      ...(redis && { REDIS_URL: redis.url }),
      STORAGE_URL: `file:${join(directory, 'images')}`,
      RATE_LIMIT_MAX: '1000000',
      // All clients have this address, as behind a proxy.
      TRUST_PROXY: '127.0.0.1',
      RATE_LIMIT_WINDOW_SECONDS: '1',
    }
    const server = apart
      ? await startServerApart(env)
      : { ...(await startServer({ ...parseConfig(env), port: 0 }, pino({ level: 'silent' }))), pid: process.pid }
    closers.push(() => server.stop())
    const db = createDatabase(postgres.url, { maxConnections: 4, onError: () => undefined })
    closers.push(() => db.pool.end())
    return {
      url: server.url,
      db,
      databaseUrl: postgres.url,
      redisUrl: redis?.url,
      async residentMiB() {
        const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
        return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function startServerApart(env: Record<string, string>) {
  const port = 20_000 + (process.pid % 10_000)
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', 'src/server.ts'], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, PORT: String(port), ...env },
  })
  const url = `http://127.0.0.1:${port}`
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  const ready = until(
    () =>
      fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'a server that is ready',
    60_000,
  )
  await ready.catch(async (error) => {
    await stop()
    throw error
  })
  return { url, pid: child.pid, stop }
}
