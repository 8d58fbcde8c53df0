/** Where the command line finds its database, and what it opens for one command. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { clearLeftovers } from '../core/generations/cancel.js'
import { type Acting, actingAs, type OutsideActs, type Said } from '../core/operator/acting.js'
import type { Administration } from '../core/operator/administration.js'
import type { ActedBy } from '../core/operator/operator-actions.js'
import { createDatabase, type Database } from '../db/client.js'
import { administration, recordedIn } from '../db/operator/administration.js'
import { recorded } from '../db/operator/operator-actions.js'
import { archiveFiles } from '../images/archive-files.js'
import { createImageStore, imageStore } from '../images/open-image-store.js'
import { requireOwn } from '../lib/own-directory.js'
import { type Config, parseConfig } from '../process/config.js'
import { type Foundation, openFoundation } from '../process/foundation.js'
import { allImageFiles } from '../process/image-files.js'
import { createLogger } from '../process/logger.js'
import type { Answer } from './output.js'

/**
 * The configuration, with the database of the stack that `npm start` runs where there is no DATABASE_URL; undefined when
 * there is neither. @throws ConfigError, ForeignDirectory
 */
export async function findConfig(env: NodeJS.ProcessEnv, localDirectory: string): Promise<Config | undefined> {
  if (env.DATABASE_URL || env.DATABASE_URL_FILE) return parseConfig(env)
  const url = await localDatabaseUrl(localDirectory)
  if (!url) return undefined
  // The stack may run on another port than this command knows of. The URLs of images follow from it.
  return parseConfig({ ...env, DATABASE_URL: url, BASE_URL: env.BASE_URL || (await localBaseUrl(localDirectory)) })
}

/** Finds the configuration of a command that can do without a database. */
export type FindConfig = () => Promise<Config | undefined>

const stackSchema = z.object({ url: z.string() })

async function localBaseUrl(directory: string): Promise<string | undefined> {
  const noted = await readFile(join(directory, 'stack.json'), 'utf8').catch(() => '{}')
  return stackSchema.safeParse(JSON.parse(noted)).data?.url
}

async function localDatabaseUrl(directory: string): Promise<string | undefined> {
  if (!existsSync(directory)) return undefined
  await requireOwn(directory)
  const url = (await readFile(join(directory, 'database-url'), 'utf8').catch(() => '')).trim()
  return url && (await answers(url)) ? url : undefined
}

async function answers(url: string): Promise<boolean> {
  const { pool } = createDatabase(url, { maxConnections: 1, onError: () => undefined })
  const answer = await pool.query('SELECT 1').catch(() => undefined)
  await pool.end()
  return answer !== undefined
}

/** What a command works with. */
export interface Operator {
  readonly config: Config
  /** Connects at the first query. */
  readonly db: Database
  /** Who did something, on the command line, and why. */
  by(reason: string | undefined): ActedBy
  /** What is read and changed of any account. */
  readonly stores: Administration
  acting(reason: string | undefined): Acting<Administration>
  /**
   * Does something to the database and records it, in one transaction: neither is done without the other.
   * @param actOf what to record of its result: the action, in the past tense, and to what; undefined: nothing was done
   */
  recorded<T>(
    reason: string | undefined,
    work: (db: Database) => Promise<T>,
    actOf: (done: T) => Said | undefined,
  ): Promise<T>
  /** With the queue and the locks, for commands that end generations. Opened at the first call. */
  foundation(): Promise<Foundation>
}

/** Turns a command's work into an action for commander: arguments in, answer printed. */
export type Runner = <Args extends unknown[]>(
  work: (operator: Operator, ...args: Args) => Promise<Answer>,
) => (...args: Args) => Promise<void>

/** Runs one command's work and closes all that it opened. */
export async function withOperator<T>(config: Config, work: (operator: Operator) => Promise<T>): Promise<T> {
  const log = createLogger(config.logLevel, 'cli')
  // A connection that dies also fails the query it was for, which is reported.
  const onError = (err: Error) => log.debug({ err }, 'connection lost')
  const db = createDatabase(config.databaseUrl, { maxConnections: 2, onError, archiveFiles: archiveFiles(config) })
  let opened: Promise<Foundation> | undefined
  const foundation = () => {
    opened ??= openFoundation(config, log, { maxConnections: 2 })
    return opened
  }
  try {
    const by = (reason = '') => ({ actor: `command line (${userName()})`, reason })
    const stores = administration(db)
    const outside: OutsideActs = {
      async clearLeftovers(ended) {
        const { lock, queue } = await foundation()
        await clearLeftovers({ lock, queue, images: imageStore(config) }, ended)
      },
      // Opened after the row is marked: a store that is away then only leaves the file.
      removeImage: async (slug) => allImageFiles(await createImageStore(config), config, db).remove(slug),
    }
    return await work({
      ...{ config, db, stores, foundation, by },
      acting: (reason) => actingAs({ stores, outside, recorded: recordedIn(db) }, by(reason)),
      recorded: (reason, work, actOf) =>
        recorded(db, work, (done) => {
          const [action, target] = actOf(done) ?? []
          return action === undefined || target === undefined ? undefined : { ...by(reason), action, target }
        }),
    })
  } finally {
    await opened?.then((it) => it.close()).catch(() => undefined)
    await db.pool.end().catch(() => undefined)
  }
}

/** In a container the user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `${process.getuid?.() ?? 'unknown'}`
  }
}
