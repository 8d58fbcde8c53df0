import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { ApiKeyKind } from '../account/account.js'
import type { Database } from './client.js'
import { apiKeys, modelVersions, usage } from './schema.js'
import { named, param, pick, statement } from './statement.js'

interface NewApiKey {
  readonly userId: string
  readonly kind: ApiKeyKind
  readonly name: string
  readonly hash: Buffer
  readonly hint: string
  /** Developer keys; the table's default for the others, which it means nothing to. */
  readonly concurrency: number | undefined
}

export const operatorKeyStore = ({ orm }: Database) => ({
  async create({ concurrency, ...key }: NewApiKey): Promise<string> {
    const values = { ...key, ...(concurrency !== undefined && { concurrency }) }
    const [row] = await orm.insert(apiKeys).values(values).returning(pick(apiKeys, 'id'))
    if (!row) throw new Error('Postgres stored the key without saying so: try again.')
    return row.id
  },

  /** Oldest first, revoked ones too. */
  list: (userId: string) =>
    orm
      .select(pick(apiKeys, 'id', 'kind', 'name', 'hint', 'concurrency', 'createdAt', 'lastUsedAt', 'revokedAt'))
      .from(apiKeys)
      .where(eq(apiKeys.userId, userId))
      .orderBy(apiKeys.createdAt, apiKeys.id),

  /** Refused from the next request on, on every replica. Resolves to when it was revoked first; undefined: no such key. */
  async revoke(id: string): Promise<Date | undefined> {
    const [row] = await orm
      .update(apiKeys)
      .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, now())` })
      .where(eq(apiKeys.id, id))
      .returning(pick(apiKeys, 'revokedAt'))
    return row?.revokedAt ?? undefined
  },
})

interface KeyUsage {
  readonly keyId: string
  readonly keyName: string
  readonly hint: string
  readonly modelVersionId: number
  readonly modelName: string
  readonly modelVersionName: string
  readonly images: number
}

const k = alias(apiKeys, 'k')
const m = alias(modelVersions, 'm')

const USAGE = statement<KeyUsage>('usage_of_keys')`
  SELECT ${named({
    ...{ keyId: k.id, keyName: k.name, hint: k.hint },
    ...{ modelVersionId: m.id, modelName: m.modelName, modelVersionName: m.name },
    images: sql`used.images`,
  })}
    FROM (SELECT ${usage.apiKeyId}, ${usage.modelVersionId}, count(*) AS images FROM ${usage}
           WHERE ${usage.userId} = ${param('userId')}
             AND ${usage.createdAt} >= coalesce(${param('since')}::timestamptz, '-infinity')
             AND ${usage.createdAt} < coalesce(${param('until')}::timestamptz, 'infinity')
           GROUP BY ${usage.apiKeyId}, ${usage.modelVersionId}) used
    JOIN ${apiKeys} ${k} ON ${k.id} = used.api_key_id
    JOIN ${modelVersions} ${m} ON ${m.id} = used.model_version_id
   ORDER BY ${k.createdAt}, ${k.id}, lower(${m.modelName}) COLLATE "C", ${m.id}`

export const operatorUsageStore = ({ pool }: Database) => ({
  /** Images made with developer keys, from `since` until before `until`. */
  of: (userId: string, since: Date | undefined, until: Date | undefined): Promise<KeyUsage[]> =>
    USAGE.rows(pool, { userId, since, until }),
})
