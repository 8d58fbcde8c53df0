import { and, eq } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { DutyLease } from '../generation/repair/ports.js'
import type { Database } from './client.js'
import { leases } from './process-schema.js'
import { param, statement } from './statement.js'

// Held anew twice a second. Two at once do no harm, so it may be short: its holder's death delays every repair by it.
const LEASE_SECONDS = 2

const l = alias(leases, 'l')

// A row with an end instead of an advisory lock: it works through a connection pooler, and a paused holder loses it.
const HOLD = statement('hold_duty')`
  INSERT INTO ${leases} AS l (name, holder, until)
  VALUES (${param('name')}, ${param('holder')}, now() + make_interval(secs => ${LEASE_SECONDS}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE ${l.holder} = excluded.holder OR ${l.until} < now()`

export const dutyLease = ({ orm, pool }: Database, name: string, holder: string): DutyLease => ({
  hold: async () => (await HOLD.count(pool, { name, holder })) === 1,

  async release() {
    await orm.delete(leases).where(and(eq(leases.name, name), eq(leases.holder, holder)))
  },
})
