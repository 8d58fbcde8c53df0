/** How prompts and images go that are older than they are kept. `migrations/0063_retention.sql` says why without an index more. */
import { isNotNull, or, type SQL, sql } from 'drizzle-orm'
import {
  REMOVED_BY_AGE,
  type RetentionDays,
  type RetentionOf,
  type RetentionStore,
} from '../../core/generations/retention.js'
import { bringAllBack } from '../brought-back.js'
import type { Database } from '../client.js'
import { notices as n, plans as p, subscriptions as s, users as u } from '../schema/accounts.js'
import { archiveFiles as af } from '../schema/archive.js'
import { allGenerations as g } from '../schema/generations.js'
import {
  folderImages as fi,
  allImages as i,
  imageMoves as im,
  imageReports as ir,
  takedowns as td,
} from '../schema/images.js'
import { refusedPrompts as r } from '../schema/operator.js'
import { retention as t } from '../schema/retention.js'
import { FIRST_UUID, param, setList, statement } from '../statement.js'
import { passLease } from './pass-lease.js'

/** As many may be due at once, and what one step adds. */
const IMAGES_IN_QUEUE = 1000

/** Accounts looked at by one statement, and rows changed by one: each takes milliseconds. */
const ACCOUNTS_PER_PAGE = 200
const ROWS_PER_STEP = 500

const WHAT = {
  prompts: { days: p.retainPromptsDays, at: t.promptsAt, seq: t.promptsSeq },
  images: { days: p.retainImagesDays, at: t.imagesAt, seq: t.imagesSeq },
} as const
type What = keyof typeof WHAT

/** Null: for ever. The plan that a subscription names counts, even when that has ended. */
const daysOf = (what: What) => sql`nullif(coalesce(${WHAT[what].days}, ${param(what)}::integer), 0)`
/** What is older is overdue; null: nothing is. */
const before = (what: What) => sql`now() - make_interval(days => ${daysOf(what)})`

/** How long prompts or images are kept, and as far as which generation they have ended. With the tables of `ofAccount`. */
export const daysKept = (what: What) => ({ days: daysOf(what), at: WHAT[what].at, seq: WHAT[what].seq })

/** A change of it may be taken back. The notices are read once by each statement, by their time. */
const changedOf = (account: SQL) => sql`
  ${account} IN (SELECT ${n.userId} FROM ${n} WHERE ${n.createdAt} > now() - interval '1 day' AND ${n.kind} = 'subscription.changed')`

const ofAccount = (account: SQL) => sql`
  LEFT JOIN ${s} ON ${s.userId} = ${account} LEFT JOIN ${p} ON ${p.name} = ${s.plan}
  LEFT JOIN ${t} ON ${t.userId} = ${account}`

const KEPT = statement<{ prompts: number | null; images: number | null }>('kept_days')`
  SELECT ${daysOf('prompts')} AS prompts, ${daysOf('images')} AS images
    FROM (SELECT ${param('accountId')}::uuid AS id) account ${ofAccount(sql`account.id`)}`

/** @param kept unless the account's plan says otherwise */
export const retentionOf =
  ({ pool }: Database, kept: RetentionDays): RetentionOf =>
  async (accountId) => {
    const { prompts, images } = (await KEPT.first(pool, { ...kept, accountId })) ?? {}
    return { prompts: prompts ?? undefined, images: images ?? undefined }
  }

const hasOverdue = (what: What) => {
  const { at, seq } = WHAT[what]
  return sql`EXISTS (
    SELECT FROM ${af} WHERE ${af.userId} = account.id AND ${af.status} = 'stored' AND ${af.oldest} < ${before(what)}
       AND ${af.newest} > coalesce(${at}, '-infinity')) OR EXISTS (
    SELECT FROM ${g} WHERE ${g.userId} = account.id AND ${g.createdAt} < ${before(what)}
       AND (${g.createdAt}, ${g.seq}) > (coalesce(${at}, '-infinity'), coalesce(${seq}, 0)))`
}

interface Overdue {
  accountId: string
  hasChanged: boolean
  prompts: boolean
  images: boolean
  refusals: boolean
}
const OVERDUE = statement<Overdue>('overdue_accounts')`
  SELECT account.id AS "accountId", ${changedOf(sql`account.id`)} AS "hasChanged",
         (${hasOverdue('prompts')}) AS prompts, (${hasOverdue('images')}) AS images,
         EXISTS (SELECT FROM ${r} WHERE ${r.userId} = account.id AND ${r.at} < ${before('prompts')}
                                    AND ${r.prompt} <> '') AS refusals
    FROM (SELECT ${u.id} FROM ${u} WHERE ${u.id} > ${param('after')}::uuid
           ORDER BY ${u.id} LIMIT ${ACCOUNTS_PER_PAGE}) account
    ${ofAccount(sql`account.id`)} ORDER BY account.id`

/**
 * Changes what some overdue generations have, and notes how far it came. It stops before one that has not ended: the next pass
 * goes on there. From one row to the next, and by arrays of keys: otherwise Postgres would read all that an account has wherever
 * it believes that to be little.
 */
const stepOf = (what: What, changes: SQL) => {
  const { at, seq } = WHAT[what]
  const [atName, seqName] = [at, seq].map((it) => sql.identifier(it.name))
  return statement<{ done: number }>(`end_${what}`)`
    WITH RECURSIVE since AS (
      SELECT CASE WHEN NOT ${changedOf(sql`account.id`)} THEN ${before(what)} END AS before, coalesce(${at}, '-infinity') AS at, coalesce(${seq}, 0) AS seq
        FROM (SELECT ${param('accountId')}::uuid AS id) account ${ofAccount(sql`account.id`)}
    ), step AS (
      SELECT 0 AS n, NULL AS id, at AS created_at, seq FROM since
       UNION ALL
      SELECT step.n + 1, next.id, next.created_at, next.seq FROM step CROSS JOIN LATERAL (
        SELECT ${g.id}, ${g.createdAt}, ${g.seq}, ${g.status} IN ('succeeded', 'failed') AS has_ended FROM ${g}
         WHERE ${g.userId} = ${param('accountId')}::uuid AND (${g.createdAt}, ${g.seq}) > (step.created_at, step.seq)
           AND ${g.createdAt} < (SELECT before FROM since)
         ORDER BY ${g.createdAt}, ${g.seq} LIMIT 1) next
       WHERE step.n < ${ROWS_PER_STEP} AND next.has_ended
    ), ended AS MATERIALIZED (
      SELECT id, created_at, seq FROM step WHERE n > 0
    ), ${changes}, noted AS (
      INSERT INTO ${t} (user_id, ${atName}, ${seqName})
      SELECT ${param('accountId')}::uuid, created_at, seq FROM ended ORDER BY created_at DESC, seq DESC LIMIT 1
      ON CONFLICT (user_id) DO UPDATE SET ${atName} = excluded.${atName}, ${seqName} = excluded.${seqName}
    )
    SELECT count(*) AS done FROM ended`
}

interface OverdueSpan {
  readonly from: Date | null
  /** Null: nothing is overdue. */
  readonly to: Date | null
  /** Nothing of the last year is archived. */
  readonly isOld: boolean
}
/** Where the next step looks. */
const spanOf = (what: What) => statement<OverdueSpan>(`span_of_overdue_${what}`)`
  SELECT ${WHAT[what].at} AS "from", ${before(what)} AS "to",
         coalesce(${WHAT[what].at}, '-infinity') < now() - interval '1 year' AS "isOld"
    FROM (SELECT ${param('accountId')}::uuid AS id) account ${ofAccount(sql`account.id`)}`
const SPANS = { prompts: spanOf('prompts'), images: spanOf('images') }

const IDS = sql`(ARRAY(SELECT id FROM ended))`
const SLUGS = sql`(ARRAY(SELECT slug FROM removed))`

const STEPS = {
  prompts: stepOf(
    'prompts',
    sql`emptied AS (
      UPDATE ${g} SET ${setList(g, { prompt: '', negativePrompt: '', webhookUrl: null, requestId: null, traceparent: null })}
       WHERE ${g.id} = ANY ${IDS})`,
  ),
  images: stepOf(
    'images',
    sql`removed AS (
      UPDATE ${i} SET ${setList(i, { removedAt: sql`now()`, removedReason: REMOVED_BY_AGE })}
       WHERE ${i.generationId} = ANY ${IDS} AND ${i.removedAt} IS NULL RETURNING ${i.slug}
    ), sorted_out AS (
      DELETE FROM ${fi} WHERE ${fi.slug} = ANY ${SLUGS}
    ), unsaid AS (
      UPDATE ${ir} SET ${setList(ir, { note: '' })} WHERE ${ir.slug} = ANY ${SLUGS} AND ${ir.note} <> '')`,
  ),
} as const

/** Those that are postponed hold up nobody. */
const isShort = (queue: typeof td | typeof im) =>
  sql`(SELECT count(*) FROM (SELECT FROM ${queue} WHERE ${queue.dueAt} <= now() LIMIT ${IMAGES_IN_QUEUE}) due) < ${IMAGES_IN_QUEUE}`
const TAKES_MORE_IMAGES = statement<{ takesMore: boolean }>('takes_more_images')`
  SELECT ${isShort(td)} AND ${isShort(im)} AS "takesMore"`

const EMPTY_REFUSALS = statement('empty_refused_prompts')`
  UPDATE ${r} SET ${setList(r, { prompt: '', matched: sql`'{}'` })}
   WHERE ${r.id} = ANY (ARRAY(
           SELECT ${r.id} FROM ${r}
            WHERE ${r.userId} = ${param('accountId')}::uuid AND ${r.prompt} <> '' AND ${r.at} < (
                    SELECT ${before('prompts')}
                      FROM (SELECT ${param('accountId')}::uuid AS id) account ${ofAccount(sql`account.id`)}
                     WHERE NOT ${changedOf(sql`account.id`)})
            ORDER BY ${r.id} LIMIT ${ROWS_PER_STEP}))`

export function retentionStore(db: Database): RetentionStore {
  const { orm, pool } = db
  const step = (what: What) => async (accountId: string, kept: RetentionDays) => {
    const values = { accountId, [what]: kept[what] }
    const { from, to, isOld } = (await SPANS[what].first(pool, values)) ?? {}
    // What was archived before anything had an end, and what is being archived by a server that knows of no end yet.
    if (to && isOld) await bringAllBack(db, accountId, { from: from ?? undefined, to })
    return (await STEPS[what].first(pool, values))?.done ?? 0
  }

  return {
    ...passLease(db, 'retention'),

    async endsAnything(kept) {
      if (kept.prompts !== undefined || kept.images !== undefined) return true
      return (await orm.$count(p, or(isNotNull(p.retainPromptsDays), isNotNull(p.retainImagesDays)))) > 0
    },

    async overdue(kept, after = FIRST_UUID) {
      const rows = await OVERDUE.rows(pool, { ...kept, after })
      const last = rows.length < ACCOUNTS_PER_PAGE ? undefined : rows.at(-1)?.accountId
      const accounts = rows.filter((it) => !it.hasChanged && (it.prompts || it.images || it.refusals))
      return { accounts, last }
    },

    emptyPrompts: step('prompts'),
    takesMoreImages: async () => (await TAKES_MORE_IMAGES.first(pool))?.takesMore ?? false,
    removeImages: step('images'),
    emptyRefusals: (accountId, { prompts }) => EMPTY_REFUSALS.count(pool, { accountId, prompts }),
  }
}
