/** Postgres servers as `npm start` runs them, in directories of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type LocalPostgres, type LocalPostgresOptions, startLocalPostgres } from '../../src/local/postgres.js'
import { runsWith } from '../../src/local/processes.js'
import { compiled } from '../support/services.js'
import { until } from '../support/until.js'

const started: LocalPostgres[] = []
const children: ChildProcess[] = []
const directories: string[] = []

/** A directory with a database, made once for the tests of a file; each test leaves its server stopped. */
export function useDataDirectory() {
  const held = { path: '', start }
  async function start(options: Partial<LocalPostgresOptions> = {}): Promise<LocalPostgres> {
    const postgres = await startLocalPostgres({ dataDir: held.path, settings: { fsync: 'off' }, ...options })
    started.push(postgres)
    return postgres
  }
  beforeAll(async () => {
    held.path = await newDirectory()
    await (await start()).stop()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    for (const postgres of started.splice(0)) await postgres.stop()
  })
  afterAll(async () => {
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true })
  })
  return held
}

export async function newDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp('/tmp/easel-local-'))
  directories.push(directory)
  await chmod(directory, 0o755) // as root the server runs as someone else
  return directory
}

/** A process that starts the server of this directory and stays. */
export async function startInChild(directory: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [await compiled('test/local/start-postgres.ts'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

export async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** The server has ended, whether or not its parent (init, where ours was killed) has taken notice. */
export const gone = (pid: number, directory: string) =>
  until(async () => !(await runsWith(pid, join(directory, 'data'))), `the end of ${pid}`)
