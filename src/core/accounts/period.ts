/** Months and years: when they begin, what was granted for them, and what expires at their end. */

export type PeriodKind = 'month' | 'year'

export interface Period {
  readonly start: Date
  /** The first moment of the next one. */
  readonly end: Date
  /** The plan that granted last in it. */
  readonly plan: string
  /** How many credits were granted in it; null: none, because the subscription was not active. */
  readonly credits: number | null
}

/** A period that an account was granted. It counts until its end, whatever becomes of the subscription meanwhile. */
export interface GrantedPeriod {
  /** From here it was counted, and those after it are. */
  readonly startedAt: Date
  readonly start: Date
  readonly end: Date
  /** How many credits the account got for it. */
  readonly credits: number
  /** Of a year: how many of them are for months of it that have not begun, if a plan by the month takes its place. */
  readonly left: number
}

/** The last one of each kind. */
export type GrantedPeriods = Readonly<Partial<Record<PeriodKind, GrantedPeriod>>>

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

/**
 * The start of a subscription's n-th period: n months or years after its start, at the same time of day in UTC, and on the
 * last day of a month that has no such day. Counted from the start, so that 31 January leads to 28 February, 31 March, …
 */
export function periodStart(startedAt: Date, period: PeriodKind, n: number): Date {
  const months = period === 'month' ? n : 12 * n
  const at = new Date(startedAt)
  const day = at.getUTCDate()
  at.setUTCDate(1)
  at.setUTCMonth(at.getUTCMonth() + months)
  at.setUTCDate(Math.min(day, new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()))
  return at
}

/** The period of a subscription that a moment falls into; the first one, if it falls before that. */
export function periodAt(startedAt: Date, period: PeriodKind, moment: Date): Pick<Period, 'start' | 'end'> {
  const months =
    12 * (moment.getUTCFullYear() - startedAt.getUTCFullYear()) + moment.getUTCMonth() - startedAt.getUTCMonth()
  let n = Math.max(0, period === 'month' ? months : Math.floor(months / 12))
  if (n > 0 && periodStart(startedAt, period, n) > moment) n--
  return { start: periodStart(startedAt, period, n), end: periodStart(startedAt, period, n + 1) }
}

/** No month has as many. */
const MONTH_MS = 32 * 86_400_000

/** Not what its plan says: that may have been changed since. */
export const kindOf = ({ start, end }: Pick<Period, 'start' | 'end'>): PeriodKind =>
  end.getTime() - start.getTime() < MONTH_MS ? 'month' : 'year'

export const only = ({ start, end }: Pick<Period, 'start' | 'end'>) => ({ start, end })

/** Of a plan: how many credits that may expire stay at most; null: all, for good. */
interface Rule {
  readonly carryOver: number | null
}

interface Granting {
  readonly startedAt: Date
  /** The one that was looked at last. */
  readonly period: Period | null
  readonly granted: GrantedPeriods
}

/** Also the period of a release that did not keep those that it had granted. */
export function grantedOf({ granted, period, startedAt }: Granting): { month?: GrantedPeriod; year?: GrantedPeriod } {
  if (!period?.credits) return { ...granted }
  const { start, end, credits } = period
  const kind = kindOf(period)
  const last = granted[kind]
  if (last && last.start.getTime() === start.getTime() && last.end.getTime() === end.getTime()) {
    // The release before may have granted more in it meanwhile.
    const more = Math.max(credits - last.credits, 0)
    return more === 0
      ? { ...granted }
      : { ...granted, [kind]: { ...last, credits, left: kind === 'year' ? last.left + more : 0 } }
  }
  return { ...granted, [kind]: { startedAt, start, end, credits, left: kind === 'year' ? credits : 0 } }
}

/**
 * What expires when a period ends.
 * @param held credits of the account that expire
 * @param year that was granted: while it goes on, what is left of it is for the months to come
 */
export function expiryAtEnd(period: Period, { carryOver }: Rule, held: number, year?: GrantedPeriod | undefined) {
  const isAhead = year && kindOf(period) === 'month' && year.end > period.end && year.start < period.end
  const credits = carryOver === null ? 0 : held - carryOver - (isAhead ? year.left : 0)
  if (credits <= 0) return undefined
  const ref = `expire:${period.start.toISOString()}`
  return { kind: 'expire', credits, expires: true, ref, note: `${period.plan}, left of ${spanOf(period)}` } as const
}

/**
 * What expires when a subscription is taken away while a period runs, and what was granted then: a subscription that begins
 * again before the end of the period is granted again what expired.
 */
export function endEarly(
  state: Granting & { readonly period: Period },
  plan: Rule,
  held: number,
  now: Date,
): { readonly entry: PeriodEntry | undefined; readonly granted: GrantedPeriods } {
  const { period } = state
  const granted = grantedOf(state)
  const entry = expiryAtEnd(period, plan, held)
  if (!entry) return { entry, granted }
  let rest = entry.credits
  const { month, year } = granted
  const isMonth = kindOf(period) === 'month'
  if (isMonth && month && month.end > now) {
    const back = Math.min(rest, month.credits)
    granted.month = { ...month, credits: month.credits - back }
    rest -= back
  }
  if (year && year.end > now) {
    const back = Math.min(rest, isMonth ? year.left : year.credits)
    granted.year = { ...year, credits: year.credits - back, left: Math.max(year.left - back, 0) }
  }
  return { entry: { ...entry, ref: `${entry.ref}:${now.toISOString()}` }, granted }
}

export const spanOf = ({ start, end }: Pick<Period, 'start' | 'end'>) => `${dayOf(start)} to ${dayOf(end)}`
const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)
