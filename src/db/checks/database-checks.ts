/** Whether the database can be used, and what to tell a person if not. */
import { sql } from 'drizzle-orm'
import { isOutage } from '../../core/outage.js'
import { lastMigration } from '../../core/release.js'
import { causesOf, reasonOf } from '../../lib/causes.js'
import { tlsRefusal } from '../../lib/tls.js'
import type { Database } from '../client.js'
import { generations } from '../schema/generations.js'
import { backends, leases } from '../schema/workers.js'
import { databaseError, sqlState } from '../sql-state.js'
import { type Queryable, queryOnce } from '../statement.js'

const NOT_MIGRATED = 'The database is not up to date: run "easel migrate" first.'

/** What a person can do about a refusal of Postgres, by SQLSTATE. */
const SENTENCES: Readonly<Record<string, string>> = {
  '25006':
    'Postgres is read-only: a standby, or one with default_transaction_read_only. Let DATABASE_URL lead to the primary, or make it writable; a hosted one may be read-only because its disk is full.',
  '28000': 'Postgres refuses the user in DATABASE_URL: correct it.',
  '28P01': 'Postgres refuses the user or the password in DATABASE_URL: correct them.',
  '3D000': 'The database in DATABASE_URL does not exist: create it, or correct DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL has no right to that: run "easel migrate" as the owner of the tables, with this user in APP_DATABASE_URL.',
  '42P01': NOT_MIGRATED,
  '42703': NOT_MIGRATED,
  '53100': 'The disk of Postgres is full: make room on it.',
  '53300':
    'Postgres takes no more connections: raise its max_connections (or the limit of the user in DATABASE_URL), run fewer servers and workers, or put a pooler in front.',
  '55P03': 'The rows are in use by another process at the moment: try again.',
  '57014': 'Postgres took too long to answer: try again when it is less busy.',
}

/**
 * The sentence for a refusal that a person can do something about; undefined for any other error.
 * @param variable the one whose URL led to it
 */
export function databaseRefusal(error: unknown, variable = 'DATABASE_URL'): string | undefined {
  const sentence = loginRefusal(error) ?? SENTENCES[stateOf(error) ?? '']
  return sentence?.replaceAll('DATABASE_URL', variable) ?? tlsRefusal(error, 'Postgres', variable)
}

/** What Postgres, or a pooler in front of it, has against the kind of connection. */
function loginRefusal(error: unknown): string | undefined {
  const { code = '', message = '' } = databaseError(error) ?? {}
  if (!/^(28000|08P01)$/.test(code)) return undefined
  if (/client certificate/i.test(message))
    return 'Postgres asks for a client certificate: add sslcert=/path/to/client.crt and sslkey=/path/to/client.key to DATABASE_URL.'
  if (/no encryption|\bSSL (off|(connection )?(is )?required)|insecure/i.test(message))
    return `Postgres takes no connection without TLS from here (${message}): add sslmode=verify-full to DATABASE_URL, and sslrootcert=/path/to/ca.pem if its certificate is from an authority of your own.`
  const [, parameter] = /unsupported startup parameter(?: in options)?: (\S+)/.exec(message) ?? []
  if (parameter)
    return `The pooler in front of Postgres takes no connection that sets ${parameter}: leave it out of DATABASE_URL (and of PGOPTIONS), or name it in the pooler's ignore_startup_parameters.`
  if (/pg_hba\.conf/.test(message))
    return `Postgres lets this user in from no such place (${message}): add a line to its pg_hba.conf, or correct DATABASE_URL.`
  return undefined
}

/** Without a password that Postgres asks for, the client itself gives up, without a SQLSTATE. */
function stateOf(error: unknown): string | undefined {
  const lacksPassword = causesOf(error).some(({ message }) => /^SASL: .* password must be/.test(message))
  return lacksPassword ? '28P01' : sqlState(error)
}

/** Wrong user, password or database, or one that was never migrated. */
const MENDED_BY_HAND = /^(28|3D|42)/

/** @throws Error with one sentence where waiting does not help */
export function requireOutage(error: unknown, variable = 'DATABASE_URL'): void {
  const sentence = databaseRefusal(error, variable)
  const isByHand = MENDED_BY_HAND.test(stateOf(error) ?? '') || (sentence && sqlState(error) === undefined)
  if (isByHand || loginRefusal(error) || !isOutage(error))
    throw new Error(sentence ?? `Postgres can't be used (${reasonOf(error)}): check ${variable}.`, { cause: error })
}

/** SQL_ASCII keeps what it gets. */
const ENCODINGS = ['UTF8', 'SQL_ASCII']

/** One sentence where the database could not keep every character of a prompt. */
async function encodingProblem(on: Queryable): Promise<string | undefined> {
  const { rows } = await on.query({ text: 'SHOW server_encoding' })
  const { server_encoding: encoding } = rows[0]
  return ENCODINGS.includes(encoding)
    ? undefined
    : `The database has the encoding ${encoding}, which lacks most characters: create it anew with the encoding UTF8 (createdb -T template0 -E UTF8).`
}

/** @throws Error with one sentence where the database could not keep every character of a prompt */
export async function requireEncoding(on: Queryable): Promise<void> {
  const problem = await encodingProblem(on)
  if (problem) throw new Error(problem)
}

/** @returns one sentence where texts are sorted by other rules than when the indexes were made; Postgres 15 and newer know it */
export async function collationProblem({ pool }: Database): Promise<string | undefined> {
  const [changed] = await queryOnce<{ mend: string }>(
    pool,
    sql`SELECT format('REINDEX DATABASE %1$I; ALTER DATABASE %1$I REFRESH COLLATION VERSION;', datname) AS mend FROM pg_database
         WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)`,
  )
  return (
    changed &&
    `Postgres sorts texts by other rules than when the indexes of this database were made, so what is there may not be found: stop all servers and workers, and let the owner of the database run: ${changed.mend}`
  )
}

/** @throws Error with one sentence, though not for a Postgres that is only down: that does not stop the start */
export async function requireUsableDatabase({ pool }: Database): Promise<void> {
  let problem: string | undefined
  try {
    problem = await encodingProblem(pool)
    if (!problem) {
      await queryOnce(pool, sql`SELECT FROM ${generations}, ${backends}, ${leases} LIMIT 0`)
      if (!(await isMigrated(pool))) problem = NOT_MIGRATED
    }
  } catch (error) {
    requireOutage(error)
  }
  if (problem) throw new Error(problem)
}

/** Changes nothing, but fails where nothing could be written. */
const LOOK = sql`
  WITH written AS (UPDATE ${generations} SET status = status WHERE false) SELECT 1 FROM ${generations} LIMIT 1`

/** Why the database can't be used now, as one sentence; undefined if its tables can be read and written. */
export const databaseProblem = ({ pool }: Database): Promise<string | undefined> =>
  queryOnce(pool, LOOK).then(() => undefined, problemOf)

function problemOf(error: unknown): string {
  const refusal = databaseRefusal(error)
  if (refusal) return refusal
  if (sqlState(error)) return `Postgres cannot work now: ${(error as Error).message}.`
  return 'Postgres does not answer: see whether it runs where DATABASE_URL leads.'
}

/** The same for its tables, where it answers: an older database may have been restored. */
export const migrationProblem = ({ pool }: Database): Promise<string | undefined> =>
  isMigrated(pool).then((migrated) => (migrated ? undefined : NOT_MIGRATED), databaseRefusal)

/** What was applied, in the form of Drizzle's own migrator, which itself would run all files in one transaction. */
export const JOURNAL = sql.raw('drizzle.__drizzle_migrations')

/** Whether the database has every migration that this program knows. It may have newer ones: they only add. */
async function isMigrated(on: Queryable): Promise<boolean> {
  const { when } = lastMigration()
  return (await queryOnce(on, sql`SELECT FROM ${JOURNAL} WHERE created_at >= ${when} LIMIT 1`)).length > 0
}

/** @returns one sentence where a newer release has migrated the database: this one may be too old for it */
export async function newerMigrations(on: Queryable): Promise<string | undefined> {
  const { when, tag } = lastMigration()
  const [newer] = await queryOnce<{ n: number }>(
    on,
    sql`SELECT count(*)::integer AS n FROM ${JOURNAL} WHERE created_at > ${when}`,
  )
  return newer?.n
    ? `A newer release has migrated the database: this one knows its migrations up to ${tag}, and not the ${newer.n} after it. It works if it is the release before; if it is older, run the newer one again, or restore a backup from before its migrations.`
    : undefined
}

interface FaultWatchPorts {
  /** What is wrong with Postgres now, as one sentence; undefined: nothing. */
  readonly problem: () => Promise<string | undefined>
  readonly onFault: (error: Error) => void
  /** Called once after the last fault. */
  readonly onEnd: () => void
}

const LOOK_EVERY_MS = 1000
/** A fault may be of some statements only, so that nothing but time shows its end. */
const OVER_AFTER_MS = 5000

const DISK_FULL = '53100'

/** Watches a Postgres that answers, but refuses statements for the state that it is in: read-only, a full disk, … */
export function faultWatch({ problem, onFault, onEnd }: FaultWatchPorts) {
  let last: { readonly error: Error; readonly at: number } | undefined
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    const isOver = (await problem()) === undefined && last && performance.now() - last.at > OVER_AFTER_MS
    if (timer === undefined) return // stopped
    if (!isOver) {
      timer = setTimeout(() => void look(), LOOK_EVERY_MS)
      return
    }
    timer = last = undefined
    onEnd()
  }

  return {
    noted(error: Error): void {
      last = { error, at: performance.now() }
      onFault(error)
      timer ??= setTimeout(() => void look(), LOOK_EVERY_MS)
    },
    /** What was noticed and no look at Postgres shows, as one sentence. */
    problem: (): string | undefined => (sqlState(last?.error) === DISK_FULL ? databaseRefusal(last?.error) : undefined),
    /** What Postgres refuses now, though other statements may work, as one sentence. */
    refused: (): string | undefined => last && `Postgres refuses statements: ${refusalWords(last.error)}`,
    stop(): void {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

const refusalWords = (error: Error): string =>
  databaseRefusal(error) ?? `${databaseError(error)?.message}; look into its log.`
