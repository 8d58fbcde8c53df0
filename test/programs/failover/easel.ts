/** Easel over what is taken away from it, and what was answered and is lost. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type pg from 'pg'
import { createDatabase } from '../../../src/db/client.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { freePort } from '../../support/free-port.js'
import { until } from '../../support/until.js'
import { untilQuiet } from '../chaos/final-checks.js'
import { type Answered, PATIENCE_MS } from './load.js'
import type { Around } from './run-trials.js'

const QUIET_WITHIN_MS = 60_000

/** A server and a worker, as they are started. @returns their variables */
export async function startEasel(
  urls: Readonly<Record<'DATABASE_URL' | 'REDIS_URL', string>>,
  { directory, stops, keep }: Around,
): Promise<Readonly<Record<string, string>>> {
  await migrateDatabase(urls.DATABASE_URL)
  const port = String(await freePort())
  const env = {
    ...{ ...urls, STORAGE_URL: `file:${directory}/images`, PORT: port, LOG_LEVEL: 'warn' },
    ...{ RATE_LIMIT_MAX: '1000000', INFERENCE_URL: 'preview:', SMTP_URL: 'smtp://127.0.0.1:1' },
  }
  for (const script of ['src/server.ts', 'src/worker.ts']) {
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', keep ? 'inherit' : 'ignore', 'inherit'],
      env: { PATH: process.env.PATH, ...env },
    })
    const ended = once(child, 'exit')
    stops.push(async () => {
      child.kill('SIGKILL')
      await ended
    })
  }
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(ready, 'the server to be ready', PATIENCE_MS)
  return env
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What was answered and is not in the database, once nothing is active any more. */
export async function lostOf(databaseUrl: string, answered: Answered) {
  const db = createDatabase(databaseUrl, { maxConnections: 1, onError: () => undefined })
  const client = await db.pool.connect()
  try {
    await untilQuiet(client, QUIET_WITHIN_MS)
    return await missingIn(client, answered)
  } finally {
    client.release()
    await db.pool.end()
  }
}

async function missingIn(client: pg.ClientBase, answered: Answered) {
  const ids = async (text: string, values: readonly string[]) =>
    (await client.query<{ id: string }>(text, [values])).rows.map(({ id }) => id)
  return {
    'generations lost': await ids(
      'SELECT id FROM unnest($1::text[]) id WHERE NOT EXISTS (SELECT FROM generations g WHERE g.id = id.id)',
      [...answered.submitted.keys()],
    ),
    'successes lost': await ids(
      `SELECT id FROM unnest($1::text[]) id
        WHERE NOT EXISTS (SELECT FROM generations g WHERE g.id = id.id AND g.status = 'succeeded')`,
      [...answered.succeeded],
    ),
    'grants lost': await ids(
      'SELECT id FROM unnest($1::text[]) id WHERE NOT EXISTS (SELECT FROM credit_ledger l WHERE l.ref = id.id)',
      [...answered.granted.keys()],
    ),
  }
}

/** ms: the longest time without an acknowledged submit that ended after the fault. */
export function longestGap(times: readonly number[], fault: number): number {
  const gaps = times.map((time, n) => (time > fault ? time - (times[n - 1] ?? fault) : 0))
  return Math.max(...gaps)
}
