import type { Delivery } from '../generation/queue.js'
import type { Database } from './client.js'

/** Notes that nobody is known to have rung for the rows (id, attempt) of `stored`, in the statement that stores them. */
export const noteMissingJob = (stored: string) => `
  INSERT INTO unrung (generation_id, attempt) SELECT id, attempt FROM ${stored}
  ON CONFLICT (generation_id) DO UPDATE SET attempt = excluded.attempt`

const STRIKE_OUT = {
  name: 'strike_out_unrung',
  text: `
    DELETE FROM unrung u USING unnest($1::text[], $2::integer[]) AS d (id, attempt)
     WHERE u.generation_id = d.id AND u.attempt = d.attempt`,
}

/** These have reached the queue. */
export async function markEnqueued({ pool }: Database, deliveries: readonly Delivery[]): Promise<void> {
  const values = [deliveries.map(({ id }) => id), deliveries.map(({ attempt }) => attempt)]
  await pool.query({ ...STRIKE_OUT, values })
}
