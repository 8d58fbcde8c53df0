/** Generations: one at a time, in time, in order, with exactly their pictures and their usage. */
import { MAX_TRIES } from '../generation/failure.js'
import type { SqlCheck } from './check.js'

/** The reconciler looks every second; what is late by more than this has been forgotten. */
const LATE = `interval '30 seconds'`
/** now() is the start of a statement, which may lie a little before that of the one whose row it then sees. */
const CLOCK = `interval '1 second'`

export const generationChecks: readonly SqlCheck[] = [
  {
    name: 'idempotency-keys-stay-with-their-user',
    query: `
      SELECT k.generation_id FROM idempotency_keys k JOIN generations g ON g.id = k.generation_id
       WHERE g.user_id <> k.user_id`,
  },
  {
    name: 'one-active-charged-job-per-user',
    query: `
      SELECT u.username FROM generations g JOIN users u ON u.id = g.user_id
       WHERE g.status IN ('queued', 'processing') AND NOT g.metered GROUP BY u.id, u.username HAVING count(*) > 1`,
  },
  {
    name: 'jobs-end-by-their-deadline',
    query: `SELECT id FROM generations WHERE status IN ('queued', 'processing') AND deadline_at < now() - ${LATE}`,
  },
  {
    name: 'job-states-are-consistent',
    query: `
      SELECT id FROM generations
       WHERE started_at < created_at - ${CLOCK} OR finished_at < created_at - ${CLOCK}
          OR finished_at < started_at - ${CLOCK} OR tries >= ${MAX_TRIES} OR tries >= attempt
          OR CASE status
               WHEN 'queued' THEN lease_until IS NOT NULL OR worker IS NOT NULL
               WHEN 'processing' THEN lease_until IS NULL OR worker IS NULL OR started_at IS NULL
               WHEN 'succeeded' THEN lease_until IS NOT NULL OR worker IS NULL OR started_at IS NULL
               ELSE lease_until IS NOT NULL END`,
  },
  {
    name: 'succeeded-jobs-have-their-images',
    query: `
      SELECT g.id FROM generations g
        LEFT JOIN (SELECT generation_id, array_agg(slug ORDER BY idx) AS slugs FROM images GROUP BY generation_id) i
          ON i.generation_id = g.id
       WHERE i.slugs IS DISTINCT FROM CASE WHEN g.status = 'succeeded' THEN g.slugs END`,
  },
  {
    name: 'metered-images-are-counted-once',
    query: `
      SELECT g.id FROM generations g
        LEFT JOIN (SELECT generation_id, count(*) AS n FROM usage GROUP BY generation_id) u ON u.generation_id = g.id
       WHERE coalesce(u.n, 0) <> CASE WHEN g.metered AND g.status = 'succeeded' THEN g.batch_size ELSE 0 END`,
  },
]
