import { and, desc, eq, inArray, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import { type GenerationStatus, PARAMETER_NAMES } from '../../core/generations/generation.js'
import type {
  GenerationFilter,
  HistoryStore,
  Neighbours,
  OwnImage,
  PastGeneration,
} from '../../core/generations/history.js'
import { pageOf } from '../../lib/page.js'
import type { Database } from '../client.js'
import { apiKeys as k, users as u } from '../schema/accounts.js'
import { generations as g, putBackAttempts } from '../schema/generations.js'
import { images as i } from '../schema/images.js'
import { creditLedger as l } from '../schema/ledger.js'
import { webhookDeliveries as d, webhookEndpoints as e } from '../schema/webhooks.js'
import { columns, param, queryOnce, selectAs, statement } from '../statement.js'

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
const ORDER = sql`${g.createdAt} DESC, ${g.seq} DESC`
const PLACE = { at: sql`(extract(epoch FROM ${g.createdAt}) * 1000000)::bigint`, seq: g.seq }
const placeOf = ([at, seq]: readonly number[]) =>
  sql`(timestamptz 'epoch' + ${at}::float8 * interval '1 microsecond', ${seq}::bigint)`

interface HistoryPosition {
  readonly at: number
  readonly seq: number
}

const MADE_FROM = columns(g, 'modelVersionId', 'modelName', 'filename', ...PARAMETER_NAMES)

const GENERATION = selectAs({
  ...PLACE,
  ...MADE_FROM,
  ...columns(g, 'id', 'lane', 'metered', 'status', 'batchSize', 'seed', 'error'),
  ...columns(g, 'createdAt', 'startedAt', 'finishedAt'),
  charged: g.cost,
  refunded: sql`coalesce((SELECT ${l.delta} FROM ${l}
    WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund'), 0)`,
  images: sql`coalesce(CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', ${i.slug}, 'seed', ${i.seed}, 'hasThumbnail', ${i.hasThumbnail}) ORDER BY ${i.idx})
      FROM ${i} WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL) END, '[]')`,
})

/** Website or API, by the account's own key of the website, which Postgres looks up once. */
const madeOnOf = (accountId: SQLWrapper) => sql`
  CASE ${g.apiKeyId} WHEN (SELECT ${k.id} FROM ${k} WHERE ${k.userId} = ${accountId} AND ${k.kind} = 'website')
    THEN 'website' ELSE 'api' END`

const imageOf = (accountId: SQLWrapper) => ({
  ...MADE_FROM,
  ...columns(i, 'slug', 'generationId', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'createdAt'),
  ...columns(i, 'hasThumbnail'),
  madeOn: madeOnOf(accountId),
})

const FIND_GENERATION = statement<PastGeneration & HistoryPosition>('find_own_generation')`
  SELECT ${GENERATION} FROM ${g} WHERE ${g.id} = ${param('id')} AND ${g.userId} = ${param('accountId')}`

const toGeneration = ({ at: _at, seq: _seq, ...generation }: PastGeneration & HistoryPosition): PastGeneration =>
  generation

const FIND_IMAGE = statement<OwnImage>('find_own_image')`
  SELECT ${selectAs(imageOf(sql`${param('accountId')}::uuid`))} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId}
   WHERE ${i.slug} = ${param('slug')} AND ${g.userId} = ${param('accountId')} AND ${i.removedAt} IS NULL`

const THERE = sql`(${g.createdAt}, ${g.seq})`
const HERE = sql`(here.created_at, here.seq)`

/** Planned anew each time, for an account of this size: most have few images, some have very many. */
function neighboursOf(accountId: string, slug: string): SQL {
  const own = sql`${g.userId} = ${accountId}::uuid`
  /** The first of the account's images on one side of `here`. */
  const first = (side: SQL, order: SQL) => sql`(
    SELECT ${i.slug} FROM ${g} JOIN ${i} ON ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL
     WHERE ${own} AND ${g.status} = 'succeeded' AND ${side} ORDER BY ${order} LIMIT 1)`
  const newer = sql`${THERE} >= ${HERE} AND (${THERE} > ${HERE} OR ${i.idx} < here.idx)`
  const older = sql`${THERE} <= ${HERE} AND (${THERE} < ${HERE} OR ${i.idx} > here.idx)`
  return sql`
    SELECT ${selectAs({
      newer: first(newer, sql`${g.createdAt}, ${g.seq}, ${i.idx} DESC`),
      older: first(older, sql`${ORDER}, ${i.idx}`),
    })}
      FROM (SELECT ${g.createdAt}, ${g.seq}, ${i.idx} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId}
             WHERE ${i.slug} = ${slug} AND ${own} AND ${i.removedAt} IS NULL) AS here`
}

/** A search looks at so many generations at a time, some milliseconds of work; its next page goes on from there. */
const SEARCHED = 3000
/** Of an image in its generation. */
const MAX_INDEX = 3

/** Text that LIKE takes as it is. */
const literally = (text: string) => text.replace(/[\\%_]/g, '\\$&')

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
    const rows = await queryOnce<PastGeneration & HistoryPosition>(
      pool,
      sql`SELECT ${GENERATION} FROM ${g} WHERE ${where} ORDER BY ${ORDER} LIMIT ${limit + 1}`,
    )
    return pageOf(rows, limit, toGeneration, ({ at, seq }) => [at, seq])
  },

  async images(accountId, { modelVersionId, prompt, madeOn }, { limit, after }) {
    const own = and(
      matching(accountId, { status: 'succeeded', modelVersionId }),
      after && sql`(${g.createdAt}, ${g.seq}) <= ${placeOf(after)}`,
    )
    const account = sql`${accountId}::uuid`
    const sought = and(
      prompt === undefined ? undefined : sql`lower(${g.prompt}) LIKE lower(${`%${literally(prompt)}%`})`,
      madeOn && sql`${madeOnOf(account)} = ${madeOn}`,
    )
    const where = and(
      sought ?? own,
      after && sql`((${g.createdAt}, ${g.seq}) < ${placeOf(after)} OR ${i.idx} > ${after[2]}::bigint)`,
    )
    // Under the table's own name: what is selected and sought reads its columns either way.
    const searched = sql`(SELECT * FROM ${g} WHERE ${own} ORDER BY ${ORDER} LIMIT ${SEARCHED}) AS ${g}`
    const rows = await queryOnce<OwnImage & HistoryPosition & { readonly idx: number }>(
      pool,
      sql`
        SELECT ${selectAs({ ...PLACE, ...imageOf(account), idx: i.idx })} FROM ${sought ? searched : g}
          JOIN ${i} ON ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL
         WHERE ${where} ORDER BY ${ORDER}, ${i.idx} LIMIT ${limit + 1}`,
    )
    const toImage = ({ at: _at, seq: _seq, idx: _idx, ...image }: (typeof rows)[number]) => image
    const page = pageOf(rows, limit, toImage, ({ at, seq, idx }) => [at, seq, idx])
    if (page.next || !sought) return page
    // Under the table's own name, too: the place is computed of that row only.
    const last = sql`
      SELECT ${g.createdAt}, ${g.seq} FROM ${g} WHERE ${own} ORDER BY ${ORDER} OFFSET ${SEARCHED - 1} LIMIT 1`
    const [end] = await queryOnce<HistoryPosition>(pool, sql`SELECT ${selectAs(PLACE)} FROM (${last}) AS ${g}`)
    return { items: page.items, next: end && [end.at, end.seq, MAX_INDEX] }
  },

  image: (accountId, slug) => FIND_IMAGE.first(pool, { slug, accountId }),

  async neighbours(accountId, slug) {
    return (await queryOnce<Neighbours>(pool, neighboursOf(accountId, slug)))[0]
  },
})

interface OperatorFilter {
  readonly status: GenerationStatus | undefined
  readonly userId: string | undefined
  readonly limit: number
}

const HISTORY_COLUMNS = {
  ...columns(g, 'seq', 'id', 'status', 'lane', 'metered', 'modelVersionId', 'modelName', 'batchSize', 'cost', 'error'),
  ...columns(g, 'createdAt', 'startedAt', 'finishedAt'),
  username: u.username,
}

export const operatorGenerationStore = ({ orm }: Database) => ({
  /** Newest first; of any user, deleted ones too. Each query reads one index from its end. */
  list({ status, userId, limit }: OperatorFilter) {
    const which = (where: SQL | undefined) =>
      orm.select(HISTORY_COLUMNS).from(g).innerJoin(u, eq(u.id, g.userId)).where(where)
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
      putBack: await orm
        .select()
        .from(putBackAttempts)
        .where(eq(putBackAttempts.generationId, id))
        .orderBy(putBackAttempts.attempt),
      // By the account's endpoints: no index has the generation.
      deliveries: await orm
        .select(
          columns(
            d,
            'endpointId',
            'type',
            'url',
            'status',
            'attempts',
            'lastStatus',
            'lastError',
            'createdAt',
            'finishedAt',
          ),
        )
        .from(d)
        .innerJoin(e, eq(e.id, d.endpointId))
        .where(and(eq(e.userId, row.generation.userId), eq(d.generationId, id)))
        .orderBy(d.seq),
    }
  },

  async statusOf(id: string): Promise<GenerationStatus | undefined> {
    const [row] = await orm.select(columns(g, 'status')).from(g).where(eq(g.id, id))
    return row?.status
  },

  /** Queued and processing ones, charged or metered. */
  async activeOf(userId: string): Promise<string[]> {
    const active = and(eq(g.userId, userId), inArray(g.status, ['queued', 'processing']))
    return (await orm.select(columns(g, 'id')).from(g).where(active)).map(({ id }) => id)
  },
})
