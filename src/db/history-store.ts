import type { GenerationFilter, HistoryStore, OwnPicture, PastGeneration } from '../generation/history.js'
import type { Database } from './client.js'
import { pageOf } from './page.js'

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
const ORDER = 'g.created_at DESC, g.seq DESC'
const PLACE = '(extract(epoch FROM g.created_at) * 1000000)::bigint AS at, g.seq'
const time = (microseconds: string) => `timestamptz 'epoch' + ${microseconds}::float8 * interval '1 microsecond'`

const GENERATION = `
  g.id, g.lane, g.metered, g.status, g.model_version_id, g.model_name, g.filename, g.prompt, g.negative_prompt, g.width,
  g.height, g.batch_size, g.steps, g.cfg_scale, g.sampler, g.seed, g.cost, g.error, g.created_at, g.started_at,
  g.finished_at,
  coalesce((SELECT l.delta FROM credit_ledger l WHERE l.generation_id = g.id AND l.kind = 'refund'), 0) AS refunded,
  CASE WHEN g.status = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', i.slug, 'seed', i.seed) ORDER BY i.idx)
      FROM images i WHERE i.generation_id = g.id AND i.removed_at IS NULL) END AS images`

const PICTURE = `
  i.slug, i.generation_id, i.idx, i.seed, i.width, i.height, i.bytes, i.sha256, i.made_with, i.created_at,
  g.model_version_id, g.model_name, g.filename, g.prompt, g.negative_prompt, g.steps, g.cfg_scale, g.sampler`

const FIND_PICTURE = {
  name: 'find_own_picture',
  text: `
    SELECT ${PICTURE} FROM images i JOIN generations g ON g.id = i.generation_id
     WHERE i.slug = $1 AND g.user_id = $2 AND i.removed_at IS NULL`,
}

/** Conditions and their values, numbered as they come. */
function conditions(accountId: string, { status, modelVersionId, since, until }: GenerationFilter) {
  const values: unknown[] = []
  const param = (value: unknown) => `$${values.push(value)}`
  const where = [`g.user_id = ${param(accountId)}`]
  if (status !== undefined) where.push(`g.status = ${param(status)}`)
  if (modelVersionId !== undefined) where.push(`g.model_version_id = ${param(modelVersionId)}::bigint`)
  if (since) where.push(`g.created_at >= ${param(since)}`)
  if (until) where.push(`g.created_at < ${param(until)}`)
  return { values, param, where }
}

export const historyStore = ({ pool }: Database): HistoryStore => ({
  async generations(accountId, filter, { limit, after }) {
    const { values, param, where } = conditions(accountId, filter)
    if (after) where.push(`(g.created_at, g.seq) < (${time(param(after[0]))}, ${param(after[1])}::bigint)`)
    const { rows } = await pool.query(
      `SELECT ${PLACE}, ${GENERATION} FROM generations g
        WHERE ${where.join(' AND ')} ORDER BY ${ORDER} LIMIT ${param(limit + 1)}`,
      values,
    )
    return pageOf(rows, limit, toGeneration, ({ at, seq }) => [at, seq])
  },

  async pictures(accountId, { modelVersionId }, { limit, after }) {
    const { values, param, where } = conditions(accountId, { status: 'succeeded', modelVersionId })
    if (after) {
      const place = `(${time(param(after[0]))}, ${param(after[1])}::bigint)`
      where.push(`(g.created_at, g.seq) <= ${place}`)
      where.push(`((g.created_at, g.seq) < ${place} OR i.idx > ${param(after[2])}::bigint)`)
    }
    const { rows } = await pool.query(
      `SELECT ${PLACE}, ${PICTURE} FROM generations g
         JOIN images i ON i.generation_id = g.id AND i.removed_at IS NULL
        WHERE ${where.join(' AND ')} ORDER BY ${ORDER}, i.idx LIMIT ${param(limit + 1)}`,
      values,
    )
    return pageOf(rows, limit, toPicture, ({ at, seq, idx }) => [at, seq, idx])
  },

  async picture(accountId, slug) {
    const { rows } = await pool.query({ ...FIND_PICTURE, values: [slug, accountId] })
    return rows[0] && toPicture(rows[0])
  },
})

// biome-ignore lint/suspicious/noExplicitAny: a row of the columns in GENERATION
const toGeneration = (row: any): PastGeneration => ({
  id: row.id,
  lane: row.lane,
  metered: row.metered,
  status: row.status,
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
  charged: row.cost,
  refunded: row.refunded,
  error: row.error,
  createdAt: row.created_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  images: row.images ?? [],
})

// biome-ignore lint/suspicious/noExplicitAny: a row of the columns in PICTURE
const toPicture = (row: any): OwnPicture => ({
  slug: row.slug,
  generationId: row.generation_id,
  seed: row.seed,
  width: row.width,
  height: row.height,
  bytes: row.bytes,
  sha256: row.sha256,
  madeWith: row.made_with,
  createdAt: row.created_at,
  modelVersionId: row.model_version_id,
  modelName: row.model_name,
  filename: row.filename,
  prompt: row.prompt,
  negativePrompt: row.negative_prompt,
  steps: row.steps,
  cfgScale: row.cfg_scale,
  sampler: row.sampler,
})
