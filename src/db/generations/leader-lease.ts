import { and, eq, sql } from 'drizzle-orm'
import type { LeaderLease } from '../../core/generations/repair/ports.js'
import type { Database } from '../client.js'
import { leases as l } from '../schema/workers.js'
import { param, statement } from '../statement.js'

// Renewed twice a second. When its holder dies, repairs wait this long; two concurrent holders do no harm.
const LEASE_SECONDS = 2

// Not an advisory lock: a row works through a connection pooler, and a paused holder loses it.
const HOLD = statement('hold_leader_lease')`
  INSERT INTO ${l} (name, holder, until)
  VALUES (${param('name')}, ${param('holder')}, now() + make_interval(secs => ${LEASE_SECONDS}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE ${l.holder} = excluded.holder OR ${l.until} < now()`

/** When the leader last renewed its lease, as SQL; null: there is none. */
export const RECONCILED_AT = sql`(SELECT ${l.until} - make_interval(secs => ${LEASE_SECONDS}) FROM ${l} WHERE ${l.name} = 'reconciler')`

/** The leader renews its lease twice a second. */
const IDLE_AFTER = sql`interval '10 seconds'`
const AT_WORK = statement('reconciler_at_work')`SELECT WHERE ${RECONCILED_AT} > now() - ${IDLE_AFTER}`

/** Says that nothing is repaired; undefined: it is, or Postgres gave no answer. */
export const repairProblem = ({ pool }: Database): Promise<string | undefined> =>
  AT_WORK.count(pool).then(
    (found) => (found > 0 ? undefined : IDLE),
    () => undefined,
  )
const IDLE = 'No reconciler has been at work for 10 s: nothing is repaired; the log of any process says why.'

export const leaderLease = ({ orm, pool }: Database, name: string, holder: string): LeaderLease => ({
  hold: async () => (await HOLD.count(pool, { name, holder })) === 1,

  async release() {
    await orm.delete(l).where(and(eq(l.name, name), eq(l.holder, holder)))
  },
})
