import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { PROMPT_BEGINNING, SPENDING_DAYS, type SpendingStore } from '../../core/accounts/ledger.js'
import { pageOf } from '../../lib/page.js'
import type { Database } from '../client.js'
import { generations as g, images as i, apiKeys as k, creditLedger as l } from '../schema/generations.js'
import { param, statement } from '../statement.js'
import { LEDGER_ENTRY } from './ledger.js'

const TODAY = sql`date_trunc('day', now() AT TIME ZONE 'UTC')`
const FIRST_DAY = sql`(${TODAY} - ${SPENDING_DAYS - 1} * interval '1 day')`

/** Of the account's generations of SPENDING_DAYS. Reads one index; only failed ones need a look into the ledger. */
export const RECENTLY_SPENT = sql`
  SELECT ${g.apiKeyId}, ${g.createdAt}, ${g.cost} - CASE ${g.status} WHEN 'failed' THEN coalesce((
           SELECT ${l.delta} FROM ${l} WHERE ${l.generationId} = ${g.id} AND ${l.kind} = 'refund'), 0) ELSE 0 END AS spent
    FROM ${g} WHERE ${g.userId} = ${param('accountId')} AND ${g.createdAt} >= ${FIRST_DAY} AT TIME ZONE 'UTC'`

// Adds up before it joins: there are many generations, and few days.
const DAYS = statement<{ day: string; spent: number }>('spending_by_day')`
  SELECT to_char(day, 'YYYY-MM-DD') AS day, coalesce(by_day.spent, 0) AS spent
    FROM generate_series(${FIRST_DAY}, ${TODAY}, interval '1 day') AS day
    LEFT JOIN (
      SELECT date_trunc('day', created_at AT TIME ZONE 'UTC') AS submitted, sum(spent)::bigint AS spent
        FROM (${RECENTLY_SPENT}) recent GROUP BY submitted
    ) by_day ON by_day.submitted = day
   ORDER BY day`

const ENTRY = {
  ...LEDGER_ENTRY,
  id: l.id,
  prompt: sql<string | null>`left(${g.prompt}, ${PROMPT_BEGINNING})`,
  error: g.error,
  keyKind: k.kind,
  keyName: k.name,
  keyHint: k.hint,
  slug: sql<string | null>`(SELECT ${i.slug} FROM ${i}
    WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL ORDER BY ${i.idx} LIMIT 1)`,
}

export const spendingStore = ({ orm, pool }: Database): SpendingStore => ({
  async entries(accountId, { limit, after: [before] = [] }) {
    const rows = await orm
      .select(ENTRY)
      .from(l)
      .leftJoin(g, eq(g.id, l.generationId))
      .leftJoin(k, eq(k.id, g.apiKeyId))
      .where(and(eq(l.userId, accountId), before === undefined ? undefined : lt(l.id, before)))
      .orderBy(desc(l.id))
      .limit(limit + 1)
    const toEntry = ({ id: _, ...entry }: (typeof rows)[number]) => entry
    return pageOf(rows, limit, toEntry, ({ id }) => [id])
  },

  days: (accountId) => DAYS.rows(pool, { accountId }),
})
