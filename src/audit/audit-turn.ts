import { alias } from 'drizzle-orm/pg-core'
import { leases } from '../db/process-schema.js'
import { param, type Queryable, statement } from '../db/statement.js'

const l = alias(leases, 'l')

/** One process at a time audits, once in a while. */
export interface AuditTurn {
  /** Takes the turn for so long; false while it is taken, by whomever. */
  take(forMs: number): Promise<boolean>
  /** Gives it back before its time, for somebody else to take. */
  giveBack(): Promise<void>
}

// Never renewed: a process that dies just lets its turn run out, and a restart does not audit again at once.
const TAKE = statement('take_audit_turn')`
  INSERT INTO ${leases} AS l (name, holder, until)
  VALUES ('audit', ${param('holder')}, now() + make_interval(secs => ${param('seconds')}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE ${l.until} <= now()`
const GIVE_BACK = statement('give_audit_turn_back')`
  DELETE FROM ${leases} ${l} WHERE ${l.name} = 'audit' AND ${l.holder} = ${param('holder')}`

export const auditTurn = (pool: Queryable, holder: string): AuditTurn => ({
  async take(forMs) {
    return (await TAKE.count(pool, { holder, seconds: forMs / 1000 })) === 1
  },

  async giveBack() {
    await GIVE_BACK.count(pool, { holder })
  },
})
