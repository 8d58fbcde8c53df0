/** Where the command line finds its database, and what it opens for one command. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Config, parseConfig } from '../config.js'
import { createDatabase, type Database } from '../db/client.js'
import { createLogger } from '../logger.js'
import { requireOwn } from '../own-directory.js'
import { type Foundation, openFoundation } from '../wiring.js'
import { OperatorError } from './operator-error.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where `npm start` keeps the one-machine stack. */
const LOCAL_DIRECTORY = '.easel'

/**
 * DATABASE_URL, or without one the database of the stack that `npm start` runs from this directory.
 * @throws OperatorError when there is neither; ForeignDirectory
 */
async function databaseUrlFor(env: Environment, localDirectory = LOCAL_DIRECTORY): Promise<string> {
  const url = await findDatabaseUrl(env, localDirectory)
  if (url !== undefined) return url
  throw new OperatorError(
    `No database to work on: set DATABASE_URL, or run "npm start", whose stack is not running in ${localDirectory}.`,
  )
}

async function findDatabaseUrl(env: Environment, localDirectory: string): Promise<string | undefined> {
  if (env.DATABASE_URL) return env.DATABASE_URL
  if (!existsSync(localDirectory)) return undefined
  await requireOwn(localDirectory)
  const url = await readFile(join(localDirectory, 'database-url'), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  )
  return url && (await answers(url)) ? url : undefined
}

async function answers(url: string): Promise<boolean> {
  try {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, query_timeout: 2000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('SELECT 1')
      return true
    } finally {
      await client.end().catch(() => undefined)
    }
  } catch {
    return false
  }
}

/** @throws ConfigError, OperatorError */
export async function configFor(env: Environment, localDirectory?: string): Promise<Config> {
  return parseConfig({ ...env, DATABASE_URL: await databaseUrlFor(env, localDirectory) })
}

/**
 * Like `configFor`, but undefined when there is no database to be found.
 * @throws ConfigError
 */
export async function findConfig(env: Environment, localDirectory = LOCAL_DIRECTORY): Promise<Config | undefined> {
  const url = await findDatabaseUrl(env, localDirectory)
  return url === undefined ? undefined : parseConfig({ ...env, DATABASE_URL: url })
}

/** What a command works with. */
export interface Operator {
  readonly config: Config
  /** Connects at the first query. */
  readonly db: Database
  /** With the queue and the locks, for commands that end generations. Opened at the first call. */
  foundation(): Promise<Foundation>
}

/** Runs one command's work and closes all that it opened. */
export async function withOperator<T>(config: Config, work: (operator: Operator) => Promise<T>): Promise<T> {
  const log = createLogger(config.logLevel, 'cli')
  // A connection that dies also fails the query it was for, and that is told.
  const db = createDatabase(config.databaseUrl, {
    maxConnections: 2,
    onError: (err) => log.debug({ err }, 'connection lost'),
  })
  let opened: Promise<Foundation> | undefined
  const foundation = () => {
    opened ??= openFoundation(config, log, { maxConnections: 2 })
    return opened
  }
  try {
    return await work({ config, db, foundation })
  } finally {
    await opened?.then((it) => it.close()).catch(() => undefined)
    await db.pool.end().catch(() => undefined)
  }
}
