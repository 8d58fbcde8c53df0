import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { CancelStore, EndedGeneration } from '../generation/cancel.js'
import { type Database, sqlState } from './client.js'
import { FINISHED } from './notices.js'
import { creditLedger, generations, users } from './schema.js'
import { assign, insertInto, named, param, pick, type Queryable, type Statement, statement } from './statement.js'

const g = alias(generations, 'g')
const u = alias(users, 'u')
const ACTIVE = sql`${g.status} IN ('queued', 'processing')`

/**
 * Ends generations as failed and gives their credits back, in one statement: the only place where that happens. Its
 * parameter `refund` says whether they are given back.
 * @param which condition over `g` (generations); rows that have ended are never touched
 * @param reason one sentence for the subscriber, as SQL over `g`
 */
export const failStatement = (name: string, which: SQL, reason: SQL): Statement<EndedGeneration> =>
  // Each user appears at most once among the charged rows (the unique index on active ones), so the join adds up.
  statement<EndedGeneration>(name)`
    WITH ended AS (
      UPDATE ${generations} ${g} SET ${assign(g, {
        status: 'failed',
        error: reason,
        finishedAt: sql`greatest(now(), ${g.createdAt}, ${g.startedAt})`,
        leaseUntil: null,
      })}
       WHERE ${ACTIVE} AND (${which})
      RETURNING ${named({
        ...pick(g, 'id', 'attempt', 'metered', 'cost', 'finishedAt'),
        accountId: g.userId,
        reason: g.error,
        leftovers: sql`CASE WHEN ${g.startedAt} IS NULL THEN '{}' ELSE ${g.slugs} END`,
      })}
    ), given AS (
      UPDATE ${users} ${u} SET ${assign(u, { credits: sql`${u.credits} + ended.cost` })} FROM ended
       WHERE ${u.id} = ended."accountId" AND NOT ended.metered AND ${param('refund')}::boolean
      RETURNING ${u.credits}, ended.*
    ), entered AS (
      ${insertInto(creditLedger, {
        userId: sql`given."accountId"`,
        kind: 'refund',
        delta: sql`given.cost`,
        balance: sql`given.credits`,
        generationId: sql`given.id`,
        createdAt: sql`given."finishedAt"`,
      })} FROM given
    )
    SELECT id, "accountId", attempt, metered, reason, leftovers FROM ended, pg_notify(${FINISHED}, id)`

/** Runs such a statement. */
export const failGenerations = (
  on: Queryable,
  failing: Statement<EndedGeneration>,
  values: { readonly refund: boolean } & Readonly<Record<string, unknown>>,
): Promise<EndedGeneration[]> => failing.rows(on, values)

const OF_ID = sql`${g.id} = ${param('id')}`
const REASON = sql`${param('reason')}::text`
const CANCEL = failStatement('cancel_generation', OF_ID, REASON)
const CANCEL_QUEUED = failStatement('cancel_queued_generation', sql`${OF_ID} AND ${g.status} = 'queued'`, REASON)

/** Cancellations always give the credits back, whatever REFUND_FAILED says: nobody failed. */
export const cancelStore = ({ pool }: Database): CancelStore => ({
  async cancel(id, reason, { onlyQueued }) {
    const [ended] = await failGenerations(pool, onlyQueued ? CANCEL_QUEUED : CANCEL, { id, reason, refund: true })
    return ended
  },
})

const PAGE = 200
/** At a time; the rest waits for the next time. */
const PAGES = 10
/** What cannot be ended is left alone for so long, or it would hold up all others again and again. */
const SET_ASIDE_MS = 60_000

/** The statements that end the generations of one rule. */
export interface FailureRule {
  readonly page: Statement<EndedGeneration>
  readonly one: Statement<EndedGeneration>
  /** The page's, only looked at. */
  readonly ids: Statement<{ readonly id: string }>
}

/**
 * @param which as in `failStatement`, like `reason`
 * @param order over `g`: what comes first; an index should have it
 */
export function failureRule(name: string, which: SQL, reason: SQL, order: SQL): FailureRule {
  const select = (count: number, condition: SQL) => sql`
    SELECT ${g.id} FROM ${generations} ${g} JOIN ${users} ${u} ON ${u.id} = ${g.userId}
     WHERE ${ACTIVE} AND (${which}) AND (${condition}) ORDER BY ${order} LIMIT ${count}`
  // The rows are locked in here, those of the users too: what another transaction holds is passed over, not waited for.
  const locked = (selected: SQL) => sql`${g.id} = ANY (ARRAY(${selected} FOR NO KEY UPDATE OF ${g}, ${u} SKIP LOCKED))`
  const page = select(PAGE, sql`${g.id} <> ALL (${param('setAside')}::text[])`)
  return {
    page: failStatement(name, locked(page), reason),
    one: failStatement(`${name}_one`, locked(select(1, OF_ID)), reason),
    ids: statement<{ readonly id: string }>(`${name}_ids`)`${page}`,
  }
}

/**
 * Ends however many generations there are, a page at a time. One whose row or whose user's row is locked is left for the
 * next time; one that cannot be ended (`onStuck`) is set aside, so that the others are.
 */
export function failingInPages(
  on: Queryable,
  refund: boolean,
  onStuck: (error: unknown, id: string) => void,
): (rule: FailureRule) => Promise<EndedGeneration[]> {
  const setAside = new Map<string, number>()

  /** One by one, since one of them spoils the page. */
  const endEach = async (rule: FailureRule, ids: readonly { readonly id: string }[]): Promise<EndedGeneration[]> => {
    const ended: EndedGeneration[] = []
    for (const { id } of ids) {
      try {
        ended.push(...(await failGenerations(on, rule.one, { id, refund })))
      } catch (error) {
        if (!isOfRow(error)) throw error
        setAside.set(id, performance.now() + SET_ASIDE_MS)
        onStuck(error, id)
      }
    }
    return ended
  }

  return async (rule) => {
    for (const [id, until] of setAside) if (performance.now() > until) setAside.delete(id)
    const ended: EndedGeneration[] = []
    try {
      for (let page = 1; page <= PAGES; page++) {
        const values = { setAside: [...setAside.keys()] }
        let spoiled = false
        const ofPage = await failGenerations(on, rule.page, { ...values, refund }).catch(async (error) => {
          if (!isOfRow(error)) throw error
          spoiled = true
          return endEach(rule, await rule.ids.rows(on, values))
        })
        ended.push(...ofPage)
        if (!spoiled && ofPage.length < PAGE) break
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
