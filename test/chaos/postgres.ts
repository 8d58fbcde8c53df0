import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { type LocalPostgres, startLocalPostgres } from '../../src/local/postgres.js'
import type { Watchdog } from './watchdog.js'

export interface AttackedPostgres {
  /** Past the proxy, for looking into it. */
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
  /** Resolves when it answers. */
  answers(): Promise<void>
  stop(): Promise<void>
}

/**
 * No fsync: a crash of the server's processes keeps what the kernel was given, and only a crash of the whole machine
 * would lose it. full_page_writes stays on, since a killed process may have written half a page.
 */
const SETTINGS = { fsync: 'off', max_connections: '200', restart_after_crash: 'on', log_min_messages: 'fatal' }

export async function startAttackedPostgres(dataDir: string, watchdog: Watchdog): Promise<AttackedPostgres> {
  let running: LocalPostgres | undefined
  const { url, port } = await begin()

  async function begin(): Promise<LocalPostgres> {
    running = await startLocalPostgres({ dataDir, settings: SETTINGS })
    watchdog.note(running.pid, `-D ${dataDir}`)
    return running
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
    url,
    port,
    async crash() {
      const crashed = running
      if (!crashed) return
      running = undefined
      process.kill(crashed.pid, 'SIGQUIT')
      await crashed.stop()
      watchdog.forget(crashed.pid)
    },
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
    async answers() {
      for (;;) {
        if (
          await query('SELECT 1').then(
            () => true,
            () => false,
          )
        )
          return
        await delay(20)
      }
    },
    stop: async () => {
      await signalTree('SIGCONT')
      const last = running
      running = undefined
      await last?.stop()
      if (last) watchdog.forget(last.pid)
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
