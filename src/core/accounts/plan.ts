/** Plans, and what a subscription is granted in the course of its periods. */
import {
  expiryAtEnd,
  type GrantedPeriods,
  grantedOf,
  kindOf,
  only,
  type Period,
  type PeriodEntry,
  type PeriodKind,
  periodAt,
  spanOf,
} from './period.js'

/** About a century. */
export const MAX_RETAINED_DAYS = 36_500

/** What a subscription whose plan has this name grants and allows. A subscription may name a plan that there is not. */
export interface Plan {
  readonly name: string
  /** Credits granted at the start of each period. */
  readonly credits: number
  readonly period: PeriodKind
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
  /** Since then nobody can buy it; who has it keeps it, and operators may still give it. Null: it is not retired. */
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
  readonly granted: GrantedPeriods
}

export interface Settled {
  readonly startedAt: Date
  readonly period: Period
  readonly granted: GrantedPeriods
  /** In this order. One whose `ref` is in the ledger must not be made again. */
  readonly entries: readonly PeriodEntry[]
  /** When to look again; null: nothing can happen until the subscription changes. */
  readonly checkAt: Date | null
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
 * - A period that was granted goes on until its end: a subscription that is taken away, ends or changes, and then is as it
 *   was, goes on in it and gets nothing again. Where a provider is paid, the periods are the provider's.
 * - A plan by the year begins a year at once. What the running month granted counts against its grant.
 * - A plan by the month begins a month at once. While a year runs that was granted, its credits are the months': a month
 *   grants only what exceeds those that are left of the year.
 * - A plan that is itself changed from months to years, or back, begins with the next period.
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
  const isByHand = state.paidUntil === null
  const isActive = (at: Date) => state.status === 'active' && state.endDate > at
  const isPaid = ({ start }: Pick<Period, 'start'>) => state.paidUntil === null || state.paidUntil > start
  let { month, year } = grantedOf(state)
  let expiring = held
  let { startedAt, period } = state

  /** Of a kind, the one that was granted and runs then. */
  const running = (kind: PeriodKind, at: Date) => {
    const last = kind === 'month' ? month : year
    return last && last.end > at ? last : undefined
  }
  /** A span of that kind which a moment falls into. An operator's goes on where one was granted, or else begins there if `isNew`. */
  const spanAt = (kind: PeriodKind, at: Date, isNew: boolean): Pick<Period, 'start' | 'end'> => {
    const granted = isByHand ? running(kind, at) : undefined
    if (granted) startedAt = granted.startedAt
    else if (isByHand && isNew) startedAt = at
    return granted ?? periodAt(startedAt, kind, at)
  }
  /** @param isNext it follows upon another one of its kind */
  const grant = (into: Period, at: Date, isNext: boolean): Period => {
    const kind = kindOf(into)
    const last = running(kind, into.start)
    const own = last?.start.getTime() === into.start.getTime() ? last : undefined
    const monthBefore = kind === 'year' && !own && !isNext ? running('month', into.start) : undefined
    const counted = (own ?? monthBefore)?.credits ?? 0
    const credits = Math.max(counted, plan.credits)
    const ahead = kind === 'month' || monthBefore ? running('year', at) : undefined
    const more = Math.max(credits - counted - (ahead?.left ?? 0), 0)
    const its = { startedAt, ...only(into), credits }
    if (kind === 'year') year = { ...its, left: Math.max((own?.left ?? 0) + credits - counted, ahead?.left ?? 0) }
    else {
      month = { ...its, left: 0 }
      const left = Math.max((ahead?.left ?? 0) - (credits - counted), 0)
      if (ahead) year = { ...ahead, credits: ahead.credits + more, left }
    }
    if (more > 0) {
      const expires = plan.carryOver !== null
      // The first grant of a period, and one that raises what it had.
      const which = own ? `:${at.toISOString()}` : counted > 0 ? `:${credits}` : ''
      const ref = `period:${into.start.toISOString()}${which}`
      entries.push({ kind: 'grant', credits: more, expires, ref, note: `${plan.name}, ${spanOf(into)}` })
      if (expires) expiring += more
    }
    return { ...into, plan: plan.name, credits }
  }
  const end = (ended: Period, rule: Plan): void => {
    const entry = expiryAtEnd(ended, rule, expiring, year)
    if (!entry) return
    entries.push(entry)
    expiring -= entry.credits
  }

  const isOfOtherKind = (it: Period) => kindOf(it) !== plan.period && (it.plan !== plan.name || it.credits === null)
  const beganWithin = period && startedAt > period.start && startedAt < period.end
  // A provider also counts anew after a change of the kind.
  if (period && beganWithin && (isByHand || !isOfOtherKind(period))) {
    end(period, before ?? plan)
    period = null
  }
  period ??= { ...only(spanAt(plan.period, now, false)), plan: plan.name, credits: null }
  while (period.end <= now) {
    const { end: at }: Period = period
    end(period, before && period.plan === before.name ? before : plan)
    // An operator's period of another kind begins when the subscription is active.
    const kind: PeriodKind = isActive(at) || !isByHand ? plan.period : kindOf(period)
    const isNext: boolean = kind === kindOf(period)
    const begun: Period = { ...only(spanAt(kind, at, !isNext && startedAt <= at)), plan: plan.name, credits: null }
    period = isActive(at) && isPaid(begun) ? grant(begun, begun.start, isNext) : begun
  }
  if (isOfOtherKind(period) && isActive(now)) {
    const span = spanAt(plan.period, now, true)
    if (isPaid(span)) period = { ...period, ...only(span), credits: null }
  }
  const isNew = period.credits === null || period.plan !== plan.name
  if (isNew && kindOf(period) === plan.period && isActive(now) && isPaid(period)) period = grant(period, now, false)
  if (plan.signUpCredits > 0 && period.credits !== null)
    entries.push({
      kind: 'grant',
      credits: plan.signUpCredits,
      expires: false,
      ref: SIGN_UP,
      note: `${plan.name}, at sign-up`,
    })

  // While it may become active again, periods without a grant must be seen as such: what is paid may be paid again after months.
  const isOver = isByHand && state.endDate <= now && expiring <= 0
  const granted = { ...(month && { month }), ...(year && { year }) }
  return { startedAt, period, granted, entries, checkAt: isOver ? null : period.end }
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

const LAST_MOMENT = new Date(8.64e15)

/** As settlePeriods would find it if nothing changed until the end of the period that runs, and the next one were paid. */
export function currentPeriodOf(
  state: PeriodState,
  plans: { readonly plan: Plan; readonly before: Plan | undefined },
  held: number,
  now: Date,
): CurrentPeriod | undefined {
  const { period } = state
  if (!period || period.end <= now || (period.credits === null && state.endDate <= now)) return undefined
  const paidUntil = state.paidUntil && LAST_MOMENT
  const { entries } = settlePeriods({ ...state, paidUntil }, plans, held, period.end)
  const sum = (kind: PeriodEntry['kind']) =>
    entries.filter((it) => it.kind === kind && it.ref !== SIGN_UP).reduce((total, { credits }) => total + credits, 0)
  return { period, plan: plans.before ?? plans.plan, expires: sum('expire'), follows: sum('grant') }
}
