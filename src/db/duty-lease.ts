import type { DutyLease } from '../generation/repair/reconciler.js'
import type { Database } from './client.js'

// Held anew twice a second. Two at once do no harm, so it may be short: its holder's death delays every repair by it.
const LEASE_SECONDS = 2

// A row with an end instead of an advisory lock: it works through a connection pooler, and a paused holder loses it.
const HOLD = {
  name: 'hold_duty',
  text: `
    INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, now() + interval '${LEASE_SECONDS} seconds')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE l.holder = excluded.holder OR l.until < now()`,
}

export const dutyLease = ({ pool }: Database, name: string, holder: string): DutyLease => ({
  async hold() {
    return (await pool.query({ ...HOLD, values: [name, holder] })).rowCount === 1
  },

  async release() {
    await pool.query('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder])
  },
})
