/** What generations have cost, by day and by key. */
import { type SQL, sql } from 'drizzle-orm'
import { SPENDING_DAYS } from '../core/accounts/ledger.js'
import { generations as g } from './schema/generations.js'
import { creditLedger as l } from './schema/ledger.js'

/** All in UTC: `timestamp` values, and a moment. */
export const TODAY = sql`date_trunc('day', now() AT TIME ZONE 'UTC')`
export const FIRST_DAY = sql`(${TODAY} - ${SPENDING_DAYS - 1} * interval '1 day')`
export const THIS_MONTH = sql`date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`

/** What a generation cost, less its refund. Only failed ones need a look into the ledger. */
export const SPENT_ON = sql`${g.cost} - CASE ${g.status} WHEN 'failed' THEN coalesce((
  SELECT ${l.delta} FROM ${l} WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund'), 0) ELSE 0 END`

/** Credits that a key of the account has spent in this calendar month, in UTC. Reads the account's generations of the month. */
export const spentThisMonth = (accountId: SQL, keyId: SQL) => sql`(
  SELECT coalesce(sum(${SPENT_ON}), 0)::bigint FROM ${g}
   WHERE ${g.userId} = ${accountId} AND ${g.createdAt} >= ${THIS_MONTH}
     AND ${g.apiKeyId} = ${keyId} AND NOT ${g.metered})`
