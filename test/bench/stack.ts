import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { parseConfig } from '../../src/config.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { migrateDatabase } from '../../src/db/migrate.js'
import { startLocalPostgres } from '../../src/local/postgres.js'
import { startServer } from '../../src/start-server.js'
import { startRedis } from '../support/redis-server.js'

export interface BenchStack {
  readonly url: string
  readonly db: Database
  readonly databaseUrl: string
  readonly redisUrl: string | undefined
  close(): Promise<void>
}

/** Easel's server over a Postgres (durable, as in production) and a Redis of its own, without a rate limit to speak of. */
export async function startBenchStack(): Promise<BenchStack> {
  const directory = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'easel-bench-'))
  const redis = await startRedis(directory)
  const postgres = await startLocalPostgres({
    dataDir: join(directory, 'postgres'),
    settings: { max_connections: '200' },
  })
  await migrateDatabase(postgres.url)
  const config = parseConfig({
    DATABASE_URL: postgres.url,
    REDIS_URL: redis?.url,
    STORAGE_URL: `file:${join(directory, 'images')}`,
    RATE_LIMIT_MAX: '1000000',
    RATE_LIMIT_WINDOW_SECONDS: '1',
  })
  const server = await startServer({ ...config, port: 0 }, pino({ level: 'silent' }))
  const db = createDatabase(postgres.url, { maxConnections: 4, onError: () => undefined })
  return {
    url: server.url,
    db,
    databaseUrl: postgres.url,
    redisUrl: redis?.url,
    async close() {
      await db.pool.end()
      await server.stop()
      await Promise.all([postgres.stop(), redis?.stop()])
      await rm(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
