import { type SQL, sql } from 'drizzle-orm'
import type { EndedGeneration } from '../generation/cancel.js'
import { type Orm, sqlState } from './client.js'

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
    reason: string
    leftovers: string[]
  }>(sql`
    WITH ended AS (
      UPDATE generations g
         SET status = 'failed', error = ${reason}, finished_at = greatest(now(), g.created_at, g.started_at),
             lease_until = NULL
       WHERE g.status IN ('queued', 'processing') AND (${which})
      RETURNING g.id, g.user_id, g.cost, g.attempt, g.metered, g.finished_at, g.error AS reason,
        CASE WHEN g.started_at IS NULL THEN '{}' ELSE g.slugs END AS leftovers
    ), given AS (
      UPDATE users u SET credits = u.credits + ended.cost FROM ended
       WHERE u.id = ended.user_id AND NOT ended.metered AND ${refund}::boolean
      RETURNING u.id AS user_id, u.credits, ended.id, ended.cost, ended.finished_at
    ), entered AS (
      INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, created_at)
      SELECT user_id, 'refund', cost, credits, id, finished_at FROM given
    )
    SELECT id, user_id, attempt, metered, reason, leftovers, pg_notify('generation_finished', id) FROM ended`)
  return rows.map(({ user_id: accountId, id, attempt, metered, reason, leftovers }) => ({
    id,
    accountId,
    attempt,
    metered,
    reason,
    leftovers,
  }))
}

const PAGE = 200
/** At a time; the rest waits for the next time. */
const PAGES = 10
/** What cannot be ended is left alone for so long, or it would hold up all others again and again. */
const SET_ASIDE_MS = 60_000

export interface Failing {
  /** As in `failGenerations`. */
  readonly which: SQL
  readonly reason: SQL
  /** Over `g`: what comes first; an index should have it. */
  readonly order: SQL
}

/**
 * Ends however many generations there are, a page at a time. One whose row or whose user's row is locked is left for the
 * next time; one that cannot be ended (`onStuck`) is set aside, so that the others are.
 */
export function failingInPages(
  orm: Orm,
  refund: boolean,
  onStuck: (error: unknown, id: string) => void,
): (failing: Failing) => Promise<EndedGeneration[]> {
  const setAside = new Map<string, number>()

  return async ({ which, reason, order }) => {
    for (const [id, until] of setAside) if (performance.now() > until) setAside.delete(id)
    // The rows are locked in here, those of the users too: what another transaction holds is passed over, not waited for.
    const first = (count: number, condition: SQL) => sql`
      SELECT g.id FROM generations g JOIN users u ON u.id = g.user_id
       WHERE g.status IN ('queued', 'processing') AND (${which}) AND (${condition})
       ORDER BY ${order} LIMIT ${count}`
    const end = (count: number, condition: SQL) =>
      failGenerations(
        orm,
        sql`g.id = ANY (ARRAY(${first(count, condition)} FOR NO KEY UPDATE OF g, u SKIP LOCKED))`,
        reason,
        refund,
      )

    /** One by one, since one of them spoils the page. */
    const endEach = async (condition: SQL): Promise<EndedGeneration[]> => {
      const { rows } = await orm.execute<{ id: string }>(first(PAGE, condition))
      const ended: EndedGeneration[] = []
      for (const { id } of rows) {
        try {
          ended.push(...(await end(1, sql`g.id = ${id}`)))
        } catch (error) {
          if (!isOfRow(error)) throw error
          setAside.set(id, performance.now() + SET_ASIDE_MS)
          onStuck(error, id)
        }
      }
      return ended
    }

    const ended: EndedGeneration[] = []
    try {
      for (let page = 1; page <= PAGES; page++) {
        const condition = sql`g.id <> ALL (${sql.param([...setAside.keys()])}::text[])`
        let spoiled = false
        const its = await end(PAGE, condition).catch((error) => {
          if (!isOfRow(error)) throw error
          spoiled = true
          return endEach(condition)
        })
        ended.push(...its)
        if (!spoiled && its.length < PAGE) break
      }
    } catch (error) {
      // What has been ended must be told of; the next time meets the error again.
      if (ended.length === 0) throw error
    }
    return ended
  }
}

/**
 * Whether another row might fare better: bad data, a constraint, a trigger, a lock. Not after a time-out: Postgres may have
 * stood still, and what has run out meanwhile is no longer to be judged at once.
 */
const isOfRow = (error: unknown): boolean => /^(22|23|40|P0|55P03)/.test(sqlState(error) ?? '')
