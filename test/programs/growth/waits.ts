/** What connections at work wait for, seen ten times a second. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'

const SAMPLE_MS = 100

/** How often a connection was seen to wait for what; `CPU`: it did not wait. Those of the move are marked. */
export type Waits = ReadonlyMap<string, number>

export async function watchWaits(client: pg.Client, work: Promise<unknown>): Promise<Waits> {
  const waits = new Map<string, number>()
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const { rows } = await client.query<{ what: string; n: number }>(
      `SELECT coalesce(wait_event_type || ': ' || wait_event, 'CPU') || CASE WHEN query LIKE '%move_to_months%' THEN ' (the move)' ELSE '' END AS what,
              count(*)::integer AS n FROM pg_stat_activity
        WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1`,
    )
    for (const { what, n } of rows) waits.set(what, (waits.get(what) ?? 0) + n)
    await delay(SAMPLE_MS)
  }
  await over
  return waits
}

/** The most frequent first, with how many connections that were at each moment. */
export function waitsText(waits: Waits, seconds: number): string {
  const moments = (seconds * 1000) / SAMPLE_MS
  return [...waits]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 6)
    .map(([what, n]) => `${what} ${(n / moments).toFixed(2)}`)
    .join(', ')
}
