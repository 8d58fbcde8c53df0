import { type Config, parseConfig } from '../config.js'
import { migrateDatabase } from '../db/migrate.js'
import { type Demo, prepareDemo } from './demo-account.js'
import { type Interruption, unlessInterrupted } from './interruption.js'
import { type LocalPostgres, startLocalPostgres } from './postgres.js'
import { openServiceLog } from './service-log.js'
import { launchService, type ServiceName, type ServiceProcess } from './service-process.js'
import { type StateDirectory, writePrivately } from './state-directory.js'

export interface StackOptions {
  readonly state: StateDirectory
  /** Instead of PORT. */
  readonly port: number
  readonly interruption: Interruption
  /** Called with what is being done now. */
  readonly onStep: (step: string) => void
  /** Called with what a service warns of, as one line. */
  readonly onTrouble: (line: string) => void
}

/** The whole service, running on this machine and ready. */
export interface Stack extends Demo {
  readonly config: Config
  /** Settles with one sentence when a part ends by itself. */
  readonly broken: Promise<string>
  /** Ends it in order: server, worker, Postgres. Nothing of it is left when this returns. */
  stop(): Promise<void>
}

const POSTGRES_LOOK_MS = 1000
/** Stands in while there is no database yet, so that the other variables can be checked before anything is started. */
const NOWHERE = 'postgres://localhost/not-started-yet'

/** Where a plain `npm start` serves. */
export const DEFAULT_PORT = parseConfig({ DATABASE_URL: NOWHERE }).port

/** The configuration as it will be, but for the database where that is to be started first. */
export const plannedConfig = (): Config =>
  parseConfig({ ...process.env, DATABASE_URL: process.env.DATABASE_URL || NOWHERE })

/**
 * Starts Postgres (unless DATABASE_URL names one), brings the database up to date, and starts server and worker, each
 * a process of its own.
 * @throws Error with one sentence, or the reason of the interruption; what was started is stopped again by then
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { state, interruption, onStep } = options
  const closing: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    const postgres = await openPostgres(options, closing)
    const databaseUrl = postgres?.url ?? (process.env.DATABASE_URL as string)
    interruption.asked.throwIfAborted()
    const env = { ...process.env, PORT: String(options.port), DATABASE_URL: databaseUrl }
    const config = parseConfig(env)
    onStep('Preparing the database')
    await migrate(databaseUrl)
    interruption.asked.throwIfAborted()
    onStep('Starting server and worker')
    const launch = async (name: ServiceName) => {
      const service = launchService(name, env, await openServiceLog(state.logs, name, options.onTrouble))
      closing.push(() => service.stop(interruption.forced))
      return service
    }
    // The server goes first when it ends: its last clients may be waiting for what the worker draws.
    const services = [await launch('worker'), await launch('server')]
    const whenReady = Promise.all(services.map(({ ready }) => ready))
    // An interruption may leave nobody to wait for it.
    whenReady.catch(() => undefined)
    const prepared = await unlessInterrupted(prepareDemo(config, state.demoKey, whenReady), interruption)
    return { config, ...prepared, broken: whenBroken(services, postgres), stop }
  } catch (error) {
    if (closing.length > 0) onStep('Stopping')
    await stop()
    throw error
  }
}

async function openPostgres({ state, onStep }: StackOptions, closing: (() => Promise<unknown>)[]) {
  if (process.env.DATABASE_URL) return undefined
  onStep('Starting Postgres')
  const postgres = await startLocalPostgres({ dataDir: state.postgres })
  closing.push(() => postgres.stop())
  await writePrivately(state.databaseUrl, `${postgres.url}\n`)
  return postgres
}

async function migrate(databaseUrl: string): Promise<void> {
  try {
    await migrateDatabase(databaseUrl)
  } catch (error) {
    const { errors, message } = error as AggregateError
    const reason = errors?.[0]?.message ?? message
    throw new Error(`The database can't be used (${reason}): check DATABASE_URL and that Postgres runs there.`, {
      cause: error,
    })
  }
}

async function whenBroken(services: readonly ServiceProcess[], postgres: LocalPostgres | undefined): Promise<string> {
  const ends = services.map(
    async ({ name, ended, logFile }) => `The ${name} ended by itself (${await ended}): see ${logFile}.`,
  )
  if (postgres)
    ends.push(whenGone(postgres.pid).then(() => 'Postgres ended by itself: see .easel/postgres/server.log.'))
  return Promise.race(ends)
}

/** It may have been found running, so it is not always a child of ours. */
function whenGone(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const look = setInterval(() => {
      try {
        process.kill(pid, 0)
      } catch {
        clearInterval(look)
        resolve()
      }
    }, POSTGRES_LOOK_MS)
    look.unref()
  })
}
