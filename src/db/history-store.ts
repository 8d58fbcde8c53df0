import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import { DRAWING, type GenerationStatus } from '../generation/generation.js'
import type { GenerationFilter, HistoryStore, OwnImage, PastGeneration } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import type { Database } from './client.js'
import { generations as g, images as i, apiKeys as k, creditLedger as l, users as u } from './schema.js'
import { named, param, pick, queryOnce, statement } from './statement.js'

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
const ORDER = sql`${g.createdAt} DESC, ${g.seq} DESC`
const PLACE = { at: sql`(extract(epoch FROM ${g.createdAt}) * 1000000)::bigint`, seq: g.seq }
const placeOf = ([at, seq]: readonly number[]) =>
  sql`(timestamptz 'epoch' + ${at}::float8 * interval '1 microsecond', ${seq}::bigint)`

interface Place {
  readonly at: number
  readonly seq: number
}

const MADE_FROM = pick(g, 'modelVersionId', 'modelName', 'filename', ...DRAWING)

const GENERATION = named({
  ...PLACE,
  ...MADE_FROM,
  ...pick(g, 'id', 'lane', 'metered', 'status', 'batchSize', 'seed', 'error'),
  ...pick(g, 'createdAt', 'startedAt', 'finishedAt'),
  charged: g.cost,
  refunded: sql`coalesce((SELECT ${l.delta} FROM ${l}
    WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund'), 0)`,
  images: sql`coalesce(CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', ${i.slug}, 'seed', ${i.seed}) ORDER BY ${i.idx})
      FROM ${i} WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END, '[]')`,
})

const IMAGE = {
  ...MADE_FROM,
  ...pick(i, 'slug', 'generationId', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'createdAt'),
}

const FIND_GENERATION = statement<PastGeneration & Place>('find_own_generation')`
  SELECT ${GENERATION} FROM ${g} WHERE ${g.id} = ${param('id')} AND ${g.userId} = ${param('accountId')}`

const toGeneration = ({ at: _at, seq: _seq, ...generation }: PastGeneration & Place): PastGeneration => generation

const FIND_IMAGE = statement<OwnImage>('find_own_image')`
  SELECT ${named(IMAGE)} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId}
   WHERE ${i.slug} = ${param('slug')} AND ${g.userId} = ${param('accountId')} AND ${i.removedAt} IS NULL`

const matching = (accountId: string, { status, modelVersionId, since, until }: GenerationFilter) =>
  and(
    eq(g.userId, accountId),
    status && eq(g.status, status),
    modelVersionId === undefined ? undefined : eq(g.modelVersionId, modelVersionId),
    // As dates: Drizzle's own encoding of the year 0 is none that Postgres takes.
    since && sql`${g.createdAt} >= ${since}`,
    until && sql`${g.createdAt} < ${until}`,
  )

export const historyStore = ({ pool }: Database): HistoryStore => ({
  async generation(accountId, id) {
    const row = await FIND_GENERATION.first(pool, { id, accountId })
    return row && toGeneration(row)
  },

  async generations(accountId, filter, { limit, after }) {
    const where = and(matching(accountId, filter), after && sql`(${g.createdAt}, ${g.seq}) < ${placeOf(after)}`)
    const rows = await queryOnce<PastGeneration & Place>(
      pool,
      sql`SELECT ${GENERATION} FROM ${g} WHERE ${where} ORDER BY ${ORDER} LIMIT ${limit + 1}`,
    )
    return pageOf(rows, limit, toGeneration, ({ at, seq }) => [at, seq])
  },

  async images(accountId, { modelVersionId }, { limit, after }) {
    const where = and(
      matching(accountId, { status: 'succeeded', modelVersionId }),
      after && sql`(${g.createdAt}, ${g.seq}) <= ${placeOf(after)}`,
      after && sql`((${g.createdAt}, ${g.seq}) < ${placeOf(after)} OR ${i.idx} > ${after[2]}::bigint)`,
    )
    const rows = await queryOnce<OwnImage & Place & { readonly idx: number }>(
      pool,
      sql`
        SELECT ${named({ ...PLACE, ...IMAGE, idx: i.idx })} FROM ${g}
          JOIN ${i} ON ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL
         WHERE ${where} ORDER BY ${ORDER}, ${i.idx} LIMIT ${limit + 1}`,
    )
    const toImage = ({ at: _at, seq: _seq, idx: _idx, ...image }: (typeof rows)[number]) => image
    return pageOf(rows, limit, toImage, ({ at, seq, idx }) => [at, seq, idx])
  },

  image: (accountId, slug) => FIND_IMAGE.first(pool, { slug, accountId }),
})

interface OperatorFilter {
  readonly status: GenerationStatus | undefined
  readonly userId: string | undefined
  readonly limit: number
}

const LISTED = {
  ...pick(g, 'seq', 'id', 'status', 'lane', 'metered', 'modelVersionId', 'modelName', 'batchSize', 'cost', 'error'),
  ...pick(g, 'createdAt', 'startedAt', 'finishedAt'),
  username: u.username,
}

export const operatorGenerationStore = ({ orm }: Database) => ({
  /** Newest first; of any user, deleted ones too. Each query reads one index from its end. */
  list({ status, userId, limit }: OperatorFilter) {
    const which = (where: SQL | undefined) => orm.select(LISTED).from(g).innerJoin(u, eq(u.id, g.userId)).where(where)
    if (userId) {
      const filter = and(eq(g.userId, userId), status && eq(g.status, status))
      return which(filter).orderBy(desc(g.createdAt), desc(g.seq)).limit(limit)
    }
    const newest = (of: GenerationStatus) => which(eq(g.status, of)).orderBy(desc(g.seq)).limit(limit)
    if (status) return newest(status)
    return unionAll(newest('queued'), newest('processing'), newest('succeeded'), newest('failed'))
      .orderBy(desc(g.seq))
      .limit(limit)
  },

  async find(id: string) {
    const [row] = await orm
      .select({ generation: g, username: u.username, key: k })
      .from(g)
      .innerJoin(u, eq(u.id, g.userId))
      .innerJoin(k, eq(k.id, g.apiKeyId))
      .where(eq(g.id, id))
    if (!row) return undefined
    return {
      ...row,
      images: await orm.select().from(i).where(eq(i.generationId, id)).orderBy(i.idx),
      entries: await orm.select().from(l).where(eq(l.generationId, id)).orderBy(l.id),
    }
  },

  async statusOf(id: string): Promise<GenerationStatus | undefined> {
    const [row] = await orm.select(pick(g, 'status')).from(g).where(eq(g.id, id))
    return row?.status
  },

  /** Queued and processing ones, charged or metered. */
  async activeOf(userId: string): Promise<string[]> {
    const active = and(eq(g.userId, userId), inArray(g.status, ['queued', 'processing']))
    return (await orm.select(pick(g, 'id')).from(g).where(active)).map(({ id }) => id)
  },
})
