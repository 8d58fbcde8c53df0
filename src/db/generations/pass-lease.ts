/** Which of all servers makes a pass over many rows that is due about once an hour. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { PassLease } from '../../core/generations/ports.js'
import type { Database } from '../client.js'
import { leases as l } from '../schema/workers.js'
import { param, statement } from '../statement.js'

const HOLD_SECONDS = 60
const HELD = sql`make_interval(secs => ${HOLD_SECONDS})`
const NEXT_PASS = sql`interval '1 hour'`
const NEXT_PASS_SOON = sql`interval '1 minute'`

const BEGIN = statement('begin_pass')`
  INSERT INTO ${l} (name, holder, until)
  VALUES (${param('name')}, ${param('holder')}, now() + ${HELD})
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE ${l.until} < now()`

export function passLease({ orm, pool }: Database, name: string): PassLease {
  const until = async (holder: string, length: SQL) => {
    const held = and(eq(l.name, name), eq(l.holder, holder))
    await orm
      .update(l)
      .set({ until: sql`now() + ${length}` })
      .where(held)
  }
  return {
    begin: async (holder) => (await BEGIN.count(pool, { name, holder })) === 1,
    goOn: (holder) => until(holder, HELD),
    end: (holder, soon) => until(holder, soon ? NEXT_PASS_SOON : NEXT_PASS),
  }
}
