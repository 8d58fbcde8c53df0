import { and, eq } from 'drizzle-orm'
import type { DutyLease } from '../generation/repair/ports.js'
import type { Database } from './client.js'
import { leases as l } from './process-schema.js'
import { param, statement } from './statement.js'

// Renewed twice a second. When its holder dies, repairs wait this long; two concurrent holders do no harm.
const LEASE_SECONDS = 2

// Not an advisory lock: a row works through a connection pooler, and a paused holder loses it.
const HOLD = statement('hold_duty')`
  INSERT INTO ${l} (name, holder, until)
  VALUES (${param('name')}, ${param('holder')}, now() + make_interval(secs => ${LEASE_SECONDS}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE ${l.holder} = excluded.holder OR ${l.until} < now()`

export const dutyLease = ({ orm, pool }: Database, name: string, holder: string): DutyLease => ({
  hold: async () => (await HOLD.count(pool, { name, holder })) === 1,

  async release() {
    await orm.delete(l).where(and(eq(l.name, name), eq(l.holder, holder)))
  },
})
