import { eq, sql } from 'drizzle-orm'
import type { ApiKeyKind } from '../account/account.js'
import type { Database } from './client.js'
import { apiKeys } from './schema.js'

export interface NewApiKey {
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
    const [row] = await orm.insert(apiKeys).values(values).returning({ id: apiKeys.id })
    if (!row) throw new Error('Postgres stored the key without saying so: try again.')
    return row.id
  },

  /** Oldest first, revoked ones too. */
  list: (userId: string) =>
    orm
      .select({
        id: apiKeys.id,
        kind: apiKeys.kind,
        name: apiKeys.name,
        hint: apiKeys.hint,
        concurrency: apiKeys.concurrency,
        createdAt: apiKeys.createdAt,
        lastUsedAt: apiKeys.lastUsedAt,
        revokedAt: apiKeys.revokedAt,
      })
      .from(apiKeys)
      .where(eq(apiKeys.userId, userId))
      .orderBy(apiKeys.createdAt, apiKeys.id),

  /** Refused from the next request on, on every replica. Resolves to when it was revoked first; undefined: no such key. */
  async revoke(id: string): Promise<Date | undefined> {
    const [row] = await orm
      .update(apiKeys)
      .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, now())` })
      .where(eq(apiKeys.id, id))
      .returning({ revokedAt: apiKeys.revokedAt })
    return row?.revokedAt ?? undefined
  },
})
