/** Easel as its users meet it: the real server and worker of one process, over a database and a Redis of the file's own. */
import { randomBytes } from 'node:crypto'
import { type Logger, pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../../src/db/client.js'
import { type Config, parseConfig } from '../../src/process/config.js'
import type { Running } from '../../src/process/run-process.js'
import { type ServerOptions, startServer } from '../../src/process/start-server.js'
import { startWorker, type WorkerOptions } from '../../src/process/start-worker.js'
import { patientDatabase } from './database.js'
import { givenStorage } from './image-storage.js'
import { createTestDatabase, redisAvailable, redisUrl } from './services.js'

export interface ServiceOptions {
  /** False: one-machine mode. Default: Redis where this run has one. */
  readonly redis?: boolean
  readonly env?: Readonly<Record<string, string>>
  /** Of all its processes; nobody reads it, unless it is given. */
  readonly log?: Logger
  /** Images are kept in a directory, even if the run has a bucket. */
  readonly inFiles?: boolean
  readonly server?: ServerOptions
  /** Start a worker, too, with these options; INFERENCE_URL comes from `env`. */
  readonly worker?: boolean | WorkerOptions
}

export interface Service {
  readonly url: string
  readonly db: Database
  readonly config: Config
  readonly namespace: string
  /** One more server or worker over the same Postgres and Redis; closed with the rest. */
  server(options?: ServerOptions, env?: Record<string, string>): Promise<Running & { url: string }>
  worker(options?: WorkerOptions, env?: Record<string, string>): Promise<Running>
  /** Stops the workers and forgets their backends, for the next test. */
  endWorkers(): Promise<void>
  /** Stops the server that it began with. */
  stopServer(): Promise<void>
  close(): Promise<void>
}

/** Logs are read by nobody here; what a test wants to see of them it collects through `lines`. */
export const silentLog = () => pino({ level: process.env.TEST_LOG ?? 'silent' })

/** Of each check of the image store: those of real images would be most of what the tests write. */
const probeBytes = 1024

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { redis = redisAvailable, env = {}, log = silentLog() } = options
  const database = await createTestDatabase()
  const storage = await givenStorage(options.inFiles)
  const namespace = `t${randomBytes(6).toString('hex')}`
  const environment = {
    // A Postgres of the test's own is also where it listens.
    ...(env.DATABASE_URL === undefined && database.env),
    ...(redis && { REDIS_URL: await redisUrl() }),
    ...storage.env,
    BASE_URL: 'http://easel.test',
    ...env,
  }
  const configured = (more: Record<string, string> = {}): Config => ({
    ...parseConfig({ ...environment, ...more }),
    port: 0,
  })
  const config = configured()
  const running: Running[] = []
  const started = async <T extends Running>(process: Promise<T>): Promise<T> => {
    const it = await process
    const stoppable = {
      ...it,
      stop: async (crashed?: boolean) => {
        running.splice(running.indexOf(stoppable), 1)
        await it.stop(crashed)
      },
    }
    running.push(stoppable)
    return stoppable
  }
  const server = (more?: ServerOptions, moreEnv?: Record<string, string>) =>
    started(startServer(configured(moreEnv), log, { namespace, probeBytes, ...options.server, ...more }))
  const workers: Running[] = []
  const worker = async (more?: WorkerOptions, moreEnv?: Record<string, string>) => {
    const it = await started(startWorker(configured(moreEnv), log, { namespace, probeBytes, drainMs: 2000, ...more }))
    workers.push(it)
    return it
  }

  const first = await server()
  if (options.worker) await worker(options.worker === true ? {} : options.worker)
  const db = patientDatabase(database.url, 5)
  return {
    url: first.url,
    db,
    config,
    namespace,
    server,
    worker,
    async endWorkers() {
      const left = workers.splice(0).filter((it) => running.includes(it))
      await Promise.all(left.map((it) => it.stop()))
      await db.pool.query('DELETE FROM backends')
    },
    stopServer: () => first.stop(),
    async close() {
      await Promise.all([...running].reverse().map((it) => it.stop()))
      await db.pool.end()
      await storage.remove()
    },
  }
}

/** A service that runs while the file's tests do. Read it inside a test, not while the file loads. */
export function useService(options: ServiceOptions | (() => Promise<ServiceOptions>) = {}): {
  readonly service: Service
} {
  const held: { service?: Service } = {}
  beforeAll(async () => {
    held.service = await startService(typeof options === 'function' ? await options() : options)
  })
  afterAll(() => held.service?.close())
  return held as { service: Service }
}
