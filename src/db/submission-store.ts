import type pg from 'pg'
import { serviceUnavailable } from '../errors.js'
import type { Generation, SubmittedGeneration } from '../generation/generation.js'
import type { InsertOutcome, SubmissionStore } from '../generation/submit/submission.js'
import { type Database, outcomeUnknown, sqlState, violatedConstraint, withTransaction } from './client.js'
import { markEnqueued, noteMissingJob } from './missing-jobs.js'

const COLUMNS = `id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt, negative_prompt,
  width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at, webhook_url`

// $1 to $19: the generation; $20: seconds to its deadline; $21: the idempotency key or null; $22: webhook_url or null.
const VALUES = `$1, $2::uuid, $3::uuid, $4, $5::boolean, $6::bigint, $7, $8, $9, $10,
  $11::integer, $12::integer, $13::integer, $14::integer, $15::float8, $16, $17::bigint, $18::text[], $19::bigint,
  now() + make_interval(secs => $20::float8), $22`

// The reservation is locked, then marked, so that whoever takes it over either sees the mark or stops this generation
// from being stored.
const RESERVED = `reserved AS (
  SELECT 1 FROM idempotency_keys WHERE user_id = $2::uuid AND key = $21::text AND generation_id = $1 FOR UPDATE)`
const MAY_STORE = `($21::text IS NULL OR EXISTS (SELECT FROM reserved))`
const MARKED = `marked AS (
  UPDATE idempotency_keys k SET stored = true FROM stored
   WHERE k.user_id = $2::uuid AND k.key = $21::text AND k.generation_id = stored.id)`

/** A key that still opens its account: it was looked at before moderation, which may have taken long. */
const OPEN = 'k.revoked_at IS NULL AND u.deleted_at IS NULL'
const HELD = {
  name: 'credits_held_by_key',
  text: `SELECT u.credits FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.id = $1 AND ${OPEN}`,
}

/**
 * Charge, generation and ledger row in one statement: all or nothing. It asks for an active generation first, so that
 * "active" is reported before "insufficient"; under a race the unique index decides. The key's row is locked before the
 * user's, so that once either has been closed nothing more is charged.
 */
const INSERT_CHARGED = {
  name: 'insert_charged',
  text: `
    WITH active AS (
      SELECT id FROM generations WHERE user_id = $2::uuid AND status IN ('queued', 'processing') AND NOT metered LIMIT 1
    ), ${RESERVED}, unrevoked AS (
      SELECT 1 FROM api_keys WHERE id = $3::uuid AND revoked_at IS NULL FOR SHARE
    ), debited AS (
      UPDATE users SET credits = credits - $19::bigint
       WHERE id = $2::uuid AND credits >= $19::bigint AND deleted_at IS NULL
         AND NOT EXISTS (SELECT FROM active) AND ${MAY_STORE} AND EXISTS (SELECT FROM unrevoked)
      RETURNING credits
    ), stored AS (
      INSERT INTO generations (${COLUMNS}) SELECT ${VALUES} FROM debited RETURNING id, attempt, created_at
    ), ${MARKED}, noted AS (${noteMissingJob('stored')}), entered AS (
      INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id)
      SELECT $2::uuid, 'charge', -$19::bigint, debited.credits, stored.id FROM stored, debited
    )
    SELECT (SELECT created_at FROM stored) AS created_at, (SELECT credits FROM debited) AS credits_left,
           (SELECT id FROM active) AS active_id, ${MAY_STORE} AS may_store`,
}

const INSERT_METERED = {
  name: 'insert_metered',
  text: `
    WITH ${RESERVED}, stored AS (
      INSERT INTO generations (${COLUMNS}) SELECT ${VALUES} WHERE ${MAY_STORE} RETURNING id, attempt, created_at
    ), ${MARKED}, noted AS (${noteMissingJob('stored')})
    SELECT created_at FROM stored`,
}

const FIND = {
  name: 'find_submitted',
  text: `SELECT id, user_id, model_version_id, model_name, cost, seed, slugs, created_at FROM generations WHERE id = $1`,
}

export const submissionStore = (db: Database): SubmissionStore => ({
  async insert(generation, options) {
    const { deadlineSeconds, idempotencyKey = null } = options
    const values = [...valuesOf(generation), deadlineSeconds, idempotencyKey, generation.webhookUrl ?? null]
    try {
      return generation.metered
        ? await insertMetered(db, generation, options.concurrency, values)
        : await insertCharged(db, generation, values)
    } catch (error) {
      if (violatedConstraint(error) === 'generations_one_active') {
        return { outcome: 'active', generationId: await activeGeneration(db, generation.accountId) }
      }
      if (!outcomeUnknown(error)) throw error
      return settleUnknown(db, generation, error)
    }
  },

  activeGeneration: (accountId) => activeGeneration(db, accountId),
  find: (id) => find(db, id),
  markEnqueued: (deliveries) => markEnqueued(db, deliveries),
})

/** How often a race with another submit or a refund is looked at anew before it is reported as it seems. */
const LOOKS = 3

async function insertCharged(
  db: Database,
  { accountId, keyId, cost }: Generation,
  values: unknown[],
): Promise<InsertOutcome> {
  for (let look = 1; ; look++) {
    const outcome = await tryInsertCharged(db.pool, values)
    if (outcome) return outcome
    // The statement saw credits, key and user after, but the rest before another one that ran at the same time.
    const { rows } = await db.pool.query({ ...HELD, values: [keyId] })
    if (!rows[0]) return { outcome: 'gone' }
    const active = await activeGeneration(db, accountId)
    if (active) return { outcome: 'active', generationId: active }
    const held = rows[0].credits
    if (held < cost || look === LOOKS) return { outcome: 'insufficient', held }
  }
}

/** Undefined: nothing was debited, for lack of credits or because the key or its user has been closed. */
async function tryInsertCharged(pool: pg.Pool, values: unknown[]): Promise<InsertOutcome | undefined> {
  const { rows } = await pool.query({ ...INSERT_CHARGED, values })
  const { created_at: createdAt, credits_left: creditsLeft, active_id: activeId, may_store: mayStore } = rows[0]
  if (createdAt) return { outcome: 'inserted', createdAt, creditsLeft }
  if (activeId) return { outcome: 'active', generationId: activeId }
  return mayStore ? undefined : { outcome: 'reservation_lost' }
}

function insertMetered(db: Database, { keyId }: Generation, limit: number, values: unknown[]): Promise<InsertOutcome> {
  return withTransaction(db, async (_tx, client) => {
    // The key's row is the lock: two submits at once count one after the other. Who closes the key or its user waits.
    const open = await client.query(
      `SELECT FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.id = $1 AND ${OPEN}
          FOR UPDATE OF k FOR SHARE OF u`,
      [keyId],
    )
    if (open.rowCount === 0) return { outcome: 'gone' }
    const active = await client.query(
      `SELECT count(*) AS n FROM generations WHERE api_key_id = $1 AND status IN ('queued', 'processing') AND metered`,
      [keyId],
    )
    if (active.rows[0].n >= limit) return { outcome: 'too_many', limit }
    const { rows } = await client.query({ ...INSERT_METERED, values })
    const createdAt = rows[0]?.created_at
    return createdAt ? { outcome: 'inserted', createdAt, creditsLeft: 0 } : { outcome: 'reservation_lost' }
  })
}

async function activeGeneration({ pool }: Database, accountId: string): Promise<string | undefined> {
  const { rows } = await pool.query({
    name: 'active_generation',
    text: `SELECT id FROM generations WHERE user_id = $1 AND status IN ('queued', 'processing') AND NOT metered`,
    values: [accountId],
  })
  return rows[0]?.id
}

async function find(
  { pool }: Database,
  id: string,
): Promise<(SubmittedGeneration & { accountId: string }) | undefined> {
  const { rows } = await pool.query({ ...FIND, values: [id] })
  const row = rows[0]
  return (
    row && {
      id: row.id,
      accountId: row.user_id,
      modelVersionId: row.model_version_id,
      modelName: row.model_name,
      cost: row.cost,
      seed: row.seed,
      slugs: row.slugs,
      createdAt: row.created_at,
    }
  )
}

/** How long the outcome of a statement whose answer was lost is looked for; past the server's own statement timeout. */
const SETTLE_MS = 5000

/**
 * The answer was lost, so the charge may have been committed. The id was ours beforehand: if the row is there, it was.
 * @throws AppError `unavailable` when Postgres can't be asked; the generation, if stored, then simply runs
 */
async function settleUnknown(db: Database, { id, metered }: Generation, cause: unknown): Promise<InsertOutcome> {
  const until = performance.now() + SETTLE_MS
  for (let pauseMs = 50; performance.now() < until; pauseMs = Math.min(pauseMs * 2, 500)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    try {
      const found = await find(db, id)
      if (!found) {
        // An answer that came at once means the server knows; one statement more can no longer arrive after it has died.
        if (sqlState(cause) !== undefined) break
        continue
      }
      const { rows } = await db.pool.query(
        `SELECT balance FROM credit_ledger WHERE generation_id = $1 AND kind = 'charge'`,
        [id],
      )
      return { outcome: 'inserted', createdAt: found.createdAt, creditsLeft: metered ? 0 : rows[0].balance }
    } catch (error) {
      if (!outcomeUnknown(error)) throw error
    }
  }
  throw serviceUnavailable(5, cause)
}

const valuesOf = (g: Generation): unknown[] => [
  g.id,
  g.accountId,
  g.keyId,
  g.lane,
  g.metered,
  g.modelVersionId,
  g.modelName,
  g.filename,
  g.prompt,
  g.negativePrompt,
  g.width,
  g.height,
  g.batchSize,
  g.steps,
  g.cfgScale,
  g.sampler,
  g.seed,
  g.slugs,
  g.cost,
]
