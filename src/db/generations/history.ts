import { and, desc, eq, inArray, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import { type GenerationStatus, PARAMETER_NAMES } from '../../core/generations/generation.js'
import type { GenerationFilter, HistoryStore, PastGeneration } from '../../core/generations/history.js'
import type { GenerationFilter as ListFilter } from '../../core/operator/generations.js'
import { type PageRequest, pageOf } from '../../lib/page.js'
import { alsoArchived, type NextPlace, orBroughtBack, timesOf } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf, isNewerThanMoved, newestOf } from '../months.js'
import type { ReadDatabase } from '../read-replica.js'
import { apiKeys as k, users as u } from '../schema/accounts.js'
import {
  allGenerations as g,
  generations as live,
  allPutBackAttempts as putBackAttempts,
} from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { allCreditLedger as l } from '../schema/ledger.js'
import { webhookDeliveries as d, webhookEndpoints as e } from '../schema/webhooks.js'
import { columns, param, queryOnce, selectAs, statement } from '../statement.js'

/** The order of submits, exact to Postgres's microsecond; each of the three indexes `generations_history…` has it. */
export const ORDER = sql`${g.createdAt} DESC, ${g.seq} DESC`
/** Since 1970. */
export const microseconds = (time: SQLWrapper) => sql`(extract(epoch FROM ${time}) * 1000000)::bigint`
const PLACE = { at: microseconds(g.createdAt), seq: g.seq }
export const placeOf = ([at, seq]: readonly number[]) =>
  sql`(timestamptz 'epoch' + ${at}::float8 * interval '1 microsecond', ${seq}::bigint)`

export interface HistoryPosition {
  readonly at: number
  readonly seq: number
}

export const MADE_FROM = columns(g, 'modelVersionId', 'modelName', 'filename', ...PARAMETER_NAMES)

const generationOf = (isLive: boolean) =>
  selectAs({
    ...PLACE,
    ...MADE_FROM,
    ...columns(g, 'id', 'lane', 'metered', 'status', 'batchSize', 'seed', 'error'),
    ...columns(g, 'createdAt', 'startedAt', 'finishedAt'),
    charged: g.cost,
    refunded: sql`coalesce((SELECT ${l.delta} FROM ${l}
    WHERE ${l.generationId} = ${g.id} AND ${inMonthOf(l, g, isLive)} AND ${l.kind} = 'refund'), 0)`,
    images: sql`coalesce(CASE WHEN ${g.status} = 'succeeded' THEN (
    SELECT jsonb_agg(jsonb_build_object('slug', ${i.slug}, 'seed', ${i.seed}, 'width', ${i.width},
           'height', ${i.height}, 'hasThumbnail', ${i.hasThumbnail}, 'isPrivate', ${i.isPrivate}) ORDER BY ${i.idx})
      FROM ${i} WHERE ${i.generationId} = ${g.id} AND ${inMonthOf(i, g, isLive)} AND ${i.removedAt} IS NULL AND ${i.deleteAt} IS NULL) END, '[]')`,
  })

const FIND_GENERATION = statement<PastGeneration & HistoryPosition>('find_own_generation')`
  SELECT ${generationOf(false)} FROM ${g} WHERE ${g.id} = ${param('id')} AND ${g.userId} = ${param('accountId')}`

const toGeneration = ({ at: _at, seq: _seq, ...generation }: PastGeneration & HistoryPosition): PastGeneration =>
  generation

export const matching = (accountId: string, { status, modelVersionId, since, until }: GenerationFilter) =>
  and(
    eq(g.userId, accountId),
    status && eq(g.status, status),
    modelVersionId === undefined ? undefined : eq(g.modelVersionId, modelVersionId),
    // As dates: Drizzle's own encoding of the year 0 is none that Postgres takes.
    since && sql`${g.createdAt} >= ${since}`,
    until && sql`${g.createdAt} < ${until}`,
  )

export const historyStore = (db: Database, reads: ReadDatabase = db): HistoryStore => ({
  async generation(accountId, id) {
    const row = await orBroughtBack(db, id, () => FIND_GENERATION.first(db.pool, { id, accountId }), accountId)
    return row && toGeneration(row)
  },

  async generations(accountId, filter, { limit, after }) {
    const where = and(matching(accountId, filter), after && sql`(${g.createdAt}, ${g.seq}) < ${placeOf(after)}`)
    const read = (isLive: boolean) =>
      queryOnce<PastGeneration & HistoryPosition>(
        reads.pool,
        sql`SELECT ${generationOf(isLive)} FROM ${g} WHERE ${and(where, isLive ? isNewerThanMoved(g) : undefined)}
             ORDER BY ${ORDER} LIMIT ${limit + 1}`,
      )
    let next: NextPlace | undefined
    const readAll = async () => {
      const found = await alsoArchived(
        db,
        accountId,
        () => read(false),
        (rows) => timesOf(filter, after?.[0], rows[limit]?.at),
      )
      next = found.next
      return found.rows
    }
    const rows = await newestOf(reads.pool, limit + 1, (isLive) => (isLive ? read(true) : readAll()))
    const page = pageOf(rows, limit, toGeneration, ({ at, seq }) => [at, seq])
    return { items: page.items, next: page.next ?? next }
  },
})

const historyOf = (of: typeof live | typeof g) => ({
  ...columns(of, 'seq', 'id', 'status', 'lane', 'metered', 'modelVersionId', 'modelName', 'batchSize', 'cost', 'error'),
  ...columns(of, 'createdAt', 'startedAt', 'finishedAt'),
  username: u.username,
})

/** Newest first; of any user, deleted ones too. Each query reads one index of each table from its end. */
export function newestGenerations(
  orm: Database['orm'],
  { status, accountId, before }: ListFilter & { readonly before?: number | undefined },
  limit: number,
) {
  const which = (of: typeof live | typeof g, where: SQL | undefined) =>
    orm
      .select(historyOf(of))
      .from(of as typeof g)
      .innerJoin(u, eq(u.id, of.userId))
      .where(and(where, before === undefined ? undefined : lt(of.seq, before)))
  if (accountId)
    return which(g, and(eq(g.userId, accountId), status && eq(g.status, status)))
      .orderBy(desc(g.createdAt), desc(g.seq))
      .limit(limit)
  const newest = (status: GenerationStatus) => {
    // The months have neither of these, nor an index of them.
    const of = status === 'queued' || status === 'processing' ? live : g
    return which(of, eq(of.status, status)).orderBy(desc(of.seq)).limit(limit)
  }
  if (status) return newest(status)
  return unionAll(newest('queued'), newest('processing'), newest('succeeded'), newest('failed'))
    .orderBy(desc(g.seq))
    .limit(limit)
}

export const operatorGenerationStore = (db: Database) => {
  const { orm } = db
  const find = async (id: string) => {
    const [row] = await orm
      .select({ generation: g, username: u.username, key: k })
      .from(g)
      .innerJoin(u, eq(u.id, g.userId))
      .innerJoin(k, eq(k.id, g.apiKeyId))
      .where(eq(g.id, id))
    return row
  }
  const statusOf = async (id: string): Promise<GenerationStatus | undefined> => {
    const [row] = await orm.select(columns(g, 'status')).from(g).where(eq(g.id, id))
    return row?.status
  }
  return {
    async list(filter: ListFilter, { limit, after: [before] = [] }: PageRequest) {
      const rows = await newestGenerations(orm, { ...filter, before }, limit + 1)
      return pageOf(
        rows,
        limit,
        ({ seq: _, ...row }) => row,
        ({ seq }) => [seq],
      )
    },

    async find(id: string) {
      const row = await orBroughtBack(db, id, () => find(id))
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

    statusOf: (id: string) => orBroughtBack(db, id, () => statusOf(id)),

    /** Queued and processing ones, charged or metered. */
    async activeOf(userId: string): Promise<string[]> {
      const active = and(eq(live.userId, userId), inArray(live.status, ['queued', 'processing']))
      return (await orm.select(columns(live, 'id')).from(live).where(active)).map(({ id }) => id)
    },
  }
}
