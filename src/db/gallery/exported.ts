/** What is in each file of the export of an account. docs/privacy.md says of every column whether it is in it, and why not. */
import { and, type Column, eq, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { ExportFile } from '../../core/gallery/account-export.js'
import { IS_ABOUT_ACCOUNT, isNameOf } from '../acts-of-name.js'
import { isMailTo } from '../mails-to.js'
import { inMonthOf } from '../months.js'
import {
  identities,
  apiKeys as k,
  signInLinks as l,
  unsentMails as m,
  notices as n,
  subscriptions as s,
  sessions as t,
  users as u,
} from '../schema/accounts.js'
import {
  paymentCustomers as c,
  paymentEvents as e,
  paymentObjects as o,
  payments as p,
  paidSubscriptions as ps,
} from '../schema/billing.js'
import { allGenerations as g, idempotencyKeys as ik } from '../schema/generations.js'
import { folders as f, folderImages as fi, allImages as i, imageReports as ir } from '../schema/images.js'
import { allCreditLedger as cl, allUsage as us } from '../schema/ledger.js'
import { operatorActions as a, refusedPrompts as r } from '../schema/operator.js'
import { savedSettings as ss } from '../schema/saved-settings.js'
import { upNextIdeas as id, upNext as un } from '../schema/up-next.js'
import { webhookDeliveries as d, webhookEndpoints as w } from '../schema/webhooks.js'
import { columns, commaList } from '../statement.js'

interface Part {
  /** Those that are in the file. */
  readonly columns: readonly Column[]
  page(accountId: string, after: readonly string[] | undefined): SQL
  /** How many rows a page has, unless it is the last one. */
  readonly limit?: number
}

export interface Page {
  /** Null: it is not the account's. */
  readonly row: string | null
  /** Where it stands in the order. */
  readonly place: string[]
}

/** Rows of generations may have prompts of kilobytes. */
export const PAGE = 200

const of = <Table extends PgTable, Name extends keyof Table>(table: Table, ...names: Name[]) =>
  Object.values(columns(table, ...names)) as Column[]

/** Rows of another table, in a field of each row. */
interface Nested {
  readonly name: string
  readonly columns: readonly Column[]
  /** More to select. */
  readonly more?: SQL
  readonly rows: SQL
}

export const selected = (list: readonly Column[]) => commaList(list.map((it) => sql`${it}`))

export const placeOf = (order: readonly Column[]) => sql`ARRAY[${commaList(order.map((it) => sql`${it}::text`))}]`

export const isBehind = (order: readonly Column[], after: readonly string[] | undefined) =>
  after &&
  sql`(${selected(order)}) >
      (${commaList(order.map((it, n) => sql`${after[n]}::${sql.raw(it.getSQLType())}`))})`

/** @param order not null, and no two rows have the same */
const part = (
  own: readonly Column[],
  order: readonly Column[],
  { from, where }: { readonly from: SQL; readonly where: (accountId: SQL) => SQL | undefined },
  ...nested: readonly Nested[]
): Part => {
  const inFields = nested.map(
    ({ name, columns, rows, more }) =>
      sql`(SELECT coalesce(json_agg(it), '[]') FROM (
             SELECT ${commaList([selected(columns), ...(more ? [more] : [])])} FROM ${rows}) it) AS ${sql.identifier(name)}`,
  )
  const row = sql`(SELECT row_to_json(it) FROM (SELECT ${commaList([selected(own), ...inFields])}) it)::text`
  return {
    columns: [...own, ...nested.flatMap((it) => it.columns)],
    page: (accountId, after) => sql`
      SELECT ${row} AS row, ${placeOf(order)} AS place FROM ${from}
       WHERE ${and(where(sql`${accountId}::uuid`), isBehind(order, after))}
       ORDER BY ${selected(order)} LIMIT ${PAGE}`,
  }
}

/** Rows that name the account themselves. */
const ownRows = (table: PgTable & { readonly userId: Column }) => ({
  from: sql`${table}`,
  where: (accountId: SQL) => eq(table.userId, accountId),
})

const customersOf = (accountId: SQL) => sql`(SELECT ${c.id} FROM ${c} WHERE ${c.userId} = ${accountId})`

const IMAGES: Nested = {
  name: 'images',
  columns: [
    ...of(i, 'slug', 'idx', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'createdAt', 'isPrivate'),
    ...of(i, 'removedAt', 'removedReason', 'deleteAt'),
  ],
  more: sql`ARRAY(SELECT ${fi.folderId} FROM ${fi} WHERE ${fi.slug} = ${i.slug}) AS folders`,
  rows: sql`${i} WHERE ${i.generationId} = ${g.id} AND ${inMonthOf(i, g)} ORDER BY ${i.idx}`,
}

/** Each page reads few rows of each endpoint, however many deliveries there are. */
const DELIVERIES = of(
  d,
  ...(['endpointId', 'seq', 'eventId', 'type', 'generationId', 'data', 'url', 'status', 'attempts'] as const),
  ...(['nextAt', 'lastStatus', 'lastError', 'createdAt', 'finishedAt'] as const),
)
const deliveryPage: Part['page'] = (accountId, [endpoint = '', seq = '0'] = []) => sql`
  SELECT row_to_json(it)::text AS row, ARRAY[it.endpoint_id, it.seq::text] AS place
    FROM ${w} CROSS JOIN LATERAL (
      SELECT ${selected(DELIVERIES)} FROM ${d}
       WHERE ${d.endpointId} = ${w.id} AND ${d.seq} > CASE WHEN ${w.id} = ${endpoint} THEN ${seq}::bigint ELSE 0 END
       ORDER BY ${d.seq} LIMIT ${PAGE}) it
   WHERE ${w.userId} = ${accountId}::uuid AND ${w.id} >= ${endpoint}
   ORDER BY it.endpoint_id, it.seq LIMIT ${PAGE}`

/** Few of all acts are about one account: a page reads so many of them. */
const ACTS_PER_PAGE = 2000
const ACTS = of(a, 'at', 'action', 'target', 'reason')
const IS_ABOUT = (accountId: SQL) => sql`(CASE WHEN ${IS_ABOUT_ACCOUNT} THEN ${isNameOf(accountId, a.target)} ELSE
  EXISTS (SELECT FROM ${g} WHERE ${g.id} = ${a.target} AND ${g.userId} = ${accountId})
  OR EXISTS (SELECT FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}
              WHERE ${i.slug} = ${a.target} AND ${g.userId} = ${accountId}) END)`
const actPage: Part['page'] = (accountId, [after = '0'] = []) => sql`
  SELECT CASE WHEN ${IS_ABOUT(sql`${accountId}::uuid`)}
              THEN (SELECT row_to_json(it) FROM (SELECT ${selected(ACTS)}) it)::text END AS row,
         ARRAY[${a.id}::text] AS place
    FROM ${a} WHERE ${a.id} > ${after}::bigint ORDER BY ${a.id} LIMIT ${ACTS_PER_PAGE}`

/** What each file has. */
export const EXPORTED: Readonly<Record<ExportFile, Part>> = {
  account: part(
    [
      ...of(
        u,
        'id',
        'username',
        'email',
        'role',
        'roleFromGroup',
        'language',
        'mailsOff',
        'noticeBelow',
        'newImagesPrivate',
      ),
      ...of(u, 'credits', 'expiringCredits', 'createdAt', 'deletedAt'),
    ],
    [u.id],
    { from: sql`${u}`, where: (accountId) => eq(u.id, accountId) },
  ),
  subscription: part(
    [
      ...of(s, 'status', 'plan', 'endDate', 'startedAt', 'periodStart', 'periodEnd', 'periodPlan', 'periodCredits'),
      s.paidUntil,
    ],
    [s.userId],
    ownRows(s),
  ),
  keys: part(
    [
      ...of(k, 'id', 'kind', 'name', 'hint', 'concurrency', 'createdAt', 'lastUsedAt', 'revokedAt', 'expiresAt'),
      ...of(k, 'monthlyLimit', 'models', 'scope'),
    ],
    [k.id],
    ownRows(k),
  ),
  sessions: part(of(t, 'id', 'userAgent', 'createdAt', 'seenAt', 'expiresAt'), [t.id], ownRows(t)),
  'sign-in-links': part(of(l, 'email', 'createdAt', 'expiresAt'), [l.tokenHash], ownRows(l)),
  identities: part(
    of(identities, 'issuer', 'subject', 'email', 'createdAt'),
    [identities.issuer, identities.subject],
    ownRows(identities),
  ),
  generations: part(
    [
      ...of(g, 'id', 'apiKeyId', 'lane', 'metered', 'status', 'modelVersionId', 'modelName', 'filename', 'prompt'),
      ...of(g, 'negativePrompt', 'width', 'height', 'batchSize', 'steps', 'cfgScale', 'sampler', 'seed', 'cost'),
      ...of(g, 'webhookUrl', 'requestId', 'traceparent', 'error', 'createdAt', 'startedAt', 'finishedAt'),
    ],
    [g.createdAt, g.seq],
    ownRows(g),
    IMAGES,
  ),
  'request-keys': part(of(ik, 'key', 'generationId', 'createdAt'), [ik.key], ownRows(ik)),
  folders: part(of(f, 'id', 'name', 'createdAt'), [f.id], ownRows(f)),
  'saved-settings': part(of(ss, 'id', 'name', 'style', 'body', 'createdAt'), [ss.id], ownRows(ss)),
  'up-next': part([un.paused], [un.userId], ownRows(un), {
    name: 'ideas',
    columns: of(id, 'id', 'position', 'body', 'refusal', 'createdAt'),
    rows: sql`${id} WHERE ${id.userId} = ${un.userId} ORDER BY ${id.position}`,
  }),
  credits: part(
    [
      ...of(cl, 'id', 'kind', 'delta', 'balance', 'expiringDelta', 'expiringBalance', 'generationId', 'note', 'ref'),
      cl.createdAt,
    ],
    [cl.id],
    ownRows(cl),
  ),
  usage: part(
    of(us, 'generationId', 'idx', 'apiKeyId', 'modelVersionId', 'createdAt'),
    [us.createdAt, us.generationId, us.idx],
    ownRows(us),
  ),
  'payment-customers': part(of(c, 'id', 'email', 'createdAt'), [c.id], ownRows(c)),
  'paid-subscriptions': part(
    of(ps, 'id', 'customer', 'price', 'plan', 'status', 'startedAt', 'paidUntil', 'endsAt', 'nextPrice', 'nextAt'),
    [ps.id],
    { from: sql`${ps}`, where: (accountId) => sql`${ps.customer} IN ${customersOf(accountId)}` },
  ),
  payments: part(
    [
      ...of(p, 'id', 'customer', 'amount', 'currency', 'returned', 'paidAt', 'isPending', 'pack', 'subscription'),
      ...of(p, 'periodStart', 'credits', 'takenBack', 'moves'),
    ],
    [p.id],
    {
      from: sql`${p}`,
      // Also one that nothing was given for yet.
      where: (accountId) => sql`${p.id} IN (
        SELECT own.id FROM ${p} own WHERE own.user_id = ${accountId} UNION
        SELECT ${o.id} FROM ${o} WHERE ${o.customer} IN ${customersOf(accountId)})`,
    },
  ),
  'payment-events': part(of(e, 'id', 'type', 'createdAt', 'receivedAt', 'customer', 'body'), [e.id], {
    from: sql`${e}`,
    where: (accountId) => sql`${e.customer} IN ${customersOf(accountId)}`,
  }),
  webhooks: part(
    [
      ...of(w, 'id', 'kind', 'url', 'description', 'events', 'failures', 'failingSince', 'createdAt', 'disabledAt'),
      ...of(w, 'disabledReason', 'deletedAt'),
    ],
    [w.id],
    ownRows(w),
  ),
  'webhook-deliveries': { columns: DELIVERIES, page: deliveryPage },
  notices: part(of(n, 'id', 'kind', 'data', 'mailAt', 'createdAt'), [n.id], ownRows(n)),
  // Their texts hold links that sign in.
  mails: part(of(m, 'recipient', 'subject', 'createdAt'), [m.id], {
    from: sql`${m}`,
    where: isMailTo,
  }),
  'refused-prompts': part(of(r, 'at', 'parameter', 'category', 'matched', 'prompt', 'wrongAt'), [r.id], ownRows(r)),
  // Nobody knows who reports. What they write in confidence stays with the operators.
  // Of the time the day alone: few may have had the link at that moment.
  reports: part(of(ir, 'slug', 'at', 'reason', 'times', 'dismissedAt'), [ir.id], {
    from: sql`(SELECT ${selected(of(ir, 'id', 'slug', 'reason', 'times', 'dismissedAt'))},
                      (${ir.at} AT TIME ZONE 'UTC')::date AS at FROM ${ir}) ${ir}`,
    // There are few reports, and may be millions of images: each report looks its owner up.
    where: (accountId) => sql`${accountId} = (
      SELECT ${g.userId} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)} WHERE ${i.slug} = ${ir.slug})`,
  }),
  'operator-acts': { columns: ACTS, page: actPage, limit: ACTS_PER_PAGE },
}
