/** What follows from what was paid. */
import type { PaidSubscription, Payment } from './payment-provider.js'

/** What a paid subscription makes of the account's subscription. */
export interface SubscriptionTerms {
  readonly status: 'active' | 'paused'
  /** From here periods are counted. */
  readonly startedAt: Date
  /** Periods that begin before are granted. */
  readonly paidUntil: Date
  /** Until then it may be used. */
  readonly endDate: Date
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So long a bank may take until a debit has succeeded or failed: 14 working days. */
const DEBIT_DAYS = 21

/**
 * Rules:
 * - What renews may be used for some days of grace beyond what is paid, while the provider goes on trying; for as long as a
 *   bank may take, while the money is on its way.
 * - What was canceled ends exactly when it was canceled for, if it is paid until then, and what the provider gave up ends with
 *   what is paid.
 * - What is paused may be used until what is paid is over; then nothing may be used, and no period is granted.
 */
export function termsOf(
  { status, startedAt, endsAt, ...paid }: Omit<PaidSubscription, 'id' | 'customer' | 'price'>,
  graceDays: number,
  now: Date,
): SubscriptionTerms {
  const paidUntil = endsAt && endsAt < paid.paidUntil ? endsAt : paid.paidUntil
  const isPaused = status === 'paused' && paidUntil <= now
  const isGivenUp = status === 'unpaid' || status === 'ended' || status === 'paused'
  const days = status === 'pending' ? Math.max(graceDays, DEBIT_DAYS) : graceDays
  const graceEnd = new Date(paidUntil.getTime() + days * DAY_MS)
  const endDate = isGivenUp ? paidUntil : endsAt && endsAt < graceEnd ? endsAt : graceEnd
  return { status: isPaused ? 'paused' : 'active', startedAt, paidUntil, endDate }
}

/** A paid subscription of an account, and the plan of its price. */
export interface PlannedSubscription extends Omit<PaidSubscription, 'customer'> {
  readonly plan: string
}

/** What an account has by its paid subscriptions. */
export interface DecidedSubscription extends SubscriptionTerms {
  readonly id: string
  readonly plan: string
  /** Whether it may be used now. */
  readonly isLive: boolean
  /** Others that may be used now, too, and bring nothing more. */
  readonly superfluous: readonly string[]
}

/** One that was begun and never paid for gives nothing. */
const wasPaid = ({ status, paidUntil, startedAt }: PlannedSubscription) =>
  paidUntil > startedAt || status === 'active' || status === 'pending' || status === 'past_due'

/**
 * Of an account's paid subscriptions the one that counts: one that may be used now, else a paused one, else one that has
 * ended; of several the one that lasts longest. Undefined: none was ever paid.
 */
export function decidingSubscription(
  subscriptions: readonly PlannedSubscription[],
  graceDays: number,
  now: Date,
): DecidedSubscription | undefined {
  const paid = subscriptions.filter(wasPaid).map(({ id, plan, ...it }) => {
    const terms = termsOf(it, graceDays, now)
    return { id, plan, terms, isLive: terms.status === 'active' && terms.endDate > now }
  })
  const rank = ({ isLive, terms }: (typeof paid)[number]) => (isLive ? 2 : terms.status === 'paused' ? 1 : 0)
  const [first, ...others] = paid.toSorted(
    (one, other) =>
      rank(other) - rank(one) ||
      other.terms.endDate.getTime() - one.terms.endDate.getTime() ||
      (one.id < other.id ? -1 : 1),
  )
  if (!first) return undefined
  const { id, plan, terms, isLive } = first
  return { ...terms, id, plan, isLive, superfluous: others.filter((it) => it.isLive).map((it) => it.id) }
}

/** How many of the credits that a payment brought are to be taken back, when so much of its money went back. */
export function takenBackOf(
  credits: number,
  { amount, returned, isPaid }: Pick<Payment, 'amount' | 'returned' | 'isPaid'>,
) {
  if (!isPaid) return credits
  if (amount <= 0 || returned <= 0) return 0
  if (returned >= amount) return credits
  // In whole numbers: a product of the two may be beyond what a number holds exactly.
  return Number((BigInt(credits) * BigInt(returned) + BigInt(amount) - 1n) / BigInt(amount))
}

/** A subscription is asked for at least so often. */
const SUBSCRIPTION_MS = DAY_MS
/** Providers collect money some time after a period has begun. */
const AFTER_PERIOD_MS = 2 * HOUR_MS

/** When the provider is asked for a subscription again, though no event came; null: it is over. */
export function nextLookAtSubscription({ status, paidUntil, endsAt }: PaidSubscription, now: Date): Date | null {
  if (status === 'ended') return null
  const moments = [now.getTime() + SUBSCRIPTION_MS, paidUntil.getTime() + AFTER_PERIOD_MS]
  if (endsAt) moments.push(endsAt.getTime())
  return new Date(Math.min(...moments.filter((it) => it > now.getTime())))
}

/**
 * The same for what the provider does not have, though it was paid: the keys may be those of a sandbox or of another account
 * for a while. It is asked for daily, until it would have been over for a month.
 */
export function nextLookAtGone(paidUntil: Date | null, now: Date): Date | null {
  const isKnown = paidUntil !== null && now.getTime() < paidUntil.getTime() + PENDING_MS
  return isKnown ? new Date(now.getTime() + SUBSCRIPTION_MS) : null
}

/** A payment that is not there yet is asked for daily, for so long. */
const PENDING_MS = 30 * DAY_MS
/** One that is there weekly, as long as it can usually be disputed; hourly at first, where it was given back before its credits came. */
const DISPUTABLE_MS = 150 * DAY_MS

/** The same for a payment. @param hasWaiting money went back, for credits that are not there yet */
export function nextLookAtPayment(
  { isPaid, paidAt }: Pick<Payment, 'isPaid' | 'paidAt'>,
  { firstHeard, hasWaiting }: { readonly firstHeard: Date; readonly hasWaiting: boolean },
  now: Date,
): Date | null {
  const age = now.getTime() - (paidAt ?? firstHeard).getTime()
  const pause = hasWaiting && age < 3 * DAY_MS ? HOUR_MS : isPaid ? 7 * DAY_MS : DAY_MS
  return age < (isPaid ? DISPUTABLE_MS : PENDING_MS) ? new Date(now.getTime() + pause) : null
}
