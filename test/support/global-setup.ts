import type { TestProject } from 'vitest/node'
import { startCompiler } from './compiler.js'
import { startRunServices } from './run-services.js'

/** What the test files are told; services.ts makes use of it. */
export interface TestServices {
  readonly postgresAdminUrl: string
  readonly templateDatabase: string
  /** With TEST_POSTGRES=pgbouncer: where PgBouncer is, as host:port. */
  readonly poolerAddress: string | undefined
  readonly redisUrl: string | undefined
  /** With TEST_REDIS=cluster: a cluster for each process that runs test files, as REDIS_URL names it. */
  readonly redisClusters: readonly string[]
  /** With TEST_REDIS=sentinel: the master that sentinels name, without the number of a database. */
  readonly redisSentinel: string | undefined
  /** With TEST_STORAGE=s3: the variables of a bucket. */
  readonly s3: Readonly<Record<string, string>> | undefined
  /** Compiles src/ and test/ when it is first asked: see `compiler.ts`. */
  readonly compilerUrl: string
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly services: TestServices
  }
}

/** One Postgres with a migrated template database and one Redis for the whole run, both our own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Someone's real services; a test that reached them would fill them with rubbish.
  delete process.env.DATABASE_URL
  delete process.env.REDIS_URL
  const services = await startRunServices({
    keep: process.env.TEST_KEEP === '1',
    workers: Number(project.config.maxWorkers),
  })
  // What tests and their processes leave ends with the run.
  process.env.TMPDIR = services.directory
  const compiler = await startCompiler(services.directory)
  project.onTestsRerun(compiler.forget)
  project.provide('services', { ...services.provided, compilerUrl: compiler.url })
  return async () => {
    await compiler.close()
    await services.end()
  }
}
