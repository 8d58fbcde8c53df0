import type { GenerationFilter, HistoryStore, OwnPicture, PastGeneration } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import type { Database } from './client.js'

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
const ORDER = 'g.created_at DESC, g.seq DESC'
const PLACE = '(extract(epoch FROM g.created_at) * 1000000)::bigint AS at, g.seq'
const time = (microseconds: string) => `timestamptz 'epoch' + ${microseconds}::float8 * interval '1 microsecond'`

const DRAWN_FROM = `
  g.model_version_id AS "modelVersionId", g.model_name AS "modelName", g.filename, g.prompt,
  g.negative_prompt AS "negativePrompt", g.steps, g.cfg_scale AS "cfgScale", g.sampler`

const GENERATION = `
  g.id, g.lane, g.metered, g.status, ${DRAWN_FROM}, g.width, g.height, g.batch_size AS "batchSize", g.seed,
  g.cost AS charged, g.error, g.created_at AS "createdAt", g.started_at AS "startedAt", g.finished_at AS "finishedAt",
  coalesce((SELECT l.delta FROM credit_ledger l WHERE l.generation_id = g.id AND l.kind = 'refund'), 0) AS refunded,
  coalesce(CASE WHEN g.status = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', i.slug, 'seed', i.seed) ORDER BY i.idx)
      FROM images i WHERE i.generation_id = g.id AND i.removed_at IS NULL) END, '[]') AS images`

const PICTURE = `
  i.slug, i.generation_id AS "generationId", i.seed, i.width, i.height, i.bytes, i.sha256, i.made_with AS "madeWith",
  i.created_at AS "createdAt", ${DRAWN_FROM}`

interface Place {
  readonly at: number
  readonly seq: number
}
type GenerationRow = PastGeneration & Place
type PictureRow = OwnPicture & Place & { readonly idx: number }

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
    const { rows } = await pool.query<GenerationRow>(
      `SELECT ${PLACE}, ${GENERATION} FROM generations g
        WHERE ${where.join(' AND ')} ORDER BY ${ORDER} LIMIT ${param(limit + 1)}`,
      values,
    )
    return pageOf(
      rows,
      limit,
      ({ at: _at, seq: _seq, ...generation }) => generation,
      ({ at, seq }) => [at, seq],
    )
  },

  async pictures(accountId, { modelVersionId }, { limit, after }) {
    const { values, param, where } = conditions(accountId, { status: 'succeeded', modelVersionId })
    if (after) {
      const place = `(${time(param(after[0]))}, ${param(after[1])}::bigint)`
      where.push(`(g.created_at, g.seq) <= ${place}`)
      where.push(`((g.created_at, g.seq) < ${place} OR i.idx > ${param(after[2])}::bigint)`)
    }
    const { rows } = await pool.query<PictureRow>(
      `SELECT ${PLACE}, i.idx, ${PICTURE} FROM generations g
         JOIN images i ON i.generation_id = g.id AND i.removed_at IS NULL
        WHERE ${where.join(' AND ')} ORDER BY ${ORDER}, i.idx LIMIT ${param(limit + 1)}`,
      values,
    )
    return pageOf(
      rows,
      limit,
      ({ at: _at, seq: _seq, idx: _idx, ...picture }) => picture,
      ({ at, seq, idx }) => [at, seq, idx],
    )
  },

  async picture(accountId, slug) {
    const { rows } = await pool.query<OwnPicture>({ ...FIND_PICTURE, values: [slug, accountId] })
    return rows[0]
  },
})
