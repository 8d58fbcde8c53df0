import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { type LocalPostgres, startLocalPostgres } from '../../../src/local/postgres.js'
import { inSync, promote, startStandby } from './standby.js'
import type { Watchdog } from './watchdog.js'

export interface AttackedPostgres {
  /** The primary's, past the proxy, for looking into it; another one after each failover. */
  readonly url: string
  readonly port: number
  /** Stops it at once, without a word to disk; committed is what the log says. */
  crash(): Promise<void>
  start(): Promise<void>
  /** The whole tree stops. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** One backend dies by SIGKILL, at which the server resets all connections and recovers. */
  killBackend(chance: number): Promise<void>
  /** Ends this share of the connections in order. */
  terminate(share: number): Promise<void>
  /** From now on a standby has all that is acknowledged; nothing where there is one. */
  replicate(): Promise<void>
  /** Ends the primary for good, once the standby has everything; there must be one. */
  lose(): Promise<void>
  /** Makes the standby the primary. */
  promote(): Promise<void>
  /** Resolves when it answers, and where there is a standby acknowledges, too. */
  answers(): Promise<void>
  stop(): Promise<void>
}

/**
 * No fsync: a crash of the server's processes keeps what the kernel was given, and only a crash of the whole machine
 * would lose it. full_page_writes stays on, since a killed process may have written half a page.
 */
const SETTINGS = {
  ...{ fsync: 'off', max_connections: '200', restart_after_crash: 'on', log_min_messages: 'fatal' },
  // A standby that is just being made, or whose primary was away, finds the log that it still needs.
  ...{ wal_keep_size: '1GB', wal_retrieve_retry_interval: '200ms' },
}

/** @param onPort told where the primary listens after each failover */
export async function startAttackedPostgres(
  directory: string,
  watchdog: Watchdog,
  onPort: (port: number) => void,
): Promise<AttackedPostgres> {
  let made = 0
  const newDirectory = () => join(directory, `postgres-${++made}`)
  let dataDir = newDirectory()
  let running: LocalPostgres | undefined
  let standby: { readonly server: LocalPostgres; readonly dataDir: string } | undefined
  let { url, port } = await begin()

  async function begin(): Promise<LocalPostgres> {
    running = await startLocalPostgres({ dataDir, settings: SETTINGS })
    watchdog.note(running.pid, `-D ${dataDir}`)
    return running
  }
  async function crash(): Promise<void> {
    const crashed = running
    if (!crashed) return
    running = undefined
    process.kill(crashed.pid, 'SIGQUIT')
    await crashed.stop()
    watchdog.forget(crashed.pid)
  }
  const query = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, query_timeout: 5000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.query(text, values)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const signalTree = async (signal: NodeJS.Signals) => {
    if (!running) return
    const { pid } = running
    // The postmaster first, so that it starts no more children; a second look finds what it started meanwhile.
    for (const one of [pid, ...(await childrenOf(pid)), ...(await childrenOf(pid))]) {
      try {
        process.kill(one, signal)
      } catch {} // it has ended meanwhile
    }
  }
  const backends = () =>
    query(
      `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'easel%' AND pid <> pg_backend_pid() ORDER BY pid`,
    )

  return {
    get url() {
      return url
    },
    get port() {
      return port
    },
    crash,
    start: async () => void (running ?? (await begin())),
    pause: () => signalTree('SIGSTOP'),
    resume: () => signalTree('SIGCONT'),
    async killBackend(chance) {
      const found = await backends()
      const chosen = found[Math.floor(chance * found.length)]
      if (chosen) process.kill(chosen.pid, 'SIGKILL')
    },
    async terminate(share) {
      const found = await backends()
      const chosen = found.slice(0, Math.ceil(found.length * share)).map(({ pid }) => pid)
      await query('SELECT pg_terminate_backend(p) FROM unnest($1::integer[]) p', [chosen])
    },
    async replicate() {
      if (!running || standby) return
      const itsDataDir = newDirectory()
      const server = await startStandby(running, dataDir, itsDataDir, SETTINGS)
      watchdog.note(server.pid, `-D ${itsDataDir}`)
      standby = { server, dataDir: itsDataDir }
      await inSync(url)
    },
    async lose() {
      await inSync(url)
      await crash()
      // Who has been replaced must never be a second primary.
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
    },
    async promote() {
      if (!standby) throw new Error('there is no standby')
      await promote(standby.server)
      ;({ server: running, dataDir } = standby)
      ;({ url, port } = running)
      standby = undefined
      onPort(port)
    },
    async answers() {
      for (;;) {
        if (
          await query('SELECT 1').then(
            () => true,
            () => false,
          )
        )
          break
        await delay(20)
      }
      if (standby) await inSync(url)
    },
    stop: async () => {
      await signalTree('SIGCONT')
      // The standby first: a primary waits for it until it is gone.
      const last = [standby?.server, running]
      running = standby = undefined
      for (const server of last) {
        await server?.stop()
        if (server) watchdog.forget(server.pid)
      }
    },
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=', '-o', 'ppid='])
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid && child ? [child] : []))
}
