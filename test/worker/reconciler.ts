import type { Database } from '../../src/db/client.js'
import { until } from '../support/until.js'

/** The reconciler has made at least one whole pass meanwhile. */
export async function aPass({ pool }: Database): Promise<void> {
  const renewed = async () =>
    (await pool.query(`SELECT until FROM leases WHERE name = 'reconciler'`)).rows[0]?.until.getTime() ?? 0
  for (let passes = 0; passes < 2; passes++) {
    const before = await renewed()
    await until(async () => (await renewed()) > before, 'a pass of the reconciler')
  }
}

/** From now on no reconciler works: once a minute it would enqueue what waits, as if somebody had called the workers. */
export const endRepairs = ({ pool }: Database) =>
  pool.query(`
    INSERT INTO leases (name, holder, until) VALUES ('reconciler', 'nobody', now() + interval '1 hour')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`)
