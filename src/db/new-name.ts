import { and, eq, isNull, sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { users as u } from './schema/generations.js'
import { readingOf } from './schema/name-reading.js'
import { columns } from './statement.js'

/** Whether nobody has a name that reads like this one; until the transaction ends nobody else gets one that does. */
export async function reserveName(tx: Pick<NodePgDatabase, 'select' | 'execute'>, username: string): Promise<boolean> {
  const reading = readingOf(sql`${username}::text`)
  // No unique index: operators may give such names. In a statement of its own: the next one sees what was made meanwhile.
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${reading}, 0))`)
  const isAlike = and(eq(readingOf(u.username), reading), isNull(u.deletedAt))
  return (await tx.select(columns(u, 'id')).from(u).where(isAlike).limit(1)).length === 0
}
