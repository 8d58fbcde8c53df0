import type { Pool } from 'pg'

/** One process at a time audits, once in a while. */
export interface AuditTurn {
  /** Takes the turn for so long; false while it is taken, by whomever. */
  take(forMs: number): Promise<boolean>
  /** Gives it back before its time, for somebody else to take. */
  giveBack(): Promise<void>
}

// Never renewed: a process that dies just lets its turn run out, and a restart does not audit again at once.
const TAKE = `
  INSERT INTO leases AS l (name, holder, until) VALUES ('audit', $1, now() + make_interval(secs => $2))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE l.until <= now()`

export const auditTurn = (pool: Pick<Pool, 'query'>, holder: string): AuditTurn => ({
  async take(forMs) {
    return (await pool.query(TAKE, [holder, forMs / 1000])).rowCount === 1
  },

  async giveBack() {
    await pool.query(`DELETE FROM leases WHERE name = 'audit' AND holder = $1`, [holder])
  },
})
