import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type LocalPostgres, type LocalPostgresOptions, startLocalPostgres } from '../../src/local/postgres.js'
import { runsWith } from '../../src/local/processes.js'
import { compiled } from '../support/services.js'

const STARTER = await compiled('test/local/start-postgres.ts')

/** One database for most tests, made once; each leaves its server stopped. */
let dataDir: string
const directories: string[] = []
let started: LocalPostgres[] = []
let children: ChildProcess[] = []

beforeAll(async () => {
  dataDir = await newDirectory()
  await (await start()).stop()
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const postgres of started) await postgres.stop()
  started = []
  children = []
})

afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true })
})

async function newDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp('/tmp/easel-local-'))
  directories.push(directory)
  await chmod(directory, 0o755) // as root the server runs as someone else
  return directory
}

async function start(options: Partial<LocalPostgresOptions> = {}): Promise<LocalPostgres> {
  const postgres = await startLocalPostgres({ dataDir, settings: { fsync: 'off' }, ...options })
  started.push(postgres)
  return postgres
}

function startInChild(directory = dataDir): ChildProcess {
  const child = spawn(process.execPath, [STARTER, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** The process has ended, whether or not its parent (init, where ours was killed) has taken notice. */
const gone = (pid: number) =>
  vi.waitFor(async () => expect(await runsWith(pid, join(dataDir, 'data'))).toBe(false), { timeout: 5000, interval: 5 })

describe('startLocalPostgres', () => {
  it('keeps data, password and port from one start to the next, and stop leaves no process', async () => {
    const first = await start()
    await query(first.url, `CREATE TABLE kept AS SELECT 42 AS answer`)
    await first.stop()
    await gone(first.pid)
    const second = await start()
    expect(second).toMatchObject({ url: first.url, reused: false })
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  })

  it('lets in over 127.0.0.1 only, and only with the password, which only its owner can read', async () => {
    const { url, adminUrl } = await start()
    expect(await query(adminUrl, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    expect(await query(adminUrl, 'SHOW unix_socket_directories')).toEqual([{ unix_socket_directories: '' }])
    const guess = new URL(url)
    guess.password = 'guess'
    await expect(query(guess.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/)
    expect((await stat(join(dataDir, 'state.json'))).mode & 0o777).toBe(0o600)
  })

  it('finds the server of a killed process running, and stops it', async () => {
    const child = startInChild()
    const [said] = await once(child.stdout as NodeJS.ReadableStream, 'data')
    const { port, pid } = JSON.parse(String(said))
    await killed(child)
    const postgres = await start()
    expect(postgres).toMatchObject({ port, pid, reused: true })
    await postgres.stop()
    await gone(pid)
  })

  it('leaves the server to the other process that still uses it', async () => {
    const child = startInChild()
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const guest = await start()
    expect(await runsWith(guest.pid, join(dataDir, 'data'))).toBe(true)
    await guest.stop()
    expect(await query(guest.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await killed(child)
    await (await start()).stop()
    await gone(guest.pid)
  })

  it('starts one server for two starts at once', async () => {
    const fresh = { dataDir: await newDirectory() }
    const [one, other] = await Promise.all([start(fresh), start(fresh)])
    expect(one.pid).toBe(other.pid)
    expect([one.reused, other.reused].sort()).toEqual([false, true])
    await one.stop()
    expect(await query(other.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('starts over where the first start was killed while it made the data directory', async () => {
    const fresh = await newDirectory()
    const child = startInChild(fresh)
    const halfMade = async () => (await readdir(fresh)).filter((name) => name.startsWith('data.new-'))
    await vi.waitFor(async () => expect(await halfMade()).not.toEqual([]), { timeout: 10_000, interval: 5 })
    await killed(child)
    expect(await readdir(fresh)).not.toContain('data')
    const { url } = await start({ dataDir: fresh })
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(await halfMade()).toEqual([])
  })

  it('takes another port where somebody else has its own', async () => {
    const first = await start()
    await first.stop()
    const squatter = createServer().listen(first.port, '127.0.0.1')
    await once(squatter, 'listening')
    try {
      const second = await start()
      expect(second.port).not.toBe(first.port)
      expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    } finally {
      squatter.close()
    }
  })

  it('starts after a crash whose process ID another program has by now', async () => {
    const first = await start()
    await query(first.url, `CREATE TABLE committed AS SELECT 42 AS answer`)
    const pidFile = join(dataDir, 'data/postmaster.pid')
    const [, ...rest] = (await readFile(pidFile, 'utf8')).split('\n')
    process.kill(first.pid, 'SIGKILL')
    await gone(first.pid)
    await writeFile(pidFile, [process.pid, ...rest].join('\n'))
    const second = await start()
    expect(second.reused).toBe(false)
    expect(await query(second.url, 'SELECT answer FROM committed')).toEqual([{ answer: 42 }])
  })

  it('says which Postgres made the data where another major version did', async () => {
    const versionFile = join(dataDir, 'data/PG_VERSION')
    const version = await readFile(versionFile, 'utf8')
    await writeFile(versionFile, '14\n')
    await expect(start()).rejects.toThrow(
      /was made by Postgres 14, .* brings Postgres \d+, which can't read it: .* move /,
    )
    await writeFile(versionFile, version)
  })

  it('never takes a data directory without its password for an empty one', async () => {
    const fresh = await newDirectory()
    await mkdir(join(fresh, 'data'))
    await expect(start({ dataDir: fresh })).rejects.toThrow(
      /state\.json, which held the password .* is missing: restore/,
    )
  })

  it('says why the server refused to start, with the end of its log', async () => {
    await expect(start({ settings: { shared_buffers: 'plenty' } })).rejects.toThrow(
      /^Postgres didn't start: invalid value for parameter "shared_buffers": "plenty"\. The end of .*server\.log:\n.*FATAL/s,
    )
  })
})
