/** Plans, and what a subscription is granted in the course of its periods. */

/** About a century. */
export const MAX_RETAINED_DAYS = 36_500

/** What a subscription whose plan has this name grants and allows. A subscription may name a plan that there is not. */
export interface Plan {
  readonly name: string
  /** Credits granted at the start of each period. */
  readonly credits: number
  readonly period: 'month' | 'year'
  /**
   * Of the granted credits that are left at the end of a period, how many stay at most; 0: all of them expire. Null: all
   * stay for good, like bought ones.
   */
  readonly carryOver: number | null
  /** Granted once to an account, with its first period of any plan; they never expire. */
  readonly signUpCredits: number
  /** IDs of the model versions that it may use; null: all. */
  readonly models: readonly number[] | null
  /** Requests in one window of the rate limit; null: the service's own limit. */
  readonly rateLimit: number | null
  /** How many days prompts and images are kept; 0: for ever; null: as long as the service keeps those of others. */
  readonly retainPromptsDays: number | null
  readonly retainImagesDays: number | null
  /** Whether people can buy it on the website; then it has a price. */
  readonly forSale: boolean
  /** Since then nobody can begin it; who has it keeps it. Null: it is not retired. */
  readonly retiredAt: Date | null
  /** What it costs: a price of the payment provider. */
  readonly price: string | null
}

/** A subscription, as far as periods go. Times are UTC. */
export interface PeriodState {
  /** As stored: `expired` is no status here. */
  readonly status: string
  readonly endDate: Date
  /** From here periods are counted. */
  readonly startedAt: Date
  /** Until when it is paid at a provider, which also says `startedAt`; null: it is paid to none, and none need be. */
  readonly paidUntil: Date | null
  /** The period that was looked at last; null: none yet. */
  readonly period: Period | null
}

export interface Period {
  readonly start: Date
  /** The first moment of the next one. */
  readonly end: Date
  /** The plan that granted last in it. */
  readonly plan: string
  /** How many credits were granted in it; null: none, because the subscription was not active. */
  readonly credits: number | null
}

/** An entry of the ledger that a period causes. */
export interface PeriodEntry {
  readonly kind: 'grant' | 'expire'
  /** How many credits; above 0 for both kinds. */
  readonly credits: number
  /** Whether a grant expires at the end of a period. */
  readonly expires: boolean
  /** Each exists once in an account's ledger. */
  readonly ref: string
  readonly note: string
}

export interface Settled {
  readonly startedAt: Date
  readonly period: Period
  /** In this order. One whose `ref` is in the ledger must not be made again. */
  readonly entries: readonly PeriodEntry[]
  /** When to look again; null: nothing can happen until the subscription changes. */
  readonly checkAt: Date | null
}

/**
 * The start of a subscription's n-th period: n months or years after its start, at the same time of day in UTC, and on the
 * last day of a month that has no such day. Counted from the start, so that 31 January leads to 28 February, 31 March, …
 */
export function periodStart(startedAt: Date, period: Plan['period'], n: number): Date {
  const months = period === 'month' ? n : 12 * n
  const at = new Date(startedAt)
  const day = at.getUTCDate()
  at.setUTCDate(1)
  at.setUTCMonth(at.getUTCMonth() + months)
  at.setUTCDate(Math.min(day, new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()))
  return at
}

/** The period of a subscription that a moment falls into; the first one, if it falls before that. */
export function periodAt(startedAt: Date, period: Plan['period'], moment: Date): Pick<Period, 'start' | 'end'> {
  const months =
    12 * (moment.getUTCFullYear() - startedAt.getUTCFullYear()) + moment.getUTCMonth() - startedAt.getUTCMonth()
  let n = Math.max(0, period === 'month' ? months : Math.floor(months / 12))
  if (n > 0 && periodStart(startedAt, period, n) > moment) n--
  return { start: periodStart(startedAt, period, n), end: periodStart(startedAt, period, n + 1) }
}

/** Of the entry that an account has once; not what an operator might write as the reference of a grant. */
const SIGN_UP = 'plan:sign-up'

/**
 * What has become due for a subscription until `now`. Rules:
 * - Each period is granted once, at its start, if the subscription is active then, and paid beyond it; if that is so later, then.
 * - A service that was down grants every period that it missed, and lets each expire. A subscription that is looked at for
 *   the first time begins with the period that runs.
 * - At a period's end the rule of the plan that granted in it says what expires, also while the subscription is not active.
 * - Another plan with the same kind of period grants at once what it grants more than was granted in the period that runs.
 * - Another plan with another kind of period begins a period at once. What the running one granted counts against its grant,
 *   so that nobody gets credits by going back and forth; what is left of it stays until the end of the new one.
 * - A subscription that begins anew after its end ends the running period and begins one.
 * @param plans by name: the subscription's, and that of its period
 * @param held credits of the account that expire; below 0, what it owes
 */
export function settlePeriods(
  state: PeriodState,
  { plan, before }: { readonly plan: Plan; readonly before: Plan | undefined },
  held: number,
  now: Date,
): Settled {
  const entries: PeriodEntry[] = []
  const isActive = (at: Date) => state.status === 'active' && state.endDate > at
  const isPaid = ({ start }: Pick<Period, 'start'>) => state.paidUntil === null || state.paidUntil > start
  let expiring = held
  let { startedAt, period } = state

  const grant = (into: Period, credits: number): Period => {
    const granted = into.credits ?? 0
    const more = credits - granted
    if (more > 0) {
      const expires = plan.carryOver !== null
      // The first grant of a period, and one that raises what it had.
      const ref = `period:${into.start.toISOString()}${granted > 0 ? `:${credits}` : ''}`
      entries.push({ kind: 'grant', credits: more, expires, ref, note: `${plan.name}, ${spanOf(into)}` })
      if (expires) expiring += more
    }
    return { ...into, plan: plan.name, credits: Math.max(granted, credits) }
  }
  const begin = (span: Pick<Period, 'start' | 'end'>): Period => {
    const begun = { ...span, plan: plan.name, credits: null }
    return isActive(span.start) && isPaid(span) ? grant(begun, plan.credits) : begun
  }
  const end = (ended: Period, rule: Plan): void => {
    const entry = expiryAtEnd(ended, rule, expiring)
    if (!entry) return
    entries.push(entry)
    expiring -= entry.credits
  }

  const beganWithin = period && startedAt > period.start && startedAt < period.end
  // A provider also counts anew after a change.
  const isChanged = before && before.period !== plan.period && !(beganWithin && state.paidUntil === null)
  let waits = false
  if (period && isChanged && isActive(now)) {
    if (state.paidUntil === null) startedAt = now
    const span = periodAt(startedAt, plan.period, now)
    waits = period.end > now && !isPaid(span)
    if (period.end > now && !waits) period = { ...period, ...span }
  } else if (period && beganWithin && !isChanged) {
    end(period, before ?? plan)
    period = null
  }
  period ??= { ...periodAt(startedAt, plan.period, now), plan: plan.name, credits: null }
  while (period.end <= now) {
    end(period, before && period.plan === before.name ? before : plan)
    period = begin(periodAt(startedAt, plan.period, period.end))
  }
  const isNew = period.credits === null || period.plan !== plan.name
  if (isNew && !waits && isActive(now) && isPaid(period)) period = grant(period, plan.credits)
  if (plan.signUpCredits > 0 && period.credits !== null)
    entries.push({
      kind: 'grant',
      credits: plan.signUpCredits,
      expires: false,
      ref: SIGN_UP,
      note: `${plan.name}, at sign-up`,
    })

  // While it may become active again, periods without a grant must be seen as such.
  const isOver = state.endDate <= now && expiring <= 0
  return { startedAt, period, entries, checkAt: isOver ? null : period.end }
}

/** What expires when a period ends. @param held credits of the account that expire */
export function expiryAtEnd(period: Period, { carryOver }: Pick<Plan, 'carryOver'>, held: number) {
  const credits = carryOver === null ? 0 : held - carryOver
  if (credits <= 0) return undefined
  const ref = `expire:${period.start.toISOString()}`
  return { kind: 'expire', credits, expires: true, ref, note: `${period.plan}, left of ${spanOf(period)}` } as const
}

/** The period of a subscription that runs, and what comes at its end. */
export interface CurrentPeriod {
  /** The period that runs. */
  readonly period: Period
  /** Its rule holds at the end of the period. */
  readonly plan: Plan
  /** Of the account's credits, those that expire at the end of the period unless they are spent before. */
  readonly expires: number
  /** Granted at the end of the period, at the start of the next one. */
  readonly follows: number
}

export interface CurrentPeriods {
  /** Undefined: no period runs, or the subscription's plan is none that there is. */
  of(accountId: string): Promise<CurrentPeriod | undefined>
}

/** As settlePeriods would find it if nothing changed until the end of the period that runs, and the next one were paid. */
export function currentPeriodOf(
  state: PeriodState,
  plans: { readonly plan: Plan; readonly before: Plan | undefined },
  held: number,
  now: Date,
): CurrentPeriod | undefined {
  const { period } = state
  if (!period || period.end <= now) return undefined
  const { entries } = settlePeriods({ ...state, paidUntil: null }, plans, held, period.end)
  const sum = (kind: PeriodEntry['kind']) =>
    entries.filter((it) => it.kind === kind && it.ref !== SIGN_UP).reduce((total, { credits }) => total + credits, 0)
  return { period, plan: plans.before ?? plans.plan, expires: sum('expire'), follows: sum('grant') }
}

const spanOf = ({ start, end }: Pick<Period, 'start' | 'end'>) => `${dayOf(start)} to ${dayOf(end)}`
const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)
