import { sql } from 'drizzle-orm'
import { DEADLINE_PASSED, WORKER_LOST } from '../../core/generations/failure-reason.js'
import type { Delivery } from '../../core/generations/ports.js'
import type { ReconcileStore } from '../../core/generations/repair/ports.js'
import { MAX_DEATHS } from '../../core/generations/run/times.js'
import type { Database } from '../client.js'
import { MOVED } from '../notifications.js'
import { generations as g, idempotencyKeys as r, unenqueued } from '../schema/generations.js'
import { allImages as i, imageReports as ir } from '../schema/images.js'
import { adminRequests } from '../schema/operator.js'
import { leases } from '../schema/workers.js'
import { FIRST_UUID, param, setList, statement } from '../statement.js'
import { CLEAN_BACKENDS } from './backends.js'
import { failingInPages, failureRule } from './end.js'
import { CLEAN_BOARDS } from './live-boards.js'
import { CLEAN_MISSING_JOBS, markEnqueued, noteMissingJob } from './missing-jobs.js'
import { BACK_IN_QUEUE, notePutBack } from './run.js'
import { CLEAN_REFUSED_PROMPTS } from './submit/refused-prompts.js'
import { CLEAN_UNANSWERED } from './submit/unanswered.js'
import { failingUnservable } from './unservable.js'

const ROWS_PER_PAGE = 1000
/** Of expired keys, in one call of `clean`. */
const CLEANED_PAGES = 20

const LEASE_EXPIRED = sql`${g.status} = 'processing' AND ${g.leaseUntil} < now()`

const REQUEUE_LOST = statement<Delivery>('requeue_lost')`
  WITH requeued AS (
    UPDATE ${g} SET ${setList(g, { ...BACK_IN_QUEUE, deaths: sql`${g.deaths} + 1`, notBefore: sql`now()` })}
     WHERE ${g.id} = ANY (ARRAY(
             SELECT ${g.id} FROM ${g}
              WHERE ${LEASE_EXPIRED} AND ${g.deaths} + 1 < ${MAX_DEATHS} FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING ${g.id}, ${g.attempt}
  ), noted AS (${noteMissingJob('requeued')}), kept AS (${notePutBack('requeued', 'worker_lost', false)})
  SELECT requeued.* FROM requeued, pg_notify(${MOVED}, requeued.id)`

const LOST = failureRule(
  'fail_lost',
  sql`${LEASE_EXPIRED} AND ${g.deaths} + 1 >= ${MAX_DEATHS}`,
  sql`${WORKER_LOST}::text`,
  sql`${g.seq}`,
)

const EXPIRED = failureRule(
  'fail_expired',
  sql`${g.finishedAt} IS NULL AND ${g.deadlineAt} <= now()`,
  sql`${DEADLINE_PASSED}::text`,
  sql`${g.deadlineAt}`,
)

// One by one: a join might read the whole queue.
const NOT_ENQUEUED = statement<Delivery>('not_enqueued')`
  SELECT ${g.id}, ${g.attempt} FROM ${unenqueued} CROSS JOIN LATERAL (
    SELECT * FROM ${g} WHERE ${g.id} = ${unenqueued.generationId} LIMIT 1) ${g}
   WHERE ${g.attempt} = ${unenqueued.attempt} AND ${g.status} = 'queued' AND ${g.notBefore} <= now()
     AND (${g.createdAt} < now() - interval '2 seconds' OR ${g.attempt} > 1)
   LIMIT ${ROWS_PER_PAGE}`

// In the order of an index, so that it reads no more rows than it returns.
const FIRST_QUEUED = statement<Delivery>('first_queued')`
  SELECT ${g.id}, ${g.attempt} FROM ${g}
   WHERE ${g.status} = 'queued' ORDER BY ${g.lane}, ${g.seq} LIMIT ${ROWS_PER_PAGE}`

const ACTIVE_PAGE = statement<{ id: string; accountId: string; remainingMs: number }>('active_page')`
  SELECT ${g.id}, ${g.userId} AS "accountId",
         greatest(extract(epoch FROM ${g.deadlineAt} - now()) * 1000, 0)::integer AS "remainingMs"
    FROM ${g}
   WHERE ${g.status} IN ('queued', 'processing') AND NOT ${g.metered} AND ${g.userId} > ${param('after')}
   ORDER BY ${g.userId} LIMIT ${ROWS_PER_PAGE}`

const ENDED_AMONG = statement<{ id: string }>('ended_among')`
  SELECT ${g.id} FROM ${g}
   WHERE ${g.id} = ANY (${param('ids')}) AND ${g.status} IN ('succeeded', 'failed')`

// Not the latest: the last attempt may still be removing its images itself.
const WASTED_SLUGS = statement<{ slug: string }>('wasted_slugs')`
  SELECT unnest(${g.slugs}) AS slug FROM ${g}
   WHERE ${g.status} = 'failed' AND ${g.startedAt} IS NOT NULL
     AND ${g.finishedAt} BETWEEN now() - interval '1 hour' AND now() - interval '30 seconds'
   ORDER BY ${g.finishedAt} DESC LIMIT ${ROWS_PER_PAGE}`

// The outer condition is for a key that was reserved again meanwhile: it is no longer old.
const OLD_KEY = sql`${r.createdAt} < now() - interval '24 hours'`
const CLEAN_KEYS = statement('clean_idempotency_keys')`
  DELETE FROM ${r} WHERE ${OLD_KEY} AND ctid = ANY (ARRAY(
    SELECT ctid FROM ${r} WHERE ${OLD_KEY} ORDER BY ${r.createdAt} LIMIT ${ROWS_PER_PAGE}))`

const CLEAN_ADMIN_REQUESTS = statement('clean_admin_requests')`
  DELETE FROM ${adminRequests} WHERE ${adminRequests.createdAt} < now() - interval '24 hours'`

// Those that operators have decided on.
const CLEAN_IMAGE_REPORTS = statement('clean_image_reports')`
  DELETE FROM ${ir} WHERE ${ir.id} = ANY (ARRAY(
    SELECT ${ir.id} FROM ${ir} JOIN ${i} ON ${i.slug} = ${ir.slug}
     WHERE ${ir.at} < now() - interval '90 days' AND (${ir.dismissedAt} IS NOT NULL OR ${i.removedAt} IS NOT NULL)
     LIMIT ${ROWS_PER_PAGE}))`

// Of exports that a process could not end. One whose reader pauses for less may go on.
const CLEAN_EXPORTS = statement('clean_account_exports')`
  DELETE FROM ${leases} WHERE name LIKE 'export:%' AND ${leases.until} < now() - interval '1 hour'`

export interface ReconcileStoreOptions {
  readonly refundFailed: boolean
  /** Told, about once a minute, of a generation that cannot be ended. */
  readonly onStuck?: (error: unknown, id: string) => void
}

export const reconcileStore = (db: Database, options: ReconcileStoreOptions): ReconcileStore => {
  const { pool } = db
  const fail = failingInPages(pool, options.refundFailed, options.onStuck ?? (() => undefined))
  return {
    requeueLost: () => REQUEUE_LOST.rows(pool),
    failLost: () => fail(LOST),
    failExpired: () => fail(EXPIRED),
    failUnservable: failingUnservable(db, fail),
    notEnqueued: () => NOT_ENQUEUED.rows(pool),
    markEnqueued: (deliveries) => markEnqueued(db, deliveries),
    firstQueued: () => FIRST_QUEUED.rows(pool),
    activePage: (afterId) => ACTIVE_PAGE.rows(pool, { after: afterId ?? FIRST_UUID }),
    endedAmong: async (ids) => (await ENDED_AMONG.rows(pool, { ids })).map(({ id }) => id),
    wastedSlugs: async () => (await WASTED_SLUGS.rows(pool)).map(({ slug }) => slug),
    async clean() {
      for (let pages = 1; pages <= CLEANED_PAGES; pages++) if ((await CLEAN_KEYS.count(pool)) !== ROWS_PER_PAGE) break
      for (const forget of [
        CLEAN_MISSING_JOBS,
        CLEAN_UNANSWERED,
        CLEAN_ADMIN_REQUESTS,
        CLEAN_BACKENDS,
        CLEAN_REFUSED_PROMPTS,
        CLEAN_IMAGE_REPORTS,
        CLEAN_EXPORTS,
        ...CLEAN_BOARDS,
      ])
        await forget.run(pool)
    },
  }
}
