import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { RefusedPromptLog, RepeatedRefusals } from '../../core/operator/refused-prompts.js'
import { pageById } from '../../lib/page.js'
import type { Database } from '../client.js'
import { users as u } from '../schema/accounts.js'
import { refusedPrompts as r } from '../schema/operator.js'
import { columns, param, setList, statement } from '../statement.js'

const MARK_WRONG = statement<{ username: string; isNew: boolean }>('mark_refusal_wrong')`
  UPDATE ${r} SET ${setList(r, {
    wrongAt: sql`coalesce(${r.wrongAt}, now())`,
    wrongBy: sql`coalesce(${r.wrongBy}, ${param('by')}::text)`,
  })}
    FROM ${u}, (SELECT ${r.wrongAt} AS before FROM ${r} WHERE ${r.id} = ${param('id')}::bigint FOR UPDATE) found
   WHERE ${r.id} = ${param('id')}::bigint AND ${u.id} = ${r.userId}
  RETURNING ${u.username}, found.before IS NULL AS "isNew"`

/** How many of the latest refusals tell which categories there are. */
const LATEST = 2000
const CATEGORIES = statement<{ category: string }>('categories_of_refusals')`
  SELECT DISTINCT category FROM (SELECT ${r.category} FROM ${r} ORDER BY ${r.id} DESC LIMIT ${LATEST}) latest
   ORDER BY category`

/** How many of the latest refusals are counted: no index has the category or the time. */
const COUNTED = 100_000
const REPEATED = statement<RepeatedRefusals>('repeated_refusals')`
  SELECT ${u.username}, count(*)::int AS count, min(latest.at) AS "firstAt", max(latest.at) AS "lastAt"
    FROM (SELECT ${r.userId}, ${r.at}, ${r.category}, ${r.wrongAt} FROM ${r} ORDER BY ${r.id} DESC LIMIT ${COUNTED}) latest
    JOIN ${u} ON ${u.id} = latest.user_id
   WHERE latest.category LIKE '%minors%' AND latest.wrong_at IS NULL AND latest.at > now() - interval '30 days'
     AND ${u.deletedAt} IS NULL
   GROUP BY ${u.id} HAVING count(*) > 1 ORDER BY count DESC, "lastAt" DESC LIMIT ${param('limit')}::int`

export const refusedPromptLog = ({ orm, pool }: Database): RefusedPromptLog => ({
  async list({ category, accountId }, { limit, after: [before] = [] }) {
    const rows = await orm
      .select({
        ...columns(r, 'id', 'at', 'parameter', 'category', 'matched', 'prompt', 'wrongAt', 'wrongBy'),
        username: u.username,
      })
      .from(r)
      .innerJoin(u, eq(u.id, r.userId))
      .where(
        and(
          category === undefined ? undefined : eq(r.category, category),
          accountId === undefined ? undefined : eq(r.userId, accountId),
          before === undefined ? undefined : lt(r.id, before),
        ),
      )
      .orderBy(desc(r.id))
      .limit(limit + 1)
    return pageById(rows, limit)
  },

  categories: async () => (await CATEGORIES.rows(pool)).map(({ category }) => category),

  repeated: (limit) => REPEATED.rows(pool, { limit }),

  markWrong: (id, by) => MARK_WRONG.first(pool, { id, by }),
})
