import { sql } from 'drizzle-orm'
import { CREATE_IMAGE_RUN } from '../generation/follow/queue-position.js'
import { MAX_SEED } from '../generation/generation.js'
import type { ClaimedGeneration, RunStore, Serves } from '../generation/run/claim.js'
import type { Database } from './client.js'
import { failGenerations } from './failing.js'
import { MOVED } from './generation-watch.js'
import { noteMissingJob } from './missing-jobs.js'

/** How long a claim holds without a heartbeat (generation/lease.ts beats three times meanwhile); a crash costs as much. */
export const LEASE_SECONDS = 7

const LANES = `(VALUES ('create_image'), ('personal')) AS lanes (lane)`

/** What a generation `g` needs: its kind, with its lane, as the index `generations_queue_of_kind` has it. */
const KIND = 'g.filename, g.sampler, generation_needs(g.seed, g.batch_size, g.width, g.height, g.cfg_scale)'

/** Whether this backend serves the kind `k`: $2 models or null, $3 samplers, $4 the needs that it does not meet. */
const SERVES = `($2::text[] IS NULL OR k.filename = ANY ($2::text[])) AND k.sampler = ANY ($3::text[])
  AND k.needs & $4::smallint = 0`

/** Whether a generation need not wait for its next try any more, and its deadline is to come. */
const DUE = 'not_before <= now() AND deadline_at > now()'

/** In the words of the index of kinds, which no other index has: the planner must take that one, or the primary key. */
const WAITING = `g.status NOT IN ('processing', 'succeeded', 'failed')`
const QUEUED = `${WAITING} AND g.error IS NULL`

const DUE_OF_KIND = `${QUEUED} AND g.lane = k.lane AND (${KIND}) = (k.filename, k.sampler, k.needs) AND ${DUE}`

/** How many a claim looks at one by one: the first of a lane, then the first of the loaded model. */
const LOOKS = 50

/** How long a generation `g` will take a backend that needs $8 ms for one step over one pixel. */
const EXPECTED = `make_interval(secs => $8::float8 / 1000 * g.width * g.height * g.steps * g.batch_size)`

/**
 * The first claimable row in queue order, or one of the loaded model ($6): as long as the row that comes first, once the
 * other is done, will have been passed over for no longer than $7 ms since that began.
 *
 * Mostly a lane's first rows have one. Where this backend serves none of them, each kind of work that waits costs one step
 * along the index, however much of it there is. Then whoever claims holds the turn's row, so claims come one after the
 * other and the lanes' rule (queue-position.ts) holds over all workers. Others may have claimed meanwhile what was first,
 * so the rows are looked up anew by their kinds.
 */
const CLAIM = {
  name: 'claim_generation',
  text: `
    WITH RECURSIVE head AS MATERIALIZED (
      SELECT lane, k.filename, k.sampler, k.needs, min(k.seq) AS seq FROM ${LANES} CROSS JOIN LATERAL (
        SELECT ${KIND} AS needs, g.seq, g.not_before, g.deadline_at FROM generations g
         WHERE g.status = 'queued' AND g.lane = lanes.lane ORDER BY g.seq LIMIT ${LOOKS}) k
       WHERE ${DUE} AND ${SERVES} GROUP BY lane, k.filename, k.sampler, k.needs
    ), sought AS (
      SELECT lane, CASE WHEN lane IN (SELECT lane FROM head) THEN $6::text ELSE '' END AS filename FROM ${LANES}
    ), kinds (model, lane, filename, sampler, needs) AS (
      SELECT nullif(sought.filename, ''), lane, first.* FROM sought CROSS JOIN LATERAL (
        SELECT ${KIND} FROM generations g
         WHERE ${QUEUED} AND g.lane = sought.lane AND g.filename >= sought.filename
         ORDER BY ${KIND} LIMIT 1) first
      UNION ALL
      SELECT model, lane, following.* FROM kinds k CROSS JOIN LATERAL (
        SELECT ${KIND} FROM generations g
         WHERE ${QUEUED} AND g.lane = k.lane AND (${KIND}) > (k.filename, k.sampler, k.needs)
         ORDER BY ${KIND} LIMIT 1) following
       WHERE model IS NULL OR k.filename = model
    ), served AS MATERIALIZED (
      SELECT * FROM head
      UNION
      SELECT k.lane, k.filename, k.sampler, k.needs, first.seq FROM kinds k CROSS JOIN LATERAL (
        SELECT g.seq FROM generations g WHERE ${DUE_OF_KIND} ORDER BY g.seq LIMIT 1) first WHERE ${SERVES}
    ), turn AS MATERIALIZED (
      SELECT create_image_streak AS streak FROM queue_turn WHERE (SELECT count(*) FROM served) > 0 FOR UPDATE
    ), chosen AS MATERIALIZED (
      SELECT first.* FROM (
        SELECT served.* FROM served, turn
         ORDER BY (lane = 'create_image') = (streak < ${CREATE_IMAGE_RUN}) DESC, seq) k CROSS JOIN LATERAL (
        SELECT g.id, g.lane, g.filename, g.passed_over_at FROM generations g WHERE ${DUE_OF_KIND}
         ORDER BY g.seq LIMIT 1 FOR UPDATE SKIP LOCKED) first
       LIMIT 1
    ), loaded AS MATERIALIZED (
      SELECT first.* FROM (
        SELECT served.*, coalesce(passed_over_at, now()) + make_interval(secs => $7::float8 / 1000) AS until
          FROM served JOIN chosen USING (lane)
         WHERE served.filename = $6::text AND chosen.filename <> $6::text ORDER BY seq) k CROSS JOIN LATERAL (
        SELECT g.id FROM generations g
         WHERE k.until > now() AND g.id = ANY (ARRAY(
                 SELECT g.id FROM generations g WHERE ${DUE_OF_KIND} ORDER BY g.seq LIMIT ${LOOKS}))
           AND ${WAITING} AND now() + ${EXPECTED} <= k.until
         ORDER BY g.seq LIMIT 1 FOR UPDATE SKIP LOCKED) first
       LIMIT 1
    ), passed_over AS (
      UPDATE generations g SET passed_over_at = coalesce(g.passed_over_at, now())
       WHERE g.id = (SELECT id FROM chosen) AND EXISTS (SELECT FROM loaded)
    ), turned AS (
      UPDATE queue_turn SET create_image_streak =
        CASE WHEN chosen.lane = 'create_image' THEN least((SELECT streak FROM turn) + 1, ${CREATE_IMAGE_RUN}) ELSE 0 END
        FROM chosen
    )
    UPDATE generations g
       SET status = 'processing', worker = $1, backend = $5, started_at = coalesce(g.started_at, greatest(now(), g.created_at)),
           lease_until = now() + interval '${LEASE_SECONDS} seconds'
     WHERE g.id = coalesce((SELECT id FROM loaded), (SELECT id FROM chosen))
    RETURNING g.*, pg_notify('${MOVED}', g.id)`,
}

const HEARTBEAT = {
  name: 'heartbeat_generation',
  text: `
    UPDATE generations SET lease_until = now() + interval '${LEASE_SECONDS} seconds'
     WHERE id = $1 AND attempt = $2 AND status = 'processing'`,
}

// Images, usage and success in one statement, all of one time: all or nothing. Never before its start, though a standby
// that took over may have a clock that is behind.
const SUCCEED = {
  name: 'succeed_generation',
  text: `
    WITH ended AS (
      UPDATE generations
         SET status = 'succeeded', finished_at = greatest(now(), created_at, started_at), lease_until = NULL
       WHERE id = $1 AND attempt = $2 AND status = 'processing'
      RETURNING id, user_id, api_key_id, model_version_id, metered, finished_at
    ), picture AS (
      SELECT * FROM jsonb_to_recordset($3::jsonb)
        AS p (slug text, idx integer, seed bigint, width integer, height integer, bytes bigint, sha256 text,
              "madeWith" jsonb)
    ), shown AS (
      INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, made_with, created_at)
      SELECT p.slug, ended.id, p.idx, p.seed, p.width, p.height, p.bytes, p.sha256, p."madeWith", ended.finished_at
        FROM ended, picture p
    ), billed AS (
      INSERT INTO usage (generation_id, idx, api_key_id, user_id, model_version_id, created_at)
      SELECT ended.id, p.idx, ended.api_key_id, ended.user_id, ended.model_version_id, ended.finished_at
        FROM ended, picture p
       WHERE ended.metered
    )
    SELECT pg_notify('generation_finished', id) FROM ended`,
}

const REQUEUE = {
  name: 'requeue_generation',
  text: `
    WITH requeued AS (
      UPDATE generations
         SET status = 'queued', attempt = attempt + 1, tries = tries + $3::integer, worker = NULL, backend = NULL,
             lease_until = NULL, not_before = now() + make_interval(secs => $4::float8)
       WHERE id = $1 AND attempt = $2 AND status = 'processing'
      RETURNING id, attempt
    ), noted AS (${noteMissingJob('requeued')})
    SELECT attempt, pg_notify('${MOVED}', id) FROM requeued`,
}

const STANDING = {
  name: 'standing_of_generation',
  text: `SELECT status, attempt FROM generations WHERE id = $1`,
}

export const runStore = (db: Database, { refundFailed }: { refundFailed: boolean }): RunStore => {
  const { pool, orm } = db
  const standing: RunStore['standing'] = async (id) => (await pool.query({ ...STANDING, values: [id] })).rows[0]
  /** A repeated write finds no row any more; if the first one, whose answer was lost, was ours, it still counts. */
  const endedAs = async ({ id, attempt }: ClaimedGeneration, status: string): Promise<boolean> => {
    const now = await standing(id)
    return now?.status === status && now.attempt === attempt
  }

  return {
    standing,

    async claim({ worker, backend }, serves, affinity) {
      const { filename = null, maxDelayMs = 0, msPerPixelStep = 0 } = affinity ?? {}
      const { models, samplers } = serves
      const values = [worker, models, samplers, lacks(serves), backend, filename, maxDelayMs, msPerPixelStep]
      const { rows } = await pool.query({ ...CLAIM, values })
      return rows[0] && toClaimed(rows[0])
    },

    async heartbeat(id, attempt) {
      return (await pool.query({ ...HEARTBEAT, values: [id, attempt] })).rowCount === 1
    },

    async succeed(generation, images) {
      const pictures = images.map((image, idx) => ({ ...image, idx }))
      const { rowCount } = await pool.query({
        ...SUCCEED,
        values: [generation.id, generation.attempt, JSON.stringify(pictures)],
      })
      return rowCount === 1 || endedAs(generation, 'succeeded')
    },

    async fail(generation, reason) {
      const { id, attempt } = generation
      const which = sql`g.id = ${id} AND g.attempt = ${attempt} AND g.status = 'processing'`
      const ended = await failGenerations(orm, which, sql`${reason}::text`, refundFailed)
      return ended.length === 1 || endedAs(generation, 'failed')
    },

    async requeue({ id, attempt }, { countTry, delayMs }) {
      const { rows } = await pool.query({ ...REQUEUE, values: [id, attempt, countTry ? 1 : 0, delayMs / 1000] })
      return rows[0]?.attempt
    },
  }
}

/** The needs, as `generation_needs` counts them, that a backend does not meet. */
const lacks = ({ maxSeed, sizeMultiple, maxCfgScale }: Serves): number =>
  (maxSeed < MAX_SEED ? 1 : 0) +
  (sizeMultiple > 8 ? 2 : 0) +
  (sizeMultiple > 16 ? 4 : 0) +
  (maxCfgScale === undefined ? 0 : 8)

// biome-ignore lint/suspicious/noExplicitAny: one row of RETURNING g.*, as wide as the table
function toClaimed(row: any): ClaimedGeneration {
  return {
    id: row.id,
    accountId: row.user_id,
    keyId: row.api_key_id,
    lane: row.lane,
    metered: row.metered,
    modelVersionId: row.model_version_id,
    modelName: row.model_name,
    filename: row.filename,
    prompt: row.prompt,
    negativePrompt: row.negative_prompt,
    width: row.width,
    height: row.height,
    batchSize: row.batch_size,
    steps: row.steps,
    cfgScale: row.cfg_scale,
    sampler: row.sampler,
    seed: row.seed,
    slugs: row.slugs,
    cost: row.cost,
    attempt: row.attempt,
    tries: row.tries,
  }
}
