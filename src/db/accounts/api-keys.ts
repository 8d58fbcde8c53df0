import { and, eq, inArray, isNull, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { OwnKey, OwnKeyStore } from '../../core/accounts/api-key.js'
import type { KeyHolder, KeyUsage, OperatorKeys } from '../../core/operator/keys.js'
import { type Database, withTransaction } from '../client.js'
import { apiKeys as k, subscriptions as s, users as u } from '../schema/accounts.js'
import { modelVersions as m } from '../schema/catalog.js'
import { allGenerations as g } from '../schema/generations.js'
import { allUsage as usage } from '../schema/ledger.js'
import { SINCE_FIRST_DAY, SINCE_THIS_MONTH, SPENT_ON, spentThisMonth } from '../spending.js'
import { columns, insertInto, param, type RowOf, selectAs, setList, statement, typedParams } from '../statement.js'
import { STATUS_NOW } from './subscriptions.js'

const KEY_USAGE = {
  ...{ keyId: k.id, kind: sql<KeyUsage['kind']>`${k.kind}`, keyName: k.name, hint: k.hint },
  ...{ modelVersionId: m.id, modelName: m.modelName, modelVersionName: m.name },
  images: sql<number>`used.images`,
  credits: sql<number>`used.credits`,
}
const isInTime = (at: SQLWrapper) => sql`${at} >= coalesce(${param('since')}::timestamptz, '-infinity')
             AND ${at} < coalesce(${param('until')}::timestamptz, 'infinity')`

const USAGE = statement<RowOf<typeof KEY_USAGE>>('usage_of_keys')`
  SELECT ${selectAs(KEY_USAGE)}
    FROM (SELECT ${usage.apiKeyId}, ${usage.modelVersionId}, count(*) AS images, 0::bigint AS credits FROM ${usage}
           WHERE ${usage.userId} = ${param('userId')}::uuid AND ${isInTime(usage.createdAt)}
           GROUP BY ${usage.apiKeyId}, ${usage.modelVersionId}
          UNION ALL
          SELECT api_key_id, model_version_id, sum(images)::bigint, sum(spent)::bigint
            FROM (SELECT ${g.apiKeyId}, ${g.modelVersionId}, ${SPENT_ON} AS spent,
                         CASE ${g.status} WHEN 'succeeded' THEN ${g.batchSize} ELSE 0 END AS images
                    FROM ${g}
                   WHERE ${g.userId} = ${param('userId')}::uuid AND NOT ${g.metered} AND ${isInTime(g.createdAt)}) charged
           GROUP BY api_key_id, model_version_id HAVING sum(images) > 0 OR sum(spent) > 0) used
    JOIN ${k} ON ${k.id} = used.api_key_id
    JOIN ${m} ON ${m.id} = used.model_version_id
   ORDER BY ${k.createdAt}, ${k.id}, lower(${m.modelName}) COLLATE "C", ${m.id}`

export const operatorKeyStore = ({ orm, pool }: Database): OperatorKeys => ({
  async create({ models, ...key }) {
    const [row] = await orm
      .insert(k)
      .values({ ...key, models: models && [...models] })
      .returning(columns(k, 'id'))
    if (!row) throw new Error('Postgres did not return the ID of the new key: try again.')
    return row.id
  },

  list: (userId) =>
    orm
      .select({
        ...columns(k, 'id', 'kind', 'name', 'hint', 'scope', 'concurrency', 'createdAt', 'lastUsedAt', 'revokedAt'),
        ...LIMITS,
        spentThisMonth: spentThisMonth(sql`${k.userId}`, sql`${k.id}`).mapWith(Number) as SQL<number>,
      })
      .from(k)
      .where(and(eq(k.userId, userId), ne(k.kind, 'website')))
      .orderBy(k.createdAt, k.id),

  async change(id, { models, ...change }) {
    const [row] = await orm
      .update(k)
      .set({ ...change, ...(models !== undefined && { models: models && [...models] }) })
      .from(u)
      .where(and(eq(k.id, id), ne(k.kind, 'website'), isNull(k.revokedAt), eq(u.id, k.userId)))
      .returning({ kind: k.kind, username: u.username, role: u.role })
    return row
  },

  async revoke(id) {
    const row = await REVOKE.first(pool, { id })
    return row?.revokedAt ? { ...row, revokedAt: row.revokedAt } : undefined
  },

  usage: (userId, since, until) => USAGE.rows(pool, { userId, since, until }),
})

const REVOKE = statement<KeyHolder & { revokedAt: Date | null; isNew: boolean }>('revoke_key')`
  UPDATE ${k} SET ${setList(k, { revokedAt: sql`coalesce(${k.revokedAt}, now())` })}
    FROM ${u}, (SELECT ${k.revokedAt} AS before FROM ${k} WHERE ${k.id} = ${param('id')}::uuid FOR UPDATE) found
   WHERE ${k.id} = ${param('id')}::uuid AND ${k.kind} <> 'website' AND ${u.id} = ${k.userId}
  RETURNING ${u.username}, ${u.role}, ${k.revokedAt} AS "revokedAt", found.before IS NULL AS "isNew"`

const ACCOUNT = sql`${param('accountId')}::uuid`

// The user's row is the lock: two requests count one after the other. No row: the account was deleted.
const LOCK_SUBSCRIBER = statement<{ status: string | null }>('lock_subscriber_for_keys')`
  SELECT ${STATUS_NOW} AS status FROM ${u} LEFT JOIN ${s} ON ${s.userId} = ${u.id}
   WHERE ${u.id} = ${ACCOUNT} AND ${u.deletedAt} IS NULL FOR NO KEY UPDATE OF ${u}`

const COUNT = statement<{ keys: number }>('count_own_keys')`
  SELECT count(*) AS keys FROM ${k} WHERE ${k.userId} = ${ACCOUNT} AND ${k.kind} = 'personal' AND ${k.revokedAt} IS NULL`

const CREATE = statement('create_own_key')`
  ${insertInto(k, { userId: ACCOUNT, kind: 'personal', ...typedParams(k, 'name', 'hash', 'hint', 'expiresAt', 'monthlyLimit', 'models') })}`

const LIMITS = columns(k, 'expiresAt', 'monthlyLimit', 'models')
const SPENT_BY_KEY = sql`
  SELECT ${g.apiKeyId}, ${SPENT_ON} AS spent, ${g.createdAt} >= ${SINCE_FIRST_DAY} AS is_recent,
         ${g.createdAt} >= ${SINCE_THIS_MONTH} AS is_of_month
    FROM ${g} WHERE ${g.userId} = ${ACCOUNT} AND NOT ${g.metered}
     AND ${g.createdAt} >= least(${SINCE_FIRST_DAY}, ${SINCE_THIS_MONTH})`

const LIST = statement<OwnKey>('list_own_keys')`
  SELECT ${selectAs({ ...columns(k, 'id', 'kind', 'name', 'hint', 'createdAt', 'lastUsedAt'), ...LIMITS })},
         coalesce(by_key.spent, 0) AS spent, coalesce(by_key.spent_this_month, 0) AS "spentThisMonth"
    FROM ${k} LEFT JOIN (
      SELECT api_key_id, sum(spent) FILTER (WHERE is_recent)::bigint AS spent,
             sum(spent) FILTER (WHERE is_of_month)::bigint AS spent_this_month
        FROM (${SPENT_BY_KEY}) recent GROUP BY api_key_id
    ) by_key ON by_key.api_key_id = ${k.id}
   WHERE ${k.userId} = ${ACCOUNT} AND ${k.kind} IN ('personal', 'developer') AND ${k.revokedAt} IS NULL
   ORDER BY ${k.kind} DESC, ${k.createdAt} DESC, ${k.id}`

export const ownKeyStore = (db: Database): OwnKeyStore => {
  const { orm, pool } = db
  return {
    list: (accountId) => LIST.rows(pool, { accountId }),

    create: (accountId, key, limit) =>
      withTransaction(db, async (_tx, client) => {
        const subscriber = await LOCK_SUBSCRIBER.first(client, { accountId })
        if (subscriber?.status !== 'active') return 'no_subscription'
        const held = await COUNT.first(client, { accountId })
        if (!held || held.keys >= limit) return 'too_many'
        await CREATE.run(client, { accountId, ...key })
        return 'created'
      }),

    async change(accountId, id, { models, ...change }) {
      const own = and(eq(k.id, id), eq(k.userId, accountId), eq(k.kind, 'personal'), isNull(k.revokedAt))
      const set = { ...change, ...(models !== undefined && { models: models && [...models] }) }
      return (await orm.update(k).set(set).where(own)).rowCount === 1
    },

    async revoke(accountId, id) {
      const own = and(eq(k.id, id), eq(k.userId, accountId), inArray(k.kind, ['personal', 'developer']))
      return (
        (
          await orm
            .update(k)
            .set({ revokedAt: sql`coalesce(${k.revokedAt}, now())` })
            .where(own)
        ).rowCount === 1
      )
    },
  }
}
