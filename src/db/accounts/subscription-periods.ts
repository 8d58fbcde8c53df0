/** What the periods of subscriptions grant and let expire. */
import { type SQL, sql } from 'drizzle-orm'
import {
  type CurrentPeriods,
  currentPeriodOf,
  expiryAtEnd,
  type PeriodEntry,
  type Plan,
  settlePeriods,
} from '../../core/accounts/plan.js'
import { type Database, withTransaction } from '../client.js'
import { plans as p, subscriptions as s, users as u } from '../schema/accounts.js'
import { creditLedger as l } from '../schema/ledger.js'
import { isSqlRefusal } from '../sql-state.js'
import { columns, param, type Queryable, type RowOf, selectAs, setList, statement } from '../statement.js'
import { moveCredits } from './move-credits.js'
import { NOTE_ENDED } from './notices.js'
import { PLAN } from './plans.js'

/** In one pass of the reconciler, whose other rules wait meanwhile; the next one goes on. */
const SUBSCRIPTIONS_PER_PASS = 1000
const PASS_MS = 1000
const AT_ONCE = 4

const NOW = sql`coalesce(${param('now')}::timestamptz, now())`
const IS_DUE = sql`${s.checkAt} <= ${NOW}`

const DUE = statement<{ userId: string }>('due_subscriptions')`
  SELECT ${selectAs(columns(s, 'userId'))} FROM ${s} WHERE ${IS_DUE} ORDER BY ${s.checkAt} LIMIT ${SUBSCRIPTIONS_PER_PASS}`

const STATE = {
  ...columns(s, 'status', 'plan', 'endDate', 'startedAt', 'paidUntil'),
  ...columns(s, 'periodStart', 'periodEnd', 'periodPlan', 'periodCredits'),
  ...columns(u, 'credits', 'expiringCredits', 'deletedAt'),
  now: sql<Date>`${NOW}`,
}
type State = RowOf<typeof STATE>

const stateStatement = (name: string, which: SQL, locking = sql``) => statement<State>(name)`
  SELECT ${selectAs(STATE)} FROM ${s} JOIN ${u} ON ${u.id} = ${s.userId}
   WHERE ${s.userId} = ${param('userId')}::uuid AND ${which} ${locking}`

// The subscription before its account.
const LOCKING = sql`FOR NO KEY UPDATE OF ${s}, ${u}`
const IS_IN_USE = sql`${u.deletedAt} IS NULL`

// What somebody else changes now is due in the next pass, too.
const LOCK_DUE = stateStatement('lock_due_subscription', IS_DUE, sql`${LOCKING} SKIP LOCKED`)
const LOCK = stateStatement('lock_subscription', IS_IN_USE, LOCKING)
const READ = stateStatement('read_subscription', IS_IN_USE)

const PLANS = statement<Plan>('plans_of_subscription')`
  SELECT ${selectAs(PLAN)} FROM ${p} WHERE ${p.name} = ANY (${param('names')}::text[])`

const IS_MADE = statement('ledger_entry_of_ref')`
  SELECT FROM ${l} WHERE ${l.userId} = ${param('userId')}::uuid AND ${l.ref} = ${param('ref')}`

const SETTLED = statement('settle_subscription')`
  UPDATE ${s} SET ${setList(s, {
    startedAt: sql`${param('startedAt')}::timestamptz`,
    periodStart: sql`${param('periodStart')}::timestamptz`,
    periodEnd: sql`${param('periodEnd')}::timestamptz`,
    periodPlan: sql`${param('periodPlan')}::text`,
    periodCredits: sql`${param('periodCredits')}::bigint`,
    checkAt: sql`${param('checkAt')}::timestamptz`,
  })} WHERE ${s.userId} = ${param('userId')}::uuid`

const POSTPONE = statement('postpone_subscription')`
  UPDATE ${s} SET ${setList(s, { checkAt: sql`now() + interval '1 minute'` })} WHERE ${s.userId} = ${param('userId')}::uuid`

// When it changes, or its plan is imported, it is looked at again. The period that runs is kept for its end.
const LEAVE = statement('leave_subscription')`
  UPDATE ${s} SET ${setList(s, {
    periodPlan: sql`CASE WHEN ${param('checkAt')}::timestamptz IS NOT NULL THEN ${s.periodPlan} END`,
    checkAt: sql`${param('checkAt')}::timestamptz`,
  })} WHERE ${s.userId} = ${param('userId')}::uuid`

export const periodStore = (db: Database) => ({
  /**
   * Grants and lets expire what is due; for each subscription in a transaction of its own.
   * @param now instead of Postgres's clock
   * @returns how many subscriptions were looked at
   */
  async settle(now?: Date): Promise<number> {
    const due = (await DUE.rows(db.pool, { now })).values()
    const until = performance.now() + PASS_MS
    const faults: unknown[] = []
    let settled = 0
    const settleOneByOne = async () => {
      for (const { userId } of due) {
        await withTransaction(db, (_tx, client) => settle(client, userId, now)).catch(async (error) => {
          if (!isSqlRefusal(error)) throw error
          // The others need not wait for one that Postgres refuses.
          faults.push(error)
          await POSTPONE.run(db.pool, { userId })
        })
        settled++
        if (performance.now() > until) return
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, settleOneByOne))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    if (faults.length > 0) throw faults[0]
    return settled
  },

  noteEnded: () => NOTE_ENDED.run(db.pool),
})

export const currentPeriods = ({ pool }: Database): CurrentPeriods => ({
  async of(accountId) {
    const state = await READ.first(pool, { userId: accountId, now: undefined })
    const { plan, before } = state ? await plansOf(pool, state) : {}
    return (
      state &&
      plan &&
      currentPeriodOf({ ...state, period: periodOf(state) }, { plan, before }, expiringOf(state), state.now)
    )
  },
})

async function settle(client: Queryable, userId: string, now: Date | undefined): Promise<void> {
  const state = await LOCK_DUE.first(client, { userId, now })
  if (!state) return
  const period = periodOf(state)
  const { plan, before } = await plansOf(client, state)
  if (!plan || state.deletedAt) {
    const runs = period && before && !state.deletedAt ? period : undefined
    const isOver = runs && runs.end <= state.now
    const entry = isOver && before && expiryAtEnd(runs, before, expiringOf(state))
    if (entry) await enter(client, { userId, ...state }, [entry])
    await LEAVE.run(client, { userId, checkAt: isOver ? null : runs?.end })
    return
  }
  const settled = settlePeriods({ ...state, period }, { plan, before }, expiringOf(state), state.now)
  await enter(client, { userId, ...state }, settled.entries)
  const { start, end, plan: name, credits } = settled.period
  await SETTLED.run(client, {
    ...{ userId, startedAt: settled.startedAt, checkAt: settled.checkAt },
    ...{ periodStart: start, periodEnd: end, periodPlan: name, periodCredits: credits },
  })
}

/** The subscription's plan, and that of its period; undefined: there is none of its name. */
async function plansOf(on: Queryable, state: State) {
  const plans = await PLANS.rows(on, { names: [state.plan, state.periodPlan] })
  const named = (name: string | null) => plans.find((it) => it.name === name)
  return { plan: named(state.plan), before: named(state.periodPlan) }
}

const periodOf = ({ periodStart: start, periodEnd: end, periodPlan: plan, periodCredits: credits }: State) =>
  start && end && plan !== null ? { start, end, plan, credits } : null

/** Below 0, what the account owes: a grant pays that first. */
const expiringOf = ({ credits, expiringCredits }: State) => Math.min(expiringCredits, credits)

/** Writes the entries that are not in the ledger yet. The account's row must be locked. */
async function enter(client: Queryable, { userId, credits }: Holder, entries: readonly PeriodEntry[]): Promise<void> {
  let balance = credits
  for (const { ref, note, expires, ...entry } of entries) {
    if ((await IS_MADE.count(client, { userId, ref })) > 0) continue
    const isGrant = entry.kind === 'grant'
    // An account that owes credits has none that could expire.
    const delta = isGrant ? entry.credits : -Math.min(entry.credits, Math.max(balance, 0))
    const expiring = isGrant ? (expires ? delta : 0) : -entry.credits
    balance = (await moveCredits(client, { userId, kind: entry.kind, delta, expiring, note, ref })) ?? balance
  }
}

interface Holder {
  readonly userId: string
  readonly credits: number
}

/** Ends the running period of a subscription that is taken away: what expires at its end expires now. */
export async function endPeriod(client: Queryable, userId: string): Promise<void> {
  const state = await LOCK.first(client, { userId, now: undefined })
  const period = state && periodOf(state)
  const [plan] = period ? await PLANS.rows(client, { names: [period.plan] }) : []
  const entry = period && plan && expiryAtEnd(period, plan, expiringOf(state))
  if (entry) await enter(client, { userId, ...state }, [entry])
}
