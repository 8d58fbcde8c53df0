/** What generations have cost, by day and by key. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { SPENDING_DAYS } from '../core/accounts/ledger.js'
import { inMonthOf } from './months.js'
import { allGenerations as all, generations as live } from './schema/generations.js'
import { allCreditLedger as allLedger, creditLedger as liveLedger } from './schema/ledger.js'
import { param } from './statement.js'

/** All in UTC: `timestamp` values, and a moment. */
export const TODAY = sql`date_trunc('day', now() AT TIME ZONE 'UTC')`
export const FIRST_DAY = sql`(${TODAY} - ${SPENDING_DAYS - 1} * interval '1 day')`
export const THIS_MONTH = sql`date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`

/** The same as moments. As subqueries they are computed once, and not for each of very many rows. */
export const SINCE_FIRST_DAY = sql`(SELECT ${FIRST_DAY} AT TIME ZONE 'UTC')`
export const SINCE_THIS_MONTH = sql`(SELECT ${THIS_MONTH})`

/** The beginning of a moment's day in UTC: plain arithmetic, for very many rows. */
export const dayOf = (moment: SQLWrapper) => sql`date_bin('1 day', ${moment}, timestamptz 'epoch')`

/** Such a day as text. */
export const dayName = (day: SQLWrapper) => sql`to_char(${day} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`

/** Whether a moment is on one of the days, in UTC, from the parameter `from` to the parameter `to`. */
export const isInSpan = (moment: SQLWrapper) => sql`${moment} >= ${param('from')}::date::timestamp AT TIME ZONE 'UTC'
  AND ${moment} < (${param('to')}::date + 1)::timestamp AT TIME ZONE 'UTC'`

/**
 * Which months may have rows of these days: Postgres reads no others. With a week before, since what belongs to a generation may
 * come until its deadline, which is seven days after its submit at most.
 */
export const monthInSpan = ({ month }: { readonly month: SQLWrapper }) => sql`(${month} IS NULL OR ${month}
  BETWEEN date_trunc('month', ${param('from')}::date::timestamp - interval '8 days')::date AND ${param('to')}::date)`

type Generations = typeof live | typeof all
type Ledger = typeof liveLedger | typeof allLedger

const refundIn = (g: Generations, l: Ledger) => sql`coalesce((
  SELECT ${l.delta} FROM ${l} WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund' AND ${inMonthOf(l, g)}), 0)`

// Only failed ones need a look into the ledger.
const spentIn = (g: Generations, l: Ledger) =>
  sql`${g.cost} - CASE ${g.status} WHEN 'failed' THEN ${refundIn(g, l)} ELSE 0 END`

/** Of a generation that has failed; 0 where its credits were kept. */
export const REFUND = refundIn(all, allLedger)

/** What a generation cost, less its refund. */
export const SPENT_ON = spentIn(all, allLedger)

/** Credits that a key of the account has spent in this calendar month, in UTC, which is live. Reads the account's generations of the month. */
export const spentThisMonth = (accountId: SQL, keyId: SQL) => sql`(
  SELECT coalesce(sum(${spentIn(live, liveLedger)}), 0)::bigint FROM ${live}
   WHERE ${live.userId} = ${accountId} AND ${live.createdAt} >= ${THIS_MONTH}
     AND ${live.apiKeyId} = ${keyId} AND NOT ${live.metered})`
