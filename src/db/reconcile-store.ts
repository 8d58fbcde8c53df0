import { type SQL, sql } from 'drizzle-orm'
import { DEADLINE_PASSED, LACKING, type Lacking, MAX_TRIES, WORKER_LOST } from '../generation/failure.js'
import { MAX_SEED, SIZE_STEP } from '../generation/generation.js'
import type { ReconcileStore } from '../generation/ports.js'
import { SAMPLERS } from '../generation/sampler.js'
import type { Database } from './client.js'
import { failGenerations } from './failing.js'
import { MOVED } from './generation-watch.js'

/** A backend counts as alive while it was seen this recently; workers report every few seconds. */
const ALIVE = `interval '15 seconds'`
/** How long a model may be missing on every live backend before its generations fail. */
const MODEL_MISSING = `interval '60 seconds'`
const PAGE = 1000

export const reconcileStore = (db: Database, { refundFailed }: { refundFailed: boolean }): ReconcileStore => {
  const { pool, orm } = db
  return {
    async requeueLost() {
      const { rows } = await pool.query(
        `UPDATE generations SET status = 'queued', attempt = attempt + 1, tries = tries + 1, rung = false, worker = NULL,
                backend = NULL, lease_until = NULL, not_before = now()
          WHERE status = 'processing' AND lease_until < now() AND tries + 1 < $1
          RETURNING id, attempt, pg_notify('${MOVED}', id)`,
        [MAX_TRIES],
      )
      return rows.map(({ id, attempt }) => ({ id, attempt }))
    },

    failLost: () =>
      failGenerations(
        orm,
        sql`g.status = 'processing' AND g.lease_until < now() AND g.tries + 1 >= ${MAX_TRIES}`,
        sql`${WORKER_LOST}::text`,
        refundFailed,
      ),

    failExpired: () => failGenerations(orm, sql`g.deadline_at <= now()`, sql`${DEADLINE_PASSED}::text`, refundFailed),

    async failUnservable() {
      // A backend that is down may have anything, so while one is, nothing that needs a model is given up.
      const alive = sql`SELECT FROM backends b WHERE b.seen_at > now() - ${sql.raw(ALIVE)}`
      const might = sql`(NOT b.up OR b.models IS NULL OR g.filename = ANY (b.models))`
      const noModel = sql`g.created_at < now() - ${sql.raw(MODEL_MISSING)} AND NOT EXISTS (
        SELECT FROM backends b WHERE b.seen_at > now() - ${sql.raw(MODEL_MISSING)}
           AND (${might} OR b.changed_at > now() - ${sql.raw(MODEL_MISSING)}))`
      const recent = sql`SELECT FROM backends b WHERE b.seen_at > now() - ${sql.raw(MODEL_MISSING)}`
      const noSampler = sql`EXISTS (${alive} AND b.up AND ${might}) AND NOT EXISTS (
        ${recent} AND ${might} AND (NOT b.up OR g.sampler = ANY (b.samplers)))`
      const noSeed = sql`EXISTS (${alive} AND b.up AND ${might}) AND NOT EXISTS (
        ${recent} AND ${might} AND (NOT b.up OR least(g.seed + g.batch_size - 1, 4294967295) <= b.max_seed))`
      const noSize = sql`EXISTS (${alive} AND b.up AND ${might}) AND NOT EXISTS (
        ${recent} AND ${might} AND (NOT b.up OR (g.width % b.size_multiple = 0 AND g.height % b.size_multiple = 0)))`
      // Where one live backend serves everything there is nothing to look for, however long the queue.
      const picky = sql`NOT EXISTS (${alive} AND b.models IS NULL AND b.samplers @> ${sql.param([...SAMPLERS])}::text[]
        AND b.max_seed >= ${MAX_SEED} AND b.size_multiple <= ${SIZE_STEP})`
      const queued = sql`g.status = 'queued' AND EXISTS (${alive}) AND ${picky}`
      return [
        ...(await failGenerations(
          orm,
          sql`${queued} AND ${noModel}`,
          lacking('model', sql`g.model_name`),
          refundFailed,
        )),
        ...(await failGenerations(
          orm,
          sql`${queued} AND ${noSampler}`,
          lacking('sampler', sql`g.sampler`),
          refundFailed,
        )),
        ...(await failGenerations(orm, sql`${queued} AND ${noSeed}`, lacking('seed', sql`g.seed`), refundFailed)),
        ...(await failGenerations(
          orm,
          sql`${queued} AND ${noSize}`,
          lacking('size', sql`g.width || '×' || g.height`),
          refundFailed,
        )),
      ]
    },

    async unrung() {
      const { rows } = await pool.query(
        `SELECT id, attempt FROM generations
          WHERE status = 'queued' AND NOT rung AND not_before <= now()
            AND (created_at < now() - interval '2 seconds' OR attempt > 1)
          ORDER BY seq LIMIT $1`,
        [PAGE],
      )
      return rows
    },

    async markRung(deliveries) {
      await pool.query(
        `UPDATE generations g SET rung = true FROM unnest($1::text[], $2::integer[]) AS d (id, attempt)
          WHERE g.id = d.id AND g.attempt = d.attempt AND g.status = 'queued' AND NOT g.rung`,
        [deliveries.map(({ id }) => id), deliveries.map(({ attempt }) => attempt)],
      )
    },

    async queuedPage(afterSeq) {
      const { rows } = await pool.query(
        `SELECT id, attempt, seq FROM generations
          WHERE status = 'queued' AND rung AND seq > $1 ORDER BY seq LIMIT $2`,
        [afterSeq, PAGE],
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
      await pool.query(
        `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM idempotency_keys WHERE created_at < now() - interval '24 hours' LIMIT ${PAGE}))`,
      )
      await pool.query(`DELETE FROM backends WHERE seen_at < now() - interval '10 minutes'`)
      for (const board of ['generation_progress', 'generation_previews'])
        await pool.query(`DELETE FROM ${board} WHERE updated_at < now() - interval '10 minutes'`)
    },
  }
}

const lacking = (what: Lacking, value: SQL): SQL => sql`replace(${LACKING[what]}, '%', ${value}::text)`
