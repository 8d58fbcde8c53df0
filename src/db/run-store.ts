import { sql } from 'drizzle-orm'
import type { ClaimedGeneration, RunStore } from '../generation/ports.js'
import { CREATE_IMAGE_RUN } from '../generation/queue-position.js'
import type { Database } from './client.js'
import { failGenerations } from './failing.js'
import { MOVED } from './generation-watch.js'

/** How long a claim holds without a heartbeat (generation/lease.ts beats three times meanwhile); a crash costs as much. */
export const LEASE_SECONDS = 7

/**
 * What makes a queued generation `g` claimable: $2 models or null, $3 samplers, $4 largest seed, $5 multiple of sizes. Not
 * `% $5 = 0`: Postgres takes that for so rare that it would sort the whole queue instead of taking the first in order.
 */
const CLAIMABLE = `g.status = 'queued' AND g.not_before <= now() AND g.deadline_at > now()
  AND ($2::text[] IS NULL OR g.filename = ANY ($2::text[])) AND g.sampler = ANY ($3::text[])
  AND least(g.seed + g.batch_size - 1, 4294967295) <= $4::bigint
  AND g.width % $5::integer < 1 AND g.height % $5::integer < 1`

/** Nothing before that is of the backend's models, so that it need not go through all that waits for another one. */
const startOf = (lane: string) => `
  CASE WHEN $2::text[] IS NULL THEN 0
       WHEN (SELECT q.filename FROM generations q WHERE q.status = 'queued' AND q.lane = '${lane}'
              ORDER BY q.seq LIMIT 1) = ANY ($2::text[]) THEN 0
       ELSE (SELECT min(f.seq) FROM unnest($2::text[]) AS m (filename) CROSS JOIN LATERAL (
              SELECT q.seq FROM generations q
               WHERE q.status = 'queued' AND q.lane = '${lane}' AND q.filename = m.filename
               ORDER BY q.seq LIMIT 1) AS f) END`

const firstOf = (lane: string) => `
  SELECT g.id, g.lane, g.filename, g.passed_over_at FROM generations g
   WHERE (SELECT streak FROM turn) IS NOT NULL AND g.lane = '${lane}' AND g.seq >= ${startOf(lane)}
     AND ${CLAIMABLE}
   ORDER BY g.seq LIMIT 1 FOR UPDATE SKIP LOCKED`

/** How long a generation `g` will take a backend that needs $9 ms for one step over one pixel. */
const EXPECTED = `make_interval(secs => $9::float8 / 1000 * g.width * g.height * g.steps * g.batch_size)`

/**
 * The first claimable row in queue order, or the first with the loaded model ($7): as long as the row that comes first,
 * once the other is done, will have been passed over for no longer than $8 ms since that began. Whoever claims holds the turn's row, so claims come one after the other and
 * the lanes' rule (queue-position.ts) holds over all workers; while nothing waits the turn is not touched.
 */
const CLAIM = {
  name: 'claim_generation',
  text: `
    WITH turn AS MATERIALIZED (
      SELECT create_image_streak AS streak FROM queue_turn
       WHERE EXISTS (SELECT FROM generations WHERE status = 'queued') FOR UPDATE
    ), create_image AS MATERIALIZED (${firstOf('create_image')}
    ), personal AS MATERIALIZED (${firstOf('personal')}
    ), chosen AS MATERIALIZED (
      SELECT c.* FROM (SELECT * FROM create_image UNION ALL SELECT * FROM personal) c, turn
       ORDER BY (c.lane = 'create_image') = (turn.streak < ${CREATE_IMAGE_RUN}) DESC LIMIT 1
    ), loaded AS MATERIALIZED (
      SELECT g.id FROM chosen JOIN generations g ON g.lane = chosen.lane
       WHERE chosen.filename <> $7::text AND g.filename = $7::text AND ${CLAIMABLE}
         AND now() + ${EXPECTED} <= coalesce(chosen.passed_over_at, now()) + make_interval(secs => $8::float8 / 1000)
       ORDER BY g.seq LIMIT 1 FOR UPDATE OF g SKIP LOCKED
    ), passed_over AS (
      UPDATE generations g SET passed_over_at = coalesce(g.passed_over_at, now())
        FROM chosen, loaded WHERE g.id = chosen.id
    ), turned AS (
      UPDATE queue_turn SET create_image_streak =
        CASE WHEN chosen.lane = 'create_image' THEN least((SELECT streak FROM turn) + 1, ${CREATE_IMAGE_RUN}) ELSE 0 END
        FROM chosen
    )
    UPDATE generations g
       SET status = 'processing', worker = $1, backend = $6, started_at = coalesce(g.started_at, greatest(now(), g.created_at)),
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
    UPDATE generations
       SET status = 'queued', attempt = attempt + 1, tries = tries + $3::integer, rung = false, worker = NULL,
           backend = NULL, lease_until = NULL, not_before = now() + make_interval(secs => $4::float8)
     WHERE id = $1 AND attempt = $2 AND status = 'processing'
    RETURNING attempt, pg_notify('${MOVED}', id)`,
}

const ENDED_AS = {
  name: 'ended_as',
  text: `SELECT status, attempt FROM generations WHERE id = $1`,
}

export const runStore = (db: Database, { refundFailed }: { refundFailed: boolean }): RunStore => {
  const { pool, orm } = db
  /** A repeated write finds no row any more; if the first one, whose answer was lost, was ours, it still counts. */
  const endedAs = async ({ id, attempt }: ClaimedGeneration, status: string): Promise<boolean> => {
    const { rows } = await pool.query({ ...ENDED_AS, values: [id] })
    return rows[0]?.status === status && rows[0]?.attempt === attempt
  }

  return {
    async claim({ worker, backend }, { models, samplers, maxSeed, sizeMultiple }, affinity) {
      const { filename = null, maxDelayMs = 0, msPerPixelStep = 0 } = affinity ?? {}
      const values = [worker, models, samplers, maxSeed, sizeMultiple, backend, filename, maxDelayMs, msPerPixelStep]
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

    async hasFailed(id) {
      return (await pool.query({ ...ENDED_AS, values: [id] })).rows[0]?.status === 'failed'
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
