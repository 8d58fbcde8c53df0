/** PgBouncer in front of the run's Postgres, which shares connections per transaction. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { SESSION_SETTINGS } from '../../src/db/client.js'
import { freePort } from './free-port.js'
import { findProgram, install } from './programs.js'

export interface PgBouncer {
  /** As host:port. */
  readonly address: string
  stop(): Promise<void>
}

/** From here on it keeps prepared statements. */
const MINIMUM: readonly [major: number, minor: number] = [1, 21]
const STARTED_WITHIN_MS = 20_000

/**
 * A superuser whose rights all its clients have, and for whom Postgres sets what Easel sets on its connections: in
 * transaction mode that gets lost.
 */
async function givenPooledUser(adminUrl: string): Promise<{ user: string; password: string }> {
  const [user, password] = ['pooled', decodeURIComponent(new URL(adminUrl).password)]
  const admin = new pg.Client(adminUrl)
  await admin.connect()
  try {
    // A Postgres that was kept has it.
    const { rowCount } = await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [user])
    if (!rowCount) await admin.query(`CREATE ROLE ${user} SUPERUSER LOGIN PASSWORD ${pg.escapeLiteral(password)}`)
    for (const [name, value] of Object.entries(SESSION_SETTINGS))
      await admin.query(`ALTER ROLE ${user} SET ${name} = '${value}'`)
  } finally {
    await admin.end()
  }
  return { user, password }
}

/** @param adminUrl of a superuser */
export async function startPgBouncer(directory: string, adminUrl: string): Promise<PgBouncer> {
  const program = await findFitting()
  const { hostname, port } = new URL(adminUrl)
  const listenPort = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  const target = { host: hostname, port, ...(await givenPooledUser(adminUrl)) }
  const settings = {
    ...{ listen_addr: '127.0.0.1', listen_port: listenPort, unix_socket_dir: '', auth_type: 'any' },
    ...{ pool_mode: 'transaction', max_prepared_statements: 500, max_client_conn: 5000 },
    // There is a database for each test file, and Postgres takes 300 connections.
    ...{ default_pool_size: 20, server_idle_timeout: 5 },
    ...(process.getuid?.() === 0 && { user: 'nobody' }),
  }
  await writeFile(
    file,
    ['[databases]', `* = ${pairs(target).join(' ')}`, '[pgbouncer]', ...pairs(settings), ''].join('\n'),
  )
  await chmod(file, 0o644) // as root it runs as another user
  const child = spawn(program, ['-q', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  for (const end = Date.now() + STARTED_WITHIN_MS; !(await listens(listenPort)); await delay(20))
    if (child.exitCode !== null || Date.now() > end) throw new Error(`PgBouncer does not start: ${said}`)
  return {
    address: `127.0.0.1:${listenPort}`,
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}

const pairs = (of: Readonly<Record<string, string | number>>) =>
  Object.entries(of).map(([name, value]) => `${name}=${value}`)

async function findFitting(): Promise<string> {
  const program = findProgram('pgbouncer') ?? ((await install('pgbouncer')) ? findProgram('pgbouncer') : undefined)
  const { stdout = '' } = program ? await promisify(execFile)(program, ['--version']) : {}
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? []
  const isFitting = Number(major) > MINIMUM[0] || (Number(major) === MINIMUM[0] && Number(minor) >= MINIMUM[1])
  if (program && isFitting) return program
  const found = stdout.trim().split('\n')[0] || 'none'
  throw new Error(
    `TEST_POSTGRES=pgbouncer needs PgBouncer ${MINIMUM.join('.')} or newer on the PATH, which has ${found}.`,
  )
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => {
      resolve(true)
      socket.destroy()
    }).on('error', () => resolve(false))
  })
