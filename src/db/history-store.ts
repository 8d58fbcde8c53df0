import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { alias, unionAll } from 'drizzle-orm/pg-core'
import type { GenerationStatus } from '../generation/generation.js'
import type { GenerationFilter, HistoryStore, OwnImage, PastGeneration } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import type { Database } from './client.js'
import { apiKeys, creditLedger, generations, images, users } from './schema.js'
import { named, param, pick, queryOnce, statement } from './statement.js'

const g = alias(generations, 'g')
const i = alias(images, 'i')
const l = alias(creditLedger, 'l')

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
const ORDER = sql`${g.createdAt} DESC, ${g.seq} DESC`
const PLACE = { at: sql`(extract(epoch FROM ${g.createdAt}) * 1000000)::bigint`, seq: g.seq }
const placeOf = ([at, seq]: readonly number[]) =>
  sql`(timestamptz 'epoch' + ${at}::float8 * interval '1 microsecond', ${seq}::bigint)`

interface Place {
  readonly at: number
  readonly seq: number
}

const MADE_FROM = {
  ...pick(g, 'modelVersionId', 'modelName', 'filename'),
  ...pick(g, 'prompt', 'negativePrompt', 'steps', 'cfgScale', 'sampler'),
}

const GENERATION = named({
  ...PLACE,
  ...MADE_FROM,
  ...pick(g, 'id', 'lane', 'metered', 'status', 'width', 'height', 'batchSize', 'seed', 'error'),
  ...pick(g, 'createdAt', 'startedAt', 'finishedAt'),
  charged: g.cost,
  refunded: sql`coalesce((SELECT ${l.delta} FROM ${creditLedger} ${l}
    WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund'), 0)`,
  images: sql`coalesce(CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', ${i.slug}, 'seed', ${i.seed}) ORDER BY ${i.idx})
      FROM ${images} ${i} WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END, '[]')`,
})

const IMAGE = {
  ...pick(i, 'slug', 'generationId', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'createdAt'),
  ...MADE_FROM,
}

const FIND_IMAGE = statement<OwnImage>('find_own_image')`
  SELECT ${named(IMAGE)} FROM ${images} ${i} JOIN ${generations} ${g} ON ${g.id} = ${i.generationId}
   WHERE ${i.slug} = ${param('slug')} AND ${g.userId} = ${param('accountId')} AND ${i.removedAt} IS NULL`

const conditions = (accountId: string, { status, modelVersionId, since, until }: GenerationFilter): SQL[] => [
  sql`${g.userId} = ${accountId}`,
  ...(status !== undefined ? [sql`${g.status} = ${status}`] : []),
  ...(modelVersionId !== undefined ? [sql`${g.modelVersionId} = ${modelVersionId}::bigint`] : []),
  ...(since ? [sql`${g.createdAt} >= ${since}`] : []),
  ...(until ? [sql`${g.createdAt} < ${until}`] : []),
]

export const historyStore = ({ pool }: Database): HistoryStore => ({
  async generations(accountId, filter, { limit, after }) {
    const where = conditions(accountId, filter)
    if (after) where.push(sql`(${g.createdAt}, ${g.seq}) < ${placeOf(after)}`)
    const rows = await queryOnce<PastGeneration & Place>(
      pool,
      sql`SELECT ${GENERATION} FROM ${generations} ${g} WHERE ${and(...where)} ORDER BY ${ORDER} LIMIT ${limit + 1}`,
    )
    return pageOf(
      rows,
      limit,
      ({ at: _at, seq: _seq, ...generation }) => generation,
      ({ at, seq }) => [at, seq],
    )
  },

  async images(accountId, { modelVersionId }, { limit, after }) {
    const where = conditions(accountId, { status: 'succeeded', modelVersionId })
    if (after) {
      where.push(sql`(${g.createdAt}, ${g.seq}) <= ${placeOf(after)}`)
      where.push(sql`((${g.createdAt}, ${g.seq}) < ${placeOf(after)} OR ${i.idx} > ${after[2]}::bigint)`)
    }
    const rows = await queryOnce<OwnImage & Place & { readonly idx: number }>(
      pool,
      sql`
        SELECT ${named({ ...PLACE, ...IMAGE, idx: i.idx })} FROM ${generations} ${g}
          JOIN ${images} ${i} ON ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL
         WHERE ${and(...where)} ORDER BY ${ORDER}, ${i.idx} LIMIT ${limit + 1}`,
    )
    return pageOf(
      rows,
      limit,
      ({ at: _at, seq: _seq, idx: _idx, ...image }) => image,
      ({ at, seq, idx }) => [at, seq, idx],
    )
  },

  image: (accountId, slug) => FIND_IMAGE.first(pool, { slug, accountId }),
})

interface OperatorFilter {
  readonly status: GenerationStatus | undefined
  readonly userId: string | undefined
  readonly limit: number
}

const LISTED = {
  ...pick(generations, 'seq', 'id', 'status'),
  username: users.username,
  ...pick(generations, 'lane', 'metered', 'modelVersionId', 'modelName', 'batchSize', 'cost', 'error'),
  ...pick(generations, 'createdAt', 'startedAt', 'finishedAt'),
}

export const operatorGenerationStore = ({ orm }: Database) => ({
  /** Newest first; of any user, deleted ones too. Each way reads one index from its end, however many there are. */
  list({ status, userId, limit }: OperatorFilter) {
    const which = (where: SQL | undefined) =>
      orm.select(LISTED).from(generations).innerJoin(users, eq(users.id, generations.userId)).where(where)
    if (userId) {
      const filter = and(eq(generations.userId, userId), status && eq(generations.status, status))
      return which(filter).orderBy(desc(generations.createdAt), desc(generations.seq)).limit(limit)
    }
    const newest = (of: GenerationStatus) =>
      which(eq(generations.status, of)).orderBy(desc(generations.seq)).limit(limit)
    if (status) return newest(status)
    return unionAll(newest('queued'), newest('processing'), newest('succeeded'), newest('failed'))
      .orderBy(desc(generations.seq))
      .limit(limit)
  },

  async find(id: string) {
    const [row] = await orm
      .select({ generation: generations, username: users.username, key: apiKeys })
      .from(generations)
      .innerJoin(users, eq(users.id, generations.userId))
      .innerJoin(apiKeys, eq(apiKeys.id, generations.apiKeyId))
      .where(eq(generations.id, id))
    if (!row) return undefined
    const ofGeneration = eq(creditLedger.generationId, id)
    return {
      ...row,
      images: await orm.select().from(images).where(eq(images.generationId, id)).orderBy(images.idx),
      entries: await orm.select().from(creditLedger).where(ofGeneration).orderBy(creditLedger.id),
    }
  },

  async statusOf(id: string): Promise<GenerationStatus | undefined> {
    const [row] = await orm.select(pick(generations, 'status')).from(generations).where(eq(generations.id, id))
    return row?.status
  },

  /** Queued and processing ones, charged or metered. */
  async activeOf(userId: string): Promise<string[]> {
    const rows = await orm
      .select(pick(generations, 'id'))
      .from(generations)
      .where(and(eq(generations.userId, userId), inArray(generations.status, ['queued', 'processing'])))
    return rows.map(({ id }) => id)
  },
})

export type FoundGeneration = NonNullable<Awaited<ReturnType<ReturnType<typeof operatorGenerationStore>['find']>>>
