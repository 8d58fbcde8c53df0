import { type SQL, sql } from 'drizzle-orm'
import { DEADLINE_PASSED, LACKING, type Lacking, MAX_DEATHS, WORKER_LOST } from '../generation/failure-reason.js'
import { MAX_SEED, SIZE_STEP } from '../generation/generation.js'
import type { ReconcileStore } from '../generation/repair/reconcile.js'
import { SAMPLERS } from '../generation/sampler.js'
import type { Database } from './client.js'
import { failingInPages } from './failing.js'
import { MOVED } from './generation-watch.js'
import { markEnqueued, noteMissingJob } from './missing-jobs.js'

/** A backend counts as alive while it was seen this recently; workers report every few seconds. */
const ALIVE = `interval '15 seconds'`
/** How long a model may be missing on every live backend, and any ability after one has changed, before generations fail. */
const MISSING = `interval '60 seconds'`
const PAGE = 1000
/** Of what has expired, at a time; the rest waits for the next time. */
const CLEANED_PAGES = 20

export interface ReconcileStoreOptions {
  readonly refundFailed: boolean
  /** Told of a generation that should have ended and could not, about once a minute. */
  readonly onStuck?: (error: unknown, id: string) => void
}

export const reconcileStore = (db: Database, options: ReconcileStoreOptions): ReconcileStore => {
  const { pool, orm } = db
  const fail = failingInPages(orm, options.refundFailed, options.onStuck ?? (() => undefined))
  return {
    async requeueLost() {
      const { rows } = await pool.query(
        `WITH requeued AS (
           UPDATE generations SET status = 'queued', attempt = attempt + 1, deaths = deaths + 1, worker = NULL,
                  backend = NULL, lease_until = NULL, not_before = now()
            WHERE id = ANY (ARRAY(
                    SELECT id FROM generations
                     WHERE status = 'processing' AND lease_until < now() AND deaths + 1 < $1 FOR NO KEY UPDATE SKIP LOCKED))
           RETURNING id, attempt
         ), noted AS (${noteMissingJob('requeued')})
         SELECT id, attempt, pg_notify('${MOVED}', id) FROM requeued`,
        [MAX_DEATHS],
      )
      return rows.map(({ id, attempt }) => ({ id, attempt }))
    },

    failLost: () =>
      fail({
        which: sql`g.status = 'processing' AND g.lease_until < now() AND g.deaths + 1 >= ${MAX_DEATHS}`,
        reason: sql`${WORKER_LOST}::text`,
        order: sql`g.seq`,
      }),

    failExpired: () =>
      fail({
        which: sql`g.finished_at IS NULL AND g.deadline_at <= now()`,
        reason: sql`${DEADLINE_PASSED}::text`,
        order: sql`g.deadline_at`,
      }),

    failUnservable: (lacking) =>
      fail({
        which: sql`g.status = 'queued' AND ${UNSERVABLE} AND ${LACKS[lacking]}`,
        reason: sql`replace(${LACKING[lacking]}, '%', (${VALUE[lacking]})::text)`,
        order: sql`g.lane, g.seq`,
      }),

    async notEnqueued() {
      const { rows } = await pool.query(
        // One by one: a join might read all that waits.
        `SELECT g.id, g.attempt FROM unrung u CROSS JOIN LATERAL (
           SELECT * FROM generations WHERE id = u.generation_id LIMIT 1) g
          WHERE g.attempt = u.attempt AND g.status = 'queued' AND g.not_before <= now()
            AND (g.created_at < now() - interval '2 seconds' OR g.attempt > 1)
          LIMIT $1`,
        [PAGE],
      )
      return rows
    },

    markEnqueued: (deliveries) => markEnqueued(db, deliveries),

    async firstQueued() {
      // In the order of the index that the claims use, so that it costs no more than its rows.
      const { rows } = await pool.query(
        `SELECT id, attempt FROM generations WHERE status = 'queued' ORDER BY lane, seq LIMIT $1`,
        [PAGE],
      )
      return rows
    },

    async activePage(afterId) {
      const { rows } = await pool.query(
        `SELECT id, user_id AS "accountId", greatest(extract(epoch FROM deadline_at - now()) * 1000, 0)::integer AS "remainingMs"
           FROM generations
          WHERE status IN ('queued', 'processing') AND NOT metered AND user_id > $1 ORDER BY user_id LIMIT $2`,
        [afterId ?? '00000000-0000-0000-0000-000000000000', PAGE],
      )
      return rows
    },

    async endedAmong(ids) {
      const { rows } = await pool.query(
        `SELECT id FROM generations WHERE id = ANY ($1) AND status IN ('succeeded', 'failed')`,
        [ids],
      )
      return rows.map(({ id }) => id)
    },

    async wastedSlugs() {
      // Not the very latest, whose last attempt may still be clearing up itself.
      const { rows } = await pool.query(
        `SELECT unnest(slugs) AS slug FROM generations
          WHERE status = 'failed' AND started_at IS NOT NULL
            AND finished_at BETWEEN now() - interval '1 hour' AND now() - interval '30 seconds'
          ORDER BY finished_at DESC LIMIT ${PAGE}`,
      )
      return rows.map(({ slug }) => slug)
    },

    async clean() {
      // The age once more: a key that has just been taken anew is no longer old.
      const old = `created_at < now() - interval '24 hours'`
      for (let pages = 1; pages <= CLEANED_PAGES; pages++) {
        const { rowCount } = await pool.query(
          `DELETE FROM idempotency_keys WHERE ${old} AND ctid = ANY (ARRAY(
             SELECT ctid FROM idempotency_keys WHERE ${old} ORDER BY created_at LIMIT ${PAGE}))`,
        )
        if (rowCount !== PAGE) break
      }
      // What was claimed or has ended before anybody rang for it.
      await pool.query(
        `DELETE FROM unrung u WHERE NOT EXISTS (
           SELECT FROM generations g WHERE g.id = u.generation_id AND g.attempt = u.attempt AND g.status = 'queued')`,
      )
      await pool.query(`DELETE FROM backends WHERE seen_at < now() - interval '10 minutes'`)
      for (const board of ['generation_progress', 'generation_previews'])
        await pool.query(`DELETE FROM ${board} WHERE updated_at < now() - interval '10 minutes'`)
    },
  }
}

// A backend that is down may have anything, so while one is, nothing that needs a model is given up; only one that has
// refused ever since it was started (it has no models at all) is not waited for.
const ALIVE_BACKEND = sql.raw(`SELECT FROM backends b WHERE b.seen_at > now() - ${ALIVE}`)
const RECENT_BACKEND = sql.raw(`SELECT FROM backends b WHERE b.seen_at > now() - ${MISSING}`)
const MIGHT = sql.raw(
  `(NOT b.up AND b.models IS DISTINCT FROM '{}' OR b.models IS NULL OR g.filename = ANY (b.models))`,
)
// Just started or back: after an outage others may be on their way, which can do what this one cannot.
const CHANGED = sql.raw(`b.changed_at > now() - ${MISSING}`)

// Where one live backend serves everything there is nothing to look for, however long the queue.
const UNSERVABLE = sql`EXISTS (${ALIVE_BACKEND}) AND NOT EXISTS (${ALIVE_BACKEND} AND b.models IS NULL
  AND b.samplers @> ${sql.param([...SAMPLERS])}::text[] AND b.max_seed >= ${MAX_SEED} AND b.size_multiple <= ${SIZE_STEP}
  AND b.max_cfg_scale IS NULL)`

/** Some backend serves the model, and none of those that do, can do this. */
const noneCan = (can: string): SQL => sql`EXISTS (${ALIVE_BACKEND} AND b.up AND ${MIGHT}) AND NOT EXISTS (
  ${RECENT_BACKEND} AND (${CHANGED} OR ${MIGHT} AND (NOT b.up OR ${sql.raw(can)})))`

/** Over `g`, a generation: no live backend can do it. */
export const LACKS: Readonly<Record<Lacking, SQL>> = {
  model: sql`g.created_at < now() - ${sql.raw(MISSING)} AND NOT EXISTS (${RECENT_BACKEND} AND (${CHANGED} OR ${MIGHT}))`,
  sampler: noneCan('g.sampler = ANY (b.samplers)'),
  seed: noneCan('least(g.seed + g.batch_size - 1, 4294967295) <= b.max_seed'),
  size: noneCan('g.width % b.size_multiple = 0 AND g.height % b.size_multiple = 0'),
  cfg_scale: noneCan('(b.max_cfg_scale IS NULL OR g.cfg_scale <= b.max_cfg_scale)'),
}

const VALUE: Readonly<Record<Lacking, SQL>> = {
  model: sql.raw('g.model_name'),
  sampler: sql.raw('g.sampler'),
  seed: sql.raw('g.seed'),
  size: sql.raw(`g.width || '×' || g.height`),
  cfg_scale: sql.raw('g.cfg_scale'),
}
