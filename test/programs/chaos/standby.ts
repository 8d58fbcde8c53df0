/** A second Postgres that follows a first one, made as pg_basebackup does it, which npm's Postgres lacks. */
import { execFile } from 'node:child_process'
import { chmod, chown, copyFile, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type LocalPostgres, startLocalPostgres } from '../../../src/local/postgres.js'
import { until } from '../../support/until.js'

/** What it is called among the primary's followers. */
const NAME = 'standby'
/** On a busy machine, with all of a long run's data. */
const PATIENCE_MS = 60_000

/** Replaces the settings that came with the copy: who took over waits for nobody until it has a standby of its own. */
const followed = ({ hostname, port, username, password }: URL) =>
  `primary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password} application_name=${NAME}'\n`

/**
 * Copies the running primary and starts the copy as its standby.
 * @param from the primary's directory, as `startLocalPostgres` was given it
 * @param to a directory that does not exist yet
 */
export async function startStandby(
  primary: LocalPostgres,
  from: string,
  to: string,
  settings: Readonly<Record<string, string>>,
): Promise<LocalPostgres> {
  await baseBackup(primary.url, from, to)
  await writeOwned(join(to, 'data'), { 'standby.signal': '', 'postgresql.auto.conf': followed(new URL(primary.url)) })
  return startLocalPostgres({ dataDir: to, settings })
}

/** Copies a running server's data, to be recovered with the log of then. @param to a directory that does not exist yet */
export async function baseBackup(url: string, from: string, to: string): Promise<void> {
  const data = join(to, 'data')
  await mkdir(to)
  await chmod(to, (await stat(from)).mode)
  await copyFile(join(from, 'state.json'), join(to, 'state.json'))
  await withClient(url, async (client) => {
    await client.query(`SELECT pg_backup_start('${NAME}', true)`)
    // What goes away amid the copy is no harm: the log that is replayed knows of it.
    await promisify(execFile)('cp', ['-a', join(from, 'data'), data]).catch((error) => {
      if (/^(?!.*No such file).+/m.test(error.stderr)) throw error
    })
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
    const log = (await readdir(join(data, 'pg_wal'))).map((name) => join('pg_wal', name))
    for (const name of ['postmaster.pid', 'postmaster.opts', ...log])
      await rm(join(data, name), { recursive: true, force: true })
    await writeOwned(data, { backup_label: rows[0].labelfile })
  })
}

/** As root we run Postgres as another user, whose files these must be. */
export async function writeOwned(data: string, texts: Readonly<Record<string, string>>): Promise<void> {
  const { uid, gid } = await stat(data)
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(data, name), text)
    await chown(join(data, name), uid, gid)
  }
}

/** From now on the primary acknowledges only what its standby has, too; resolves when that has everything. */
export const inSync = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    const follows = (how: string) =>
      until(
        async () => (await client.query(`SELECT FROM pg_stat_replication WHERE ${how}`)).rowCount,
        'the standby following',
        PATIENCE_MS,
      )
    // Nothing is acknowledged until it follows, so it must do so beforehand.
    await follows(`application_name = '${NAME}' AND state = 'streaming'`)
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${NAME}'`)
    await client.query('SELECT pg_reload_conf()')
    await follows(`sync_state = 'sync'`)
  })

/** Makes the standby a primary. Whatever followed the old one must be gone by then. */
export const promote = ({ url }: LocalPostgres): Promise<unknown> =>
  withClient(url, (client) => client.query(`SELECT pg_promote(true, ${PATIENCE_MS / 1000})`))

async function withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
