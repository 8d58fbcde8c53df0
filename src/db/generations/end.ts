import { type SQL, sql } from 'drizzle-orm'
import type { CancelStore, EndedGeneration } from '../../core/generations/cancel.js'
import type { Database } from '../client.js'
import { FINISHED } from '../notifications.js'
import { users as u } from '../schema/accounts.js'
import { generations as g } from '../schema/generations.js'
import { creditLedger } from '../schema/ledger.js'
import { sqlState } from '../sql-state.js'
import { columns, insertInto, param, type Queryable, selectAs, setList, statement } from '../statement.js'

const IS_ACTIVE = sql`${g.status} IN ('queued', 'processing')`

/** How many of the charge's credits were such that expire: a refund gives back what was spent. */
const EXPIRING_OF_CHARGE = sql`coalesce((SELECT -${creditLedger.expiringDelta} FROM ${creditLedger}
  WHERE ${creditLedger.generationId} = ended.id AND ${creditLedger.kind} = 'charge'), 0)`
/** Of these, what is left when a debt of the account is paid. @param balance after the refund */
const expiringGiven = (balance: SQL) => sql`least(ended.expiring, greatest(${balance}, 0))`

/**
 * Ends generations as failed and, with `refund`, gives their credits back: the only place where that happens.
 * @param which condition over `g` (generations); only active ones are ended
 * @param reason one sentence for the subscriber, as SQL over `g`
 */
export const failStatement = (name: string, which: SQL, reason: SQL) =>
  // Each user appears at most once among the charged rows (the unique index on active ones), so the join adds up.
  statement<EndedGeneration>(name)`
    WITH ended AS (
      UPDATE ${g} SET ${setList(g, {
        status: 'failed',
        error: reason,
        finishedAt: sql`greatest(now(), ${g.createdAt}, ${g.startedAt})`,
        leaseUntil: null,
      })}
       WHERE ${IS_ACTIVE} AND (${which})
      RETURNING ${selectAs({
        ...columns(g, 'id', 'attempt', 'metered', 'cost', 'finishedAt', 'requestId'),
        accountId: g.userId,
        reason: g.error,
        leftovers: sql`CASE WHEN ${g.startedAt} IS NULL THEN '{}' ELSE ${g.slugs} END`,
      })}
    ), given AS (
      UPDATE ${u} SET ${setList(u, {
        credits: sql`${u.credits} + ended.cost`,
        expiringCredits: sql`${u.expiringCredits} + ${expiringGiven(sql`${u.credits} + ended.cost`)}`,
      })} FROM (SELECT ended.*, ${EXPIRING_OF_CHARGE} AS expiring FROM ended) ended
       WHERE ${u.id} = ended."accountId" AND NOT ended.metered AND ${param('refund')}::boolean
      RETURNING ${u.credits}, ${u.expiringCredits}, ${expiringGiven(sql`${u.credits}`)} AS expiring_given, ended.*
    ), entered AS (
      ${insertInto(creditLedger, {
        userId: sql`given."accountId"`,
        kind: 'refund',
        delta: sql`given.cost`,
        balance: sql`given.credits`,
        generationId: sql`given.id`,
        createdAt: sql`given."finishedAt"`,
        expiringDelta: sql`given.expiring_given`,
        expiringBalance: sql`given.expiring_credits`,
      })} FROM given
    )
    SELECT id, "accountId", attempt, metered, "requestId", reason, leftovers,
           coalesce((SELECT given.cost FROM given WHERE given.id = ended.id), 0) AS refunded
      FROM ended, pg_notify(${FINISHED}, id)`

const OF_ID = sql`${g.id} = ${param('id')}`
const REASON = sql`${param('reason')}::text`
const CANCEL = failStatement('cancel_generation', OF_ID, REASON)
const CANCEL_QUEUED = failStatement('cancel_queued_generation', sql`${OF_ID} AND ${g.status} = 'queued'`, REASON)

/** A cancellation always gives the credits back, whatever REFUND_FAILED says. */
export const cancelStore = ({ pool }: Database): CancelStore => ({
  cancel: (id, reason, { onlyQueued }) =>
    (onlyQueued ? CANCEL_QUEUED : CANCEL).first(pool, { id, reason, refund: true }),
})

const FAILED_PER_PAGE = 200
/** Per pass; the next pass ends the rest. */
const PAGES = 10
/** A generation that cannot be ended is left out for this long, so that it does not hold up the others. */
const SET_ASIDE_MS = 60_000

export type FailureRule = ReturnType<typeof failureRule>

/**
 * The statements that end the generations of one rule.
 * @param order over `g`; an index should have it
 */
export function failureRule(name: string, which: SQL, reason: SQL, order: SQL) {
  const select = (count: number, condition: SQL) => sql`
    SELECT ${g.id} FROM ${g} JOIN ${u} ON ${u.id} = ${g.userId}
     WHERE ${IS_ACTIVE} AND (${which}) AND (${condition}) ORDER BY ${order} LIMIT ${count}`
  // Locks the rows here, those of the users too, to skip what another transaction holds instead of waiting for it.
  const locked = (selected: SQL) => sql`${g.id} = ANY (ARRAY(${selected} FOR NO KEY UPDATE OF ${g}, ${u} SKIP LOCKED))`
  const page = select(FAILED_PER_PAGE, sql`${g.id} <> ALL (${param('setAside')}::text[])`)
  return {
    page: failStatement(name, locked(page), reason),
    one: failStatement(`${name}_one`, locked(select(1, OF_ID)), reason),
    /** The IDs of the page. */
    ids: statement<{ readonly id: string }>(`${name}_ids`)`${page}`,
  }
}

/** @param values of the parameters of the rule's condition */
export type FailInPages = (rule: FailureRule, values?: object) => Promise<EndedGeneration[]>

/**
 * Ends the generations of a rule in pages. The next pass ends what is locked, or whose user is locked; a generation
 * that cannot be ended is set aside and reported to `onStuck`.
 */
export function failingInPages(
  on: Queryable,
  refund: boolean,
  onStuck: (error: unknown, id: string) => void,
): FailInPages {
  /** Until when, by ID. */
  const setAside = new Map<string, number>()

  /** One by one, because one of them made the page fail. */
  const endEach = async (rule: FailureRule, values: object): Promise<EndedGeneration[]> => {
    const ended: EndedGeneration[] = []
    for (const { id } of await rule.ids.rows(on, values)) {
      try {
        ended.push(...(await rule.one.rows(on, { ...values, id, refund })))
      } catch (error) {
        if (!isFaultOfRow(error)) throw error
        setAside.set(id, performance.now() + SET_ASIDE_MS)
        onStuck(error, id)
      }
    }
    return ended
  }

  return async (rule, given) => {
    for (const [id, until] of setAside) if (performance.now() > until) setAside.delete(id)
    const ended: EndedGeneration[] = []
    try {
      for (let page = 1; page <= PAGES; page++) {
        const values = { ...given, setAside: [...setAside.keys()] }
        let pageFailed = false
        const ofPage = await rule.page.rows(on, { ...values, refund }).catch(async (error) => {
          if (!isFaultOfRow(error)) throw error
          pageFailed = true
          return endEach(rule, values)
        })
        ended.push(...ofPage)
        if (!pageFailed && ofPage.length < FAILED_PER_PAGE) break
      }
    } catch (error) {
      // The caller must get what was ended; the next pass meets the error again.
      if (ended.length === 0) throw error
    }
    return ended
  }
}

/**
 * Whether another row might succeed: bad data, a constraint, a trigger, a lock. Not after a timeout: Postgres may have
 * stood still, and workers first need time to renew the leases that expired meanwhile.
 */
const isFaultOfRow = (error: unknown): boolean => /^(22|23|40|P0|55P03)/.test(sqlState(error) ?? '')
