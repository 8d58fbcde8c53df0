import { type SQL, sql } from 'drizzle-orm'
import type { EndedGeneration } from '../generation/ports.js'
import type { Orm } from './client.js'

/**
 * Ends generations as failed and gives their credits back, in one statement: the only place where that happens.
 * @param which condition over `g` (generations); rows that have ended are never touched
 * @param reason one sentence for the subscriber, as SQL over `g`
 */
export async function failGenerations(orm: Orm, which: SQL, reason: SQL, refund: boolean): Promise<EndedGeneration[]> {
  // Each user appears at most once among the charged rows (the unique index on active ones), so the join adds up.
  const { rows } = await orm.execute<{
    id: string
    user_id: string
    attempt: number
    metered: boolean
    leftovers: string[]
  }>(sql`
    WITH ended AS (
      UPDATE generations g
         SET status = 'failed', error = ${reason}, finished_at = now(), lease_until = NULL
       WHERE g.status IN ('queued', 'processing') AND (${which})
      RETURNING g.id, g.user_id, g.cost, g.attempt, g.metered,
        CASE WHEN g.started_at IS NULL THEN '{}' ELSE g.slugs END AS leftovers
    ), given AS (
      UPDATE users u SET credits = u.credits + ended.cost FROM ended
       WHERE u.id = ended.user_id AND NOT ended.metered AND ${refund}::boolean
      RETURNING u.id AS user_id, u.credits, ended.id, ended.cost
    ), entered AS (
      INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id)
      SELECT user_id, 'refund', cost, credits, id FROM given
    )
    SELECT id, user_id, attempt, metered, leftovers, pg_notify('generation_finished', id) FROM ended`)
  return rows.map(({ user_id: accountId, id, attempt, metered, leftovers }) => ({
    id,
    accountId,
    attempt,
    metered,
    leftovers,
  }))
}
