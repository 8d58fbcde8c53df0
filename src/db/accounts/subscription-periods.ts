/** What the periods of subscriptions grant and let expire. */
import { type SQL, sql } from 'drizzle-orm'
import { endEarly, type GrantedPeriod, type GrantedPeriods, type PeriodEntry } from '../../core/accounts/period.js'
import { type CurrentPeriods, currentPeriodOf, type Plan, settlePeriods } from '../../core/accounts/plan.js'
import { type Database, withTransaction } from '../client.js'
import { grantedPeriods as g, plans as p, subscriptions as s, users as u } from '../schema/accounts.js'
import { creditLedger as l } from '../schema/ledger.js'
import { isSqlRefusal } from '../sql-state.js'
import {
  columns,
  insertInto,
  param,
  type Queryable,
  type RowOf,
  selectAs,
  setList,
  statement,
  typedParams,
} from '../statement.js'
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

// What an operator's subscription was granted counts against it, also where the provider's is in its place meanwhile.
const GRANTED_COLUMNS = columns(g, 'kind', 'startedAt', 'start', 'end', 'credits', 'left')
const GRANTED = statement<RowOf<typeof GRANTED_COLUMNS>>('granted_periods')`
  SELECT ${selectAs(GRANTED_COLUMNS)} FROM ${g}
   WHERE ${g.userId} = ${param('userId')}::uuid AND (${g.byHand} = ${param('byHand')}::boolean OR ${param('byHand')}::boolean)
     AND ${g.end} > ${param('after')}::timestamptz
   ORDER BY ${g.end}`

const KEEP_GRANTED = statement('keep_granted_period')`
  ${insertInto(g, typedParams(g, 'userId', 'kind', 'byHand', 'startedAt', 'start', 'end', 'credits', 'left'))}
  ON CONFLICT (user_id, kind, by_hand) DO UPDATE SET
    started_at = excluded.started_at, period_start = excluded.period_start, period_end = excluded.period_end,
    credits = excluded.credits, credits_left = excluded.credits_left`

const FORGET_PAID = statement('forget_paid_periods')`
  DELETE FROM ${g} WHERE ${g.userId} = ${param('userId')}::uuid AND NOT ${g.byHand}`

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
    const found = await READ.first(pool, { userId: accountId, now: undefined })
    const { plan, before } = found ? await plansOf(pool, found) : {}
    if (!found || !plan) return undefined
    const state = await stateOf(pool, accountId, found)
    return currentPeriodOf(state, { plan, before }, expiringOf(found), found.now)
  },
})

async function settle(client: Queryable, userId: string, now: Date | undefined): Promise<void> {
  const found = await LOCK_DUE.first(client, { userId, now })
  if (!found) return
  const { plan, before } = await plansOf(client, found)
  if (found.deletedAt) {
    await LEAVE.run(client, { userId, checkAt: null })
    return
  }
  const state = await stateOf(client, userId, found)
  if (!plan) {
    const runs = before ? state.period : null
    const isOver = runs !== null && runs.end <= found.now
    if (isOver && before) await endNow(client, { userId, ...found }, { ...state, period: runs }, before)
    await LEAVE.run(client, { userId, checkAt: isOver ? null : runs?.end })
    return
  }
  const settled = settlePeriods(state, { plan, before }, expiringOf(found), found.now)
  await enter(client, { userId, ...found }, settled.entries)
  await keep(client, { userId, ...found }, settled.granted, state.granted)
  const { start, end, plan: name, credits } = settled.period
  await SETTLED.run(client, {
    ...{ userId, startedAt: settled.startedAt, checkAt: settled.checkAt },
    ...{ periodStart: start, periodEnd: end, periodPlan: name, periodCredits: credits },
  })
}

/** With what was granted and may count now: the period that was looked at last, if it is over, has still to end. */
async function stateOf(on: Queryable, userId: string, found: State) {
  const period = periodOf(found)
  const after = period && period.end < found.now ? period.start : found.now
  const rows = await GRANTED.rows(on, { userId, byHand: found.paidUntil === null, after })
  const granted: GrantedPeriods = Object.fromEntries(rows.map(({ kind, ...it }) => [kind, it]))
  // By a plan that there is not, it was left: it begins again with one that there is.
  const wasLeft = found.paidUntil === null && !period && found.periodEnd
  return { ...found, startedAt: wasLeft ? found.now : found.startedAt, period, granted }
}

/** Those that are not kept so already. */
async function keep(client: Queryable, { userId, paidUntil }: Holder, after: GrantedPeriods, before: GrantedPeriods) {
  for (const [kind, it] of Object.entries(after) as [keyof GrantedPeriods, GrantedPeriod][])
    if (it !== before[kind]) await KEEP_GRANTED.run(client, { ...it, userId, kind, byHand: paidUntil === null })
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
const expiringOf = ({ credits, expiringCredits }: Pick<State, 'credits' | 'expiringCredits'>) =>
  Math.min(expiringCredits, credits)

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
  readonly expiringCredits: number
  readonly paidUntil: Date | null
  readonly now: Date
}

type WithPeriod = Parameters<typeof endEarly>[0]

/** What is left of a period expires now. */
async function endNow(client: Queryable, holder: Holder, state: WithPeriod & { granted: GrantedPeriods }, plan: Plan) {
  const { entry, granted } = endEarly(state, plan, expiringOf(holder), holder.now)
  if (entry) await enter(client, holder, [entry])
  await keep(client, holder, granted, state.granted)
}

/**
 * Ends the running period of a subscription that is taken away, or in whose place another one comes: what expires at its end
 * expires now.
 */
export async function endPeriod(client: Queryable, userId: string, now?: Date): Promise<void> {
  const found = await LOCK.first(client, { userId, now })
  if (!found) return
  const { period, ...state } = await stateOf(client, userId, found)
  const [plan] = period ? await PLANS.rows(client, { names: [period.plan] }) : []
  if (period && plan) await endNow(client, { userId, ...found }, { ...state, period }, plan)
}

/** What is bought now begins anew: what was paid for before counts against none of it. */
export const forgetPaidPeriods = (client: Queryable, userId: string): Promise<void> =>
  FORGET_PAID.run(client, { userId })
