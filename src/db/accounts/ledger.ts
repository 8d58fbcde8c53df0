import { and, desc, eq, lt, sql } from 'drizzle-orm'
import {
  type LedgerStore,
  PROMPT_BEGINNING,
  type SpendingEntry,
  type SpendingStore,
} from '../../core/accounts/ledger.js'
import type { AdjustOutcome, GrantOutcome, OperatorCredits } from '../../core/operator/credits.js'
import { pageOf } from '../../lib/page.js'
import { type Database, withTransaction } from '../client.js'
import { inMonthOf, isNewerThanMoved, newestOf } from '../months.js'
import { apiKeys as k, users as u } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { creditLedger, allCreditLedger as l } from '../schema/ledger.js'
import { dayOf, FIRST_DAY, SINCE_FIRST_DAY, SPENT_ON, TODAY } from '../spending.js'
import { violatedConstraint } from '../sql-state.js'
import { columns, param, type RowOf, selectAs, statement } from '../statement.js'
import { moveCredits } from './move-credits.js'

const LEDGER_ENTRY = columns(l, 'kind', 'delta', 'balance', 'expiringDelta', 'generationId', 'note', 'createdAt')

const entriesOf = <Row extends { readonly id: number }>(rows: readonly Row[], limit: number) =>
  pageOf(
    rows,
    limit,
    ({ id: _, ...entry }) => entry,
    ({ id }) => [id],
  )

/** An account's ledger, without the operator's references. */
export const ledgerStore = ({ orm, pool }: Database): LedgerStore => ({
  async entries(accountId, { limit, after: [before] = [] }) {
    const earlier = before === undefined ? undefined : lt(l.id, before)
    const rows = await newestOf(pool, limit + 1, (isLive) =>
      orm
        .select({ ...LEDGER_ENTRY, id: l.id })
        .from(l)
        .where(and(eq(l.userId, accountId), earlier, isLive ? isNewerThanMoved(l) : undefined))
        .orderBy(desc(l.id))
        .limit(limit + 1),
    )
    return entriesOf(rows, limit)
  },
})

const GRANTED = { ...columns(creditLedger, 'userId', 'delta'), ...columns(u, 'username', 'credits') }
const USER = sql`${param('userId')}::uuid`

// One grant of a reference at a time, whoever it is for: the unique index knows it only with its user.
const LOCK_REF = statement('lock_credit_ref')`
  SELECT pg_advisory_xact_lock(hashtextextended(${param('ref')}, 0))`

// Entries with a reference stay live. Earlier releases gave one reference to several users: a repeat is compared with the user's own grant.
const OF_REF = statement<RowOf<typeof GRANTED>>('grant_of_credit_ref')`
  SELECT ${selectAs(GRANTED)} FROM ${creditLedger} JOIN ${u} ON ${u.id} = ${creditLedger.userId}
   WHERE ${creditLedger.ref} = ${param('ref')} ORDER BY ${creditLedger.userId} = ${USER} DESC, ${creditLedger.id} LIMIT 1`

const LOCK_HOLDER = statement<{ credits: number }>('lock_holder_of_credits')`
  SELECT ${u.credits} FROM ${u} WHERE ${u.id} = ${USER} AND ${u.deletedAt} IS NULL FOR NO KEY UPDATE`

export const operatorCreditStore = (db: Database): OperatorCredits => ({
  /** The same reference grants once: a repeat of the same amount to the same user changes nothing, any other is refused. */
  async grant(
    userId: string,
    amount: number,
    reason: { readonly note?: string | undefined; readonly ref?: string | undefined },
  ): Promise<GrantOutcome> {
    const { ref } = reason
    try {
      return await withTransaction(db, async (_tx, client) => {
        if (ref !== undefined) await LOCK_REF.run(client, { ref })
        const first = ref === undefined ? undefined : await OF_REF.first(client, { ref, userId })
        if (first?.userId === userId && first.delta === amount)
          return { outcome: 'granted_before', balance: first.credits }
        if (first) return { outcome: 'ref_taken', amount: first.delta, username: first.username }
        const balance = await moveCredits(client, { userId, kind: 'grant', delta: amount, ...reason })
        return balance === undefined ? { outcome: 'user_deleted' } : { outcome: 'granted', balance }
      })
    } catch (error) {
      if (violatedConstraint(error) === 'users_credits_check') return { outcome: 'too_many' }
      throw error
    }
  },

  /**
   * Corrects a balance by `amount`, which may be negative: down to 0, or below it with `belowZero`. Of credits that are
   * taken, those that don't expire go first. The same reference corrects once.
   */
  async adjust(
    userId: string,
    amount: number,
    { note, belowZero, ref }: { readonly note: string; readonly belowZero: boolean; readonly ref?: string | undefined },
  ): Promise<AdjustOutcome> {
    try {
      return await withTransaction(db, async (_tx, client) => {
        const held = await LOCK_HOLDER.first(client, { userId })
        if (!held) return { outcome: 'user_deleted' }
        const delta = belowZero ? amount : Math.max(amount, Math.min(-held.credits, 0))
        if (delta === 0) return { outcome: 'nothing_to_take', balance: held.credits }
        const balance = await moveCredits(client, { userId, kind: 'adjustment', delta, note, ref })
        return { outcome: 'adjusted', delta, balance: balance as number }
      })
    } catch (error) {
      const violated = violatedConstraint(error)
      if (violated === 'users_credits_check') return { outcome: 'too_many' }
      if (violated !== 'credit_ledger_ref') throw error
      const [held] = await db.orm.select(columns(u, 'credits')).from(u).where(eq(u.id, userId))
      return { outcome: 'adjusted_before', balance: held?.credits ?? 0 }
    }
  },

  history: (userId: string) =>
    db.orm
      .select({ ...LEDGER_ENTRY, ref: l.ref })
      .from(l)
      .where(eq(l.userId, userId))
      .orderBy(l.id),

  async entries(userId, { limit, after: [before] = [] }) {
    const rows = await db.orm
      .select({ ...LEDGER_ENTRY, ref: l.ref, id: l.id })
      .from(l)
      .where(and(eq(l.userId, userId), before === undefined ? undefined : lt(l.id, before)))
      .orderBy(desc(l.id))
      .limit(limit + 1)
    return entriesOf(rows, limit)
  },
})

/** Of the account's generations of SPENDING_DAYS. Reads one index. */
const RECENTLY_SPENT = sql`
  SELECT ${dayOf(g.createdAt)} AS submitted, ${SPENT_ON} AS spent
    FROM ${g} WHERE ${g.userId} = ${param('accountId')} AND ${g.createdAt} >= ${SINCE_FIRST_DAY}`

// Adds up before it joins: there are many generations, and few days.
const DAYS = statement<{ day: string; spent: number }>('spending_by_day')`
  SELECT to_char(day, 'YYYY-MM-DD') AS day, coalesce(by_day.spent, 0) AS spent
    FROM generate_series(${FIRST_DAY}, ${TODAY}, interval '1 day') AS day
    LEFT JOIN (
      SELECT submitted, sum(spent)::bigint AS spent FROM (${RECENTLY_SPENT}) recent GROUP BY submitted
    ) by_day ON by_day.submitted AT TIME ZONE 'UTC' = day
   ORDER BY day`

const entryOf = (isLive: boolean) => ({
  ...LEDGER_ENTRY,
  id: l.id,
  prompt: sql<string | null>`left(${g.prompt}, ${PROMPT_BEGINNING})`,
  error: g.error,
  source: sql<SpendingEntry['source']>`CASE
    WHEN ${l.ref} LIKE 'payment:%' THEN 'payment'
    WHEN ${l.kind} = 'expire' OR ${l.ref} LIKE 'period:%' OR ${l.ref} = 'plan:sign-up' THEN 'plan'
    ELSE 'operator' END`,
  keyKind: k.kind,
  keyName: k.name,
  keyHint: k.hint,
  slug: sql<string | null>`(SELECT ${i.slug} FROM ${i}
    WHERE ${i.generationId} = ${g.id} AND ${inMonthOf(i, g, isLive)} AND ${i.removedAt} IS NULL ORDER BY ${i.idx} LIMIT 1)`,
})

export const spendingStore = ({ orm, pool }: Database): SpendingStore => ({
  async entries(accountId, { limit, after: [before] = [] }) {
    const earlier = before === undefined ? undefined : lt(l.id, before)
    const rows = await newestOf(pool, limit + 1, (isLive) =>
      orm
        .select(entryOf(isLive))
        .from(l)
        .leftJoin(g, and(eq(g.id, l.generationId), inMonthOf(g, l, isLive)))
        .leftJoin(k, eq(k.id, g.apiKeyId))
        .where(and(eq(l.userId, accountId), earlier, isLive ? isNewerThanMoved(l) : undefined))
        .orderBy(desc(l.id))
        .limit(limit + 1),
    )
    return entriesOf(rows, limit)
  },

  days: (accountId) => DAYS.rows(pool, { accountId }),
})
