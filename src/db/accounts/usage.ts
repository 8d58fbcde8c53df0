import { sql } from 'drizzle-orm'
import type { Usage, UsageStore } from '../../core/accounts/usage.js'
import type { ReadDatabase } from '../read-replica.js'
import { apiKeys as k } from '../schema/accounts.js'
import { modelVersions as m } from '../schema/catalog.js'
import { allGenerations as g } from '../schema/generations.js'
import { dayName, dayOf, isInSpan, monthInSpan, REFUND } from '../spending.js'
import { columns, param, selectAs, statement } from '../statement.js'

const USAGE = {
  day: dayName(sql`used.day`),
  ...{ keyId: k.id, keyName: k.name, keyHint: k.hint, modelVersionId: m.id },
  ...columns(m, 'modelName'),
  ...{ generations: sql`used.generations`, images: sql`used.images`, credits: sql`used.credits` },
}

const IN_SPAN = sql`${g.userId} = ${param('accountId')} AND ${isInSpan(g.createdAt)} AND ${monthInSpan(g)}`
const GROUP = sql`${dayOf(g.createdAt)} AS day, ${g.apiKeyId}, ${g.modelVersionId}`

// The first part reads nothing but the index generations_usage, whose condition it repeats; only what has failed needs a look
// at its rows and at the ledger.
// It adds up before it joins: there are many generations, and few days, keys and models.
const OF_ACCOUNT = statement<Usage>('usage_of_account')`
  SELECT ${selectAs(USAGE)}
    FROM (
      SELECT day, api_key_id, model_version_id, sum(generations)::bigint AS generations, sum(images)::bigint AS images,
             sum(credits)::bigint AS credits
        FROM (
          SELECT ${GROUP}, count(*) AS generations,
                 coalesce(sum(${g.batchSize}) FILTER (WHERE ${g.status} = 'succeeded'), 0) AS images, sum(${g.cost}) AS credits
            FROM ${g} WHERE ${IN_SPAN} AND ${g.cost} >= 0 GROUP BY day, ${g.apiKeyId}, ${g.modelVersionId}
          UNION ALL
          SELECT ${GROUP}, 0, 0, -sum(${REFUND}) FROM ${g}
           WHERE ${IN_SPAN} AND ${g.status} = 'failed' GROUP BY day, ${g.apiKeyId}, ${g.modelVersionId}
        ) parts GROUP BY day, api_key_id, model_version_id) used
    JOIN ${k} ON ${k.id} = used.api_key_id
    JOIN ${m} ON ${m.id} = used.model_version_id
   ORDER BY used.day, ${k.createdAt}, ${k.id}, lower(${m.modelName}) COLLATE "C", ${m.id}`

/** Reads the account's generations of the span by one index. */
export const usageStore = ({ pool }: ReadDatabase): UsageStore => ({
  of: (accountId, span) => OF_ACCOUNT.rows(pool, { accountId, ...span }),
})
