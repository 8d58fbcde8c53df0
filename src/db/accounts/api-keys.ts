import { and, eq, ne, sql } from 'drizzle-orm'
import type { Database } from '../client.js'
import { apiKeys as k, modelVersions as m, usage } from '../schema/generations.js'
import { columns, param, type RowOf, selectAs, statement } from '../statement.js'

const KEY_USAGE = {
  ...{ keyId: k.id, keyName: k.name, hint: k.hint },
  ...{ modelVersionId: m.id, modelName: m.modelName, modelVersionName: m.name },
  images: sql<number>`used.images`,
}

const USAGE = statement<RowOf<typeof KEY_USAGE>>('usage_of_keys')`
  SELECT ${selectAs(KEY_USAGE)}
    FROM (SELECT ${usage.apiKeyId}, ${usage.modelVersionId}, count(*) AS images FROM ${usage}
           WHERE ${usage.userId} = ${param('userId')}
             AND ${usage.createdAt} >= coalesce(${param('since')}::timestamptz, '-infinity')
             AND ${usage.createdAt} < coalesce(${param('until')}::timestamptz, 'infinity')
           GROUP BY ${usage.apiKeyId}, ${usage.modelVersionId}) used
    JOIN ${k} ON ${k.id} = used.api_key_id
    JOIN ${m} ON ${m.id} = used.model_version_id
   ORDER BY ${k.createdAt}, ${k.id}, lower(${m.modelName}) COLLATE "C", ${m.id}`

type NewApiKey = Pick<typeof k.$inferInsert, 'userId' | 'kind' | 'name' | 'hash' | 'hint' | 'concurrency'>

export const operatorKeyStore = ({ orm, pool }: Database) => ({
  /** `concurrency` is for developer keys; undefined means the table's default. */
  async create(key: NewApiKey): Promise<string> {
    const [row] = await orm.insert(k).values(key).returning(columns(k, 'id'))
    if (!row) throw new Error('Postgres did not return the ID of the new key: try again.')
    return row.id
  },

  /** Oldest first, revoked ones too; not the website's own. */
  list: (userId: string) =>
    orm
      .select(columns(k, 'id', 'kind', 'name', 'hint', 'concurrency', 'createdAt', 'lastUsedAt', 'revokedAt'))
      .from(k)
      .where(and(eq(k.userId, userId), ne(k.kind, 'website')))
      .orderBy(k.createdAt, k.id),

  /** Every replica refuses the key from the next request on. Resolves to its first revocation; undefined: no such key. */
  async revoke(id: string): Promise<Date | undefined> {
    const revokedAt = sql`coalesce(${k.revokedAt}, now())`
    const [row] = await orm
      .update(k)
      .set({ revokedAt })
      .where(and(eq(k.id, id), ne(k.kind, 'website')))
      .returning(columns(k, 'revokedAt'))
    return row?.revokedAt ?? undefined
  },

  /** Images made with developer keys, from `since` until before `until`. */
  usage: (userId: string, since: Date | undefined, until: Date | undefined) =>
    USAGE.rows(pool, { userId, since, until }),
})
