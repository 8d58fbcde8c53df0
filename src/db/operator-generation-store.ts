import { and, desc, eq, inArray, type SQL } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/pg-core'
import type { GenerationStatus } from '../generation/generation.js'
import type { Database } from './client.js'
import { apiKeys, creditLedger, generations, images, users } from './schema.js'

export interface GenerationFilter {
  readonly status: GenerationStatus | undefined
  readonly userId: string | undefined
  readonly limit: number
}

const LISTED = {
  seq: generations.seq,
  id: generations.id,
  status: generations.status,
  username: users.username,
  lane: generations.lane,
  metered: generations.metered,
  modelVersionId: generations.modelVersionId,
  modelName: generations.modelName,
  batchSize: generations.batchSize,
  cost: generations.cost,
  error: generations.error,
  createdAt: generations.createdAt,
  startedAt: generations.startedAt,
  finishedAt: generations.finishedAt,
}

export const operatorGenerationStore = ({ orm }: Database) => ({
  /** Newest first; of any user, deleted ones too. Each way reads one index from its end, however many there are. */
  list({ status, userId, limit }: GenerationFilter) {
    const which = (where: SQL | undefined) =>
      orm.select(LISTED).from(generations).innerJoin(users, eq(users.id, generations.userId)).where(where)
    if (userId) {
      const filter = and(eq(generations.userId, userId), status && eq(generations.status, status))
      return which(filter).orderBy(desc(generations.createdAt), desc(generations.seq)).limit(limit)
    }
    const newest = (of: GenerationStatus) =>
      which(eq(generations.status, of)).orderBy(desc(generations.seq)).limit(limit)
    if (status) return newest(status)
    return unionAll(newest('queued'), newest('processing'), newest('succeeded'), newest('failed'))
      .orderBy(desc(generations.seq))
      .limit(limit)
  },

  async find(id: string) {
    const [row] = await orm
      .select({ generation: generations, username: users.username, key: apiKeys })
      .from(generations)
      .innerJoin(users, eq(users.id, generations.userId))
      .innerJoin(apiKeys, eq(apiKeys.id, generations.apiKeyId))
      .where(eq(generations.id, id))
    if (!row) return undefined
    const pictures = await orm.select().from(images).where(eq(images.generationId, id)).orderBy(images.idx)
    const entries = await orm
      .select()
      .from(creditLedger)
      .where(eq(creditLedger.generationId, id))
      .orderBy(creditLedger.id)
    return { ...row, pictures, entries }
  },

  async statusOf(id: string): Promise<GenerationStatus | undefined> {
    const [row] = await orm.select({ status: generations.status }).from(generations).where(eq(generations.id, id))
    return row?.status
  },

  /** Queued and processing ones, charged or metered. */
  async activeOf(userId: string): Promise<string[]> {
    const rows = await orm
      .select({ id: generations.id })
      .from(generations)
      .where(and(eq(generations.userId, userId), inArray(generations.status, ['queued', 'processing'])))
    return rows.map(({ id }) => id)
  },
})

export type FoundGeneration = NonNullable<Awaited<ReturnType<ReturnType<typeof operatorGenerationStore>['find']>>>
