import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { migrateDatabase } from '../../src/db/migrate.js'
import { type LocalPostgres, startLocalPostgres } from '../../src/local/postgres.js'
import { compile } from './compile.js'
import { findChromium } from './programs.js'
import { type RedisServer, startRedis } from './redis-server.js'
import type { S3Server } from './s3-server.js'

/** What the test files are told; services.ts makes use of it. */
export interface TestServices {
  readonly postgresAdminUrl: string
  readonly templateDatabase: string
  readonly redisUrl: string | undefined
  /** With TEST_STORAGE=s3: the variables of a bucket. */
  readonly s3: Readonly<Record<string, string>> | undefined
  /** The program of the browser. */
  readonly chromium: string | undefined
  /** Where src/ and test/ are compiled. */
  readonly compiled: string
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly services: TestServices
  }
}

const TEMPLATE = 'template_easel'

/** Speed before safety: nothing here outlives the run. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
}

/** One Postgres with a migrated template database and one Redis for the whole run, both our own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Someone's real services; a test that reached them would fill them with rubbish.
  delete process.env.DATABASE_URL
  delete process.env.REDIS_URL
  // As root the servers' user must get through, which a TMPDIR of root's own may not allow.
  const directory = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'easel-test-'))
  await chmod(directory, 0o755)
  const watchdog = startWatchdog(directory)
  let postgres: LocalPostgres | undefined
  let redis: RedisServer | undefined
  let s3: S3Server | undefined
  const teardown = async () => {
    await Promise.all([postgres?.stop(), redis?.stop(), s3?.close()])
    watchdog.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  const compiled = join(directory, 'compiled')
  project.onTestsRerun(() => compile(compiled))
  try {
    await compile(compiled)
    redis = await startRedis(directory)
    postgres = await startLocalPostgres({
      dataDir: join(directory, 'postgres'),
      settings: POSTGRES_SETTINGS,
      database: TEMPLATE,
    })
    await migrateDatabase(postgres.url)
    if (process.env.TEST_STORAGE === 's3') s3 = await (await import('./s3-server.js')).startS3(join(directory, 's3'))
    project.provide('services', {
      postgresAdminUrl: postgres.adminUrl,
      templateDatabase: TEMPLATE,
      redisUrl: redis?.url,
      s3: await s3?.env('easel'),
      chromium: await findChromium(),
      compiled,
    })
    return teardown
  } catch (error) {
    await teardown()
    throw error
  }
}

/**
 * Vitest skips the teardown on Ctrl-C, and a killed process can't clean up. So a shell in a session of its own waits
 * for the end of the pipe from us, which comes however we end, and then stops the servers and removes their files.
 */
function startWatchdog(directory: string) {
  const script = `
    cat > /dev/null
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
