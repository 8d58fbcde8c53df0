/**
 * Years of a subscription that an operator sets, by a clock of the test's own: what was granted is compared with what is to
 * be granted by the rules of docs/billing.md, added up in another way than src/ does it.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Plan } from '../../../src/core/accounts/plan.js'
import { planStore } from '../../../src/db/accounts/plans.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import type { Database } from '../../../src/db/client.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenUser } from '../../support/givens.js'

type Kind = Plan['period']

const DAY_MS = 86_400_000
/** Far from the clock of this machine, by which plans are imported. */
const STARTS = [
  '2071-01-01T00:00:00.000Z',
  '2071-01-31T22:30:00.000Z',
  '2071-08-29T23:59:59.999Z',
  '2072-02-29T12:00:00Z',
]
const FOR_EVER = new Date('2099-01-01T00:00:00Z')
/** Small and large, with a year that is worth as much as twelve months, more and less. */
const PLANS: readonly (readonly [Kind, number])[] = [
  ['month', 100],
  ['month', 450],
  ['year', 1200],
  ['year', 6000],
  ['year', 300],
]

const plan = fc.nat(PLANS.length - 1)
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('plan' as const), plan }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('again' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('pause' as const, 'resume' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lapse' as const), days: fc.nat(40) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('renew' as const), plan: fc.option(plan) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('remove' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('unlisted' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('credits' as const), plan, credits: fc.nat(2000) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('interval' as const), plan }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('retire' as const), plan }) },
)
/** Some time passes, during which the service may be down, and then an operator does something. */
const step = fc.record({
  act,
  ms: fc.oneof(
    ...[1, 20, 70].map((days) => fc.integer({ min: 1, max: days * DAY_MS })),
    fc.constantFrom(31 * DAY_MS, 366 * DAY_MS),
  ),
  isDown: fc.boolean(),
})
type Act = (typeof act extends fc.Arbitrary<infer T> ? T : never) & { readonly plan?: number | null }

export const years = (mostSteps: number) =>
  fc.record({
    start: fc.constantFrom(...STARTS),
    first: plan,
    /** Whether what is left of a period expires. */
    expires: fc.boolean(),
    steps: fc.array(step, { minLength: mostSteps / 2, maxLength: mostSteps }),
  })
export type Years = ReturnType<typeof years> extends fc.Arbitrary<infer T> ? T : never

/** Lets all of it happen, and compares after each step. */
export async function expectGrantedAsPaidFor(db: Database, { start, first, expires, steps }: Years): Promise<void> {
  let now = new Date(start)
  const carryOver = expires ? 0 : null
  const plans = await Promise.all(PLANS.map(([period, credits]) => givenPlan(db, { period, credits, carryOver })))
  const user = await givenUser(db, { credits: 0, subscription: null })
  const subscriptions = operatorSubscriptionStore(db, () => now)
  const periods = periodStore(db)
  const bill = new Bill(now)
  const told: string[] = []

  const set = (change: { plan?: string; status?: string; endDate?: Date }) =>
    subscriptions.set(user.id, { plan: undefined, status: undefined, endDate: undefined, ...change }, FOR_EVER)
  const dueAt = async (): Promise<Date | null> =>
    (await db.pool.query('SELECT check_at FROM subscriptions WHERE user_id = $1', [user.id])).rows[0]?.check_at ?? null
  const settle = async () => {
    while ((await periods.settle(now)) > 0);
  }
  const pass = async (ms: number, isDown: boolean) => {
    const end = new Date(now.getTime() + ms)
    for (let due = await dueAt(); !isDown && due && due <= end; due = await dueAt()) {
      now = due
      await settle()
    }
    now = end
    await settle()
    bill.pass(now)
  }
  const change = async (index: number, more: Partial<Plan>) => {
    plans[index] = { ...(plans[index] as Plan), ...more }
    await planStore(db).import([plans[index]])
    bill.edited(plans[index])
  }

  const happen = async (it: Act) => {
    const named = typeof it.plan === 'number' ? plans[it.plan] : undefined
    if (it.type === 'credits') return change(it.plan, { credits: it.credits })
    if (it.type === 'interval') return change(it.plan, { period: named?.period === 'year' ? 'month' : 'year' })
    if (it.type === 'retire') return void (await planStore(db).retire(named?.name ?? ''))
    if (it.type === 'remove') {
      await subscriptions.remove(user.id)
      return bill.removed()
    }
    const other = it.type === 'unlisted' ? { name: 'no such plan' } : it.type === 'again' ? bill.its?.plan : named
    if (!bill.its && !other) return
    const has = { plan: other ?? bill.its?.plan, ...bill.its }
    const status = it.type === 'pause' ? 'paused' : it.type === 'resume' ? 'active' : undefined
    const endDate =
      it.type === 'lapse' ? new Date(now.getTime() + it.days * DAY_MS) : it.type === 'renew' ? FOR_EVER : undefined
    if (other) has.plan = other
    await set({ ...(other && { plan: other.name }), ...(status && { status }), ...(endDate && { endDate }) })
    bill.set({
      plan: has.plan as Plan,
      isActive: status ? status === 'active' : (bill.its?.isActive ?? true),
      endDate: endDate ?? bill.its?.endDate ?? FOR_EVER,
    })
  }

  for (const { act, ms, isDown } of [{ act: { type: 'plan' as const, plan: first }, ms: 0, isDown: false }, ...steps]) {
    await pass(ms, isDown)
    await happen(act)
    bill.look()
    await settle()
    told.push(`${now.toISOString()} ${JSON.stringify(act)}${isDown ? ' after an outage' : ''}`)
    const { rows } = await db.pool.query(
      `SELECT coalesce(sum(delta) FILTER (WHERE ref LIKE 'period:%'), 0)::int AS granted,
              coalesce(-sum(delta) FILTER (WHERE ref ~ '^expire:.*Z:.*Z$'), 0)::int AS ended_early
         FROM credit_ledger WHERE user_id = $1`,
      [user.id],
    )
    const { granted, ended_early: endedEarly } = rows[0]
    const story = told.join('\n')
    // What expires when a subscription is taken away may be granted again within the same period.
    expect(granted, story).toBeGreaterThanOrEqual(bill.total)
    expect(granted, story).toBeLessThanOrEqual(bill.total + endedEarly)
  }
}

interface Set {
  /** Without credits: there is none of its name. */
  readonly plan: Pick<Plan, 'name'> & Partial<Pick<Plan, 'credits' | 'period'>>
  readonly isActive: boolean
  readonly endDate: Date
}

/** A month or a year that counts from `anchor`. */
interface Span {
  readonly kind: Kind
  readonly anchor: Date
  readonly start: Date
  readonly end: Date
  /** The plan that it was granted by; undefined: by none. */
  by?: string | undefined
  /** The most that a plan was worth in it. */
  worth: number
}

/** What an account is owed: of each year that was begun what it is worth, or its months if they are worth more. */
class Bill {
  its: Set | undefined
  #anchor: Date
  #now: Date
  #span: Span | undefined
  readonly #begun: Partial<Record<Kind, Span>> = {}
  /** With the worth of the months in each of them. */
  readonly #years: { readonly year: Span; months: number }[] = []
  #loose = 0

  constructor(start: Date) {
    this.#now = this.#anchor = start
  }

  get total(): number {
    return this.#years.reduce((sum, { year, months }) => sum + Math.max(year.worth, months), this.#loose)
  }

  set(to: Set): void {
    const begins = !this.its || (this.its.endDate <= this.#now && to.endDate > this.#now)
    const goesOn = this.#span && this.#span.worth > 0 && this.#span.by !== undefined
    if (begins && !(this.its && goesOn)) {
      this.#anchor = this.#now
      this.#span = undefined
    }
    this.its = to
  }

  removed(): void {
    this.its = undefined
    this.#span = undefined
  }

  edited(plan: Plan): void {
    if (this.its?.plan.name === plan.name) this.its = { ...this.its, plan }
  }

  /** Up to a moment, at whose beginning nothing else changes. */
  pass(to: Date): void {
    while (this.its && this.#span && this.#span.end <= to) {
      const { kind, end } = this.#span
      const { period } = this.its.plan
      if (!period) {
        this.#span = undefined
        break
      }
      const isActive = this.#isActive(end)
      const next = isActive ? period : kind
      this.#enter(next, end, next !== kind)
      if (isActive) this.#owe(end, next === kind)
    }
    this.#now = to
    this.look()
  }

  /** What follows from what was just set. */
  look(): void {
    const { period, name } = this.its?.plan ?? {}
    if (!period || !name) return
    const now = this.#now
    if (!this.#span) this.#enter(period, now, true)
    const span = this.#span as unknown as Span
    if (!this.#isActive(now)) return
    if (span.kind !== period && span.by !== name) this.#enter(period, now, true)
    if (this.#span?.kind === period && this.#span.by !== name) this.#owe(now, false)
  }

  #isActive(at: Date): boolean {
    return this.its?.isActive === true && this.its.endDate > at
  }

  /** The span of that kind which a moment is in: one that was granted, if it still runs. */
  #enter(kind: Kind, at: Date, isAnew: boolean): void {
    const begun = this.#begun[kind]
    if (begun && begun.end > at) {
      this.#anchor = begun.anchor
      // Looked at afresh.
      this.#span = begun
      begun.by = undefined
      return
    }
    if (isAnew) this.#anchor = at
    let n = 0
    while (after(this.#anchor, kind, n + 1) <= at) n++
    const anchor = this.#anchor
    this.#span = { kind, anchor, start: after(anchor, kind, n), end: after(anchor, kind, n + 1), worth: 0 }
  }

  #owe(at: Date, isNext: boolean): void {
    const span = this.#span as Span
    const { credits = 0, name } = this.its?.plan ?? {}
    const { month } = this.#begun
    if (this.#begun[span.kind] !== span) {
      this.#begun[span.kind] = span
      if (span.kind === 'year') {
        const counts = month && month.end > span.start && !isNext ? month.worth : 0
        this.#years.push({ year: span, months: counts })
        this.#loose -= counts
      }
    }
    const more = Math.max(credits - span.worth, 0)
    span.worth += more
    span.by = name
    if (span.kind === 'year') return
    const year = this.#years.find((it) => it.year.start <= at && at < it.year.end)
    if (year) year.months += more
    else this.#loose += more
  }
}

/** So many months or years later, or the last day of a month that is shorter. */
function after(anchor: Date, kind: Kind, count: number): Date {
  const [date = '', time] = anchor.toISOString().split('T')
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const months = year * 12 + (month - 1) + count * (kind === 'year' ? 12 : 1)
  const isOf = (it: number) => {
    const text = `${Math.floor(months / 12)}-${pad((months % 12) + 1)}-${pad(it)}T${time}`
    return new Date(text).toISOString() === text ? new Date(text) : undefined
  }
  return [day, 30, 29, 28].map((it) => (it <= day ? isOf(it) : undefined)).find((it) => it !== undefined) as Date
}

const pad = (it: number) => String(it).padStart(2, '0')
