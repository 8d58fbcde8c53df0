import { type SQL, sql } from 'drizzle-orm'
import type { Delivery } from '../../core/generations/ports.js'
import type { Database } from '../client.js'
import { generations as g, unenqueued } from '../schema/generations.js'
import { param, statement } from '../statement.js'

/** Notes, in the statement that stores the rows (id, attempt) of `stored`, that their jobs may not be in the queue yet. */
export const noteMissingJob = (stored: string): SQL => sql`
  INSERT INTO ${unenqueued} (generation_id, attempt) SELECT id, attempt FROM ${sql.identifier(stored)}
  ON CONFLICT (generation_id) DO UPDATE SET attempt = excluded.attempt`

const MARK_ENQUEUED = statement('mark_enqueued')`
  DELETE FROM ${unenqueued} USING unnest(${param('ids')}::text[], ${param('attempts')}::integer[]) AS d (id, attempt)
   WHERE ${unenqueued.generationId} = d.id AND ${unenqueued.attempt} = d.attempt`

/** The queue has the jobs of these attempts. */
export const markEnqueued = ({ pool }: Database, deliveries: readonly Delivery[]): Promise<void> =>
  MARK_ENQUEUED.run(pool, {
    ids: deliveries.map(({ id }) => id),
    attempts: deliveries.map(({ attempt }) => attempt),
  })

/** Forgets attempts that were claimed or ended before their job was queued. */
export const CLEAN_MISSING_JOBS = statement('clean_missing_jobs')`
  DELETE FROM ${unenqueued} WHERE NOT EXISTS (
    SELECT FROM ${g}
     WHERE ${g.id} = ${unenqueued.generationId} AND ${g.attempt} = ${unenqueued.attempt} AND ${g.status} = 'queued')`
