import { setTimeout as delay } from 'node:timers/promises'
import { isOutage } from '../../core/outage.js'
import { reasonOf } from '../../lib/causes.js'
import { postgresClient } from '../hosts.js'
import { sqlState } from '../sql-state.js'
import { databaseRefusal } from './database-checks.js'

const AGAIN_MS = 250

/**
 * Waits for a Postgres that is still starting: its name is unknown, its port refuses, or it says so itself.
 * @param withinMs for how many ms, at least one attempt @param tell gets one line if it has to wait
 * @throws what the last attempt met; at once, if waiting does not help
 */
export async function waitForPostgres(url: string, withinMs: number, tell: (line: string) => unknown): Promise<void> {
  const until = performance.now() + withinMs
  for (let attempt = 1; ; attempt++) {
    const client = postgresClient(url, { connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return
    } catch (error) {
      if (!isStarting(error) || performance.now() + AGAIN_MS > until) throw error
      if (attempt === 1)
        tell(`Postgres takes no connections yet (${reasonOf(error)}): waiting for it, at most ${withinMs / 1000} s.`)
      await delay(AGAIN_MS)
    } finally {
      client.end().catch(() => undefined)
    }
  }
}

/** 57P01-57P03: it stops or starts. */
const isStarting = (error: unknown) =>
  databaseRefusal(error) === undefined && isOutage(error) && /^(57P0[1-3]|08...)?$/.test(sqlState(error) ?? '')
