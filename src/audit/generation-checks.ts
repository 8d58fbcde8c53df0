/** Generations: one at a time, in time, in order. */
import { MAX_DEATHS, MAX_TRIES } from '../generation/failure-reason.js'
import type { SqlCheck } from './check.js'
import { NOT_ENDED } from './slices.js'

const ACTIVE = `g.status IN ('queued', 'processing')`

/** The reconciler looks every half second; what is late by more than this has been forgotten. */
const LATE = `interval '30 seconds'`
/** Unless nobody could reach Postgres for so long: then the reconciler, back again, needs a few seconds. */
const RECONCILED_WITHIN_MS = 8000
/** now() is the start of a statement, which may lie a little before that of the one whose row it then sees. */
const CLOCK = `interval '1 second'`
/** At most by a statement's time limit (db/client.ts). What is told from history stays told, so no doubt is allowed. */
const LONGEST_STATEMENT = `interval '5 seconds'`

export const generationChecks: readonly SqlCheck[] = [
  {
    name: 'idempotency-keys-stay-with-their-user',
    query: `
      SELECT k.generation_id FROM idempotency_keys k JOIN generations g ON g.id = k.generation_id
       WHERE g.user_id <> k.user_id`,
  },
  {
    // The statement that stores a generation marks its key. Without the mark, which older versions did not set, a key
    // that came after its generation leads to what it has not submitted.
    name: 'idempotency-keys-lead-to-their-own-job',
    query: `
      SELECT k.generation_id FROM idempotency_keys k JOIN generations g ON g.id = k.generation_id
       WHERE NOT k.stored AND k.created_at > g.created_at + ${CLOCK}
      UNION SELECT k.generation_id FROM idempotency_keys k
       WHERE k.stored AND NOT EXISTS (SELECT FROM generations g WHERE g.id = k.generation_id)
      UNION SELECT generation_id FROM idempotency_keys GROUP BY generation_id HAVING count(*) > 1
      UNION SELECT min(generation_id) FROM idempotency_keys GROUP BY user_id, key HAVING count(*) > 1`,
  },
  {
    name: 'one-active-charged-job-per-user',
    query: `
      SELECT u.username FROM generations g JOIN users u ON u.id = g.user_id
       WHERE ${ACTIVE} AND NOT g.metered GROUP BY u.id, u.username HAVING count(*) > 1`,
  },
  {
    // Each with the one before it, so that all of them do.
    name: 'charged-jobs-never-overlapped',
    query: ({ generations }) => `
      SELECT g.id FROM ${generations} g
       WHERE NOT g.metered AND g.created_at + ${LONGEST_STATEMENT} < (
         SELECT coalesce(b.finished_at, 'infinity') FROM generations b
          WHERE b.user_id = g.user_id AND b.seq < g.seq AND NOT b.metered ORDER BY b.seq DESC LIMIT 1)`,
  },
  {
    name: 'metered-jobs-keep-to-their-keys-limit',
    query: `
      SELECT 'key ' || k.id FROM generations g JOIN api_keys k ON k.id = g.api_key_id
       WHERE ${ACTIVE} AND g.metered GROUP BY k.id, k.concurrency HAVING count(*) > k.concurrency`,
  },
  {
    name: 'jobs-end-by-their-deadline',
    query: `SELECT id FROM generations g WHERE ${NOT_ENDED} AND deadline_at < now() - ${LATE}`,
    mendedWithinMs: RECONCILED_WITHIN_MS,
  },
  {
    name: 'running-jobs-have-a-worker',
    query: `SELECT id FROM generations WHERE status = 'processing' AND lease_until < now() - ${LATE}`,
    mendedWithinMs: RECONCILED_WITHIN_MS,
  },
  {
    name: 'job-states-are-consistent',
    query: ({ generations }) => `
      SELECT id FROM ${generations} g
       WHERE started_at < created_at - ${CLOCK} OR finished_at < created_at - ${CLOCK}
          OR finished_at < started_at - ${CLOCK} OR tries >= ${MAX_TRIES} OR deaths >= ${MAX_DEATHS}
          OR tries + deaths >= attempt
          OR CASE status
               WHEN 'queued' THEN lease_until IS NOT NULL OR worker IS NOT NULL
               WHEN 'processing' THEN lease_until IS NULL OR worker IS NULL OR started_at IS NULL
               WHEN 'succeeded' THEN lease_until IS NOT NULL OR worker IS NULL OR started_at IS NULL
               ELSE lease_until IS NOT NULL END`,
  },
  {
    // Each is written in the statement that submits or ends its job: another time tells that this happened again.
    name: 'records-share-their-jobs-times',
    query: ({ generations }) => `
      SELECT g.id FROM credit_ledger l JOIN ${generations} g ON g.id = l.generation_id
       WHERE l.created_at IS DISTINCT FROM CASE l.kind WHEN 'charge' THEN g.created_at ELSE g.finished_at END
      UNION SELECT g.id FROM images i JOIN ${generations} g ON g.id = i.generation_id
       WHERE i.created_at IS DISTINCT FROM g.finished_at
      UNION SELECT g.id FROM usage u JOIN ${generations} g ON g.id = u.generation_id
       WHERE u.created_at IS DISTINCT FROM g.finished_at`,
  },
]
