import { type SQL, sql } from 'drizzle-orm'
import type { ReconcileStore } from '../generation/repair/ports.js'
import type { Delivery } from '../generation/shared-ports.js'
import type { Database } from './client.js'
import { unenqueued } from './process-schema.js'
import { generations as g } from './schema.js'
import { param, statement } from './statement.js'

const PAGE = 1000

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

// One by one: a join might read the whole queue.
const NOT_ENQUEUED = statement<Delivery>('not_enqueued')`
  SELECT ${g.id}, ${g.attempt} FROM ${unenqueued} CROSS JOIN LATERAL (
    SELECT * FROM ${g} WHERE ${g.id} = ${unenqueued.generationId} LIMIT 1) ${g}
   WHERE ${g.attempt} = ${unenqueued.attempt} AND ${g.status} = 'queued' AND ${g.notBefore} <= now()
     AND (${g.createdAt} < now() - interval '2 seconds' OR ${g.attempt} > 1)
   LIMIT ${PAGE}`

// In the order of an index, so that it reads no more rows than it returns.
const FIRST_QUEUED = statement<Delivery>('first_queued')`
  SELECT ${g.id}, ${g.attempt} FROM ${g}
   WHERE ${g.status} = 'queued' ORDER BY ${g.lane}, ${g.seq} LIMIT ${PAGE}`

export const missingJobs = (db: Database): Pick<ReconcileStore, 'notEnqueued' | 'markEnqueued' | 'firstQueued'> => ({
  notEnqueued: () => NOT_ENQUEUED.rows(db.pool),
  markEnqueued: (deliveries) => markEnqueued(db, deliveries),
  firstQueued: () => FIRST_QUEUED.rows(db.pool),
})

/** Forgets attempts that were claimed or ended before their job was queued. */
export const CLEAN_MISSING_JOBS = statement('clean_missing_jobs')`
  DELETE FROM ${unenqueued} WHERE NOT EXISTS (
    SELECT FROM ${g}
     WHERE ${g.id} = ${unenqueued.generationId} AND ${g.attempt} = ${unenqueued.attempt} AND ${g.status} = 'queued')`
