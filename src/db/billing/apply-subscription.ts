/** What a paid subscription makes of its account. */
import { sql } from 'drizzle-orm'
import { decidingSubscription, type PlannedSubscription } from '../../core/billing/effects.js'
import type { PaidSubscription } from '../../core/billing/payment-provider.js'
import type { Problem } from '../../core/billing/ports.js'
import { endPeriod, forgetPaidPeriods } from '../accounts/subscription-periods.js'
import { notices as n, plans, subscriptions as s, users as u } from '../schema/accounts.js'
import { paymentCustomers as c, paymentObjects as o, paidSubscriptions as p } from '../schema/billing.js'
import { operatorActions as a } from '../schema/operator.js'
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
import { accountOfCustomer } from './account-of-customer.js'

const FACTS = ['customer', 'price', 'status', 'startedAt', 'paidUntil', 'endsAt', 'nextPrice', 'nextAt'] as const

const CHANGE_IS_UNPAID = sql`${param('changeIsUnpaid')}::boolean`

const KEEP = statement('keep_paid_subscription')`
  ${insertInto(p, typedParams(p, 'id', ...FACTS))}
  ON CONFLICT (id) DO UPDATE SET
    customer = excluded.customer, status = excluded.status, paid_until = excluded.paid_until, ends_at = excluded.ends_at,
    next_price = excluded.next_price, next_at = excluded.next_at,
    price = CASE WHEN ${CHANGE_IS_UNPAID} THEN paid_subscriptions.price ELSE excluded.price END,
    started_at = CASE WHEN ${CHANGE_IS_UNPAID} THEN paid_subscriptions.started_at ELSE excluded.started_at END,
    plan = CASE WHEN ${CHANGE_IS_UNPAID} OR paid_subscriptions.price = excluded.price THEN paid_subscriptions.plan END`

/** What another service of the same owner sells is of no plan, and of nobody's customer here. */
const IS_OURS = statement('paid_subscription_is_ours')`
  SELECT WHERE EXISTS (SELECT FROM ${plans} WHERE ${plans.price} = ${param('price')}::text)
     OR EXISTS (SELECT FROM ${p} WHERE (${p.id} = ${param('id')}::text OR ${p.price} = ${param('price')}::text) AND ${p.plan} IS NOT NULL)
     OR EXISTS (SELECT FROM ${c} WHERE ${c.id} = ${param('customer')}::text AND ${c.userId} IS NOT NULL)`

const STATUS = statement<{ status: string }>('status_of_paid_subscription')`
  SELECT ${selectAs(columns(p, 'status'))} FROM ${p} WHERE ${p.id} = ${param('id')}::text`

const NOTE_FAILED = statement('note_failed_payment')`
  INSERT INTO ${n} (user_id, kind, data) VALUES (${param('userId')}::uuid, 'payment.failed', ${param('data')}::jsonb)`

// Who subscribed at a price keeps the plan when it gets another one.
const NAME_PLAN = statement('name_plan_of_paid_subscription')`
  UPDATE ${p} SET plan = coalesce(
      (SELECT ${plans.name} FROM ${plans} WHERE ${plans.price} = ${p.price}
        ORDER BY ${plans.retiredAt} IS NOT NULL, ${plans.name} LIMIT 1),
      ${p.plan},
      (SELECT o.plan FROM ${p} o WHERE o.price = ${p.price} AND o.plan IS NOT NULL LIMIT 1))
   WHERE ${p.id} = ${param('id')}::text`

// In the order of the periods: the subscription before its account.
const LOCK_SUBSCRIPTION = statement<{
  byHand: boolean
  plan: string
  endDate: Date
  startedAt: Date
  paidUntil: Date | null
}>('lock_subscription_to_pay')`
  SELECT ${selectAs({
    byHand: sql<boolean>`(${s.paidUntil} IS NULL AND ${s.status} = 'active')`,
    ...columns(s, 'plan', 'endDate', 'startedAt', 'paidUntil'),
  })} FROM ${s} WHERE ${s.userId} = ${param('userId')}::uuid FOR NO KEY UPDATE`
const LOCK_ACCOUNT = statement<{ username: string; deletedAt: Date | null }>('lock_account_to_pay')`
  SELECT ${selectAs(columns(u, 'username', 'deletedAt'))} FROM ${u} WHERE ${u.id} = ${param('userId')}::uuid
     FOR NO KEY UPDATE`

const PLANNED = columns(p, 'id', 'price', 'plan', 'status', 'startedAt', 'paidUntil', 'endsAt')
const OF_ACCOUNT = statement<RowOf<typeof PLANNED>>('paid_subscriptions_of_account')`
  SELECT ${selectAs(PLANNED)} FROM ${p} JOIN ${c} ON ${c.id} = ${p.customer} WHERE ${c.userId} = ${param('userId')}::uuid`

const SET = statement('set_paid_for_subscription')`
  ${insertInto(s, typedParams(s, 'userId', 'plan', 'status', 'endDate', 'startedAt', 'paidUntil'))}
  ON CONFLICT (user_id) DO UPDATE SET
    plan = excluded.plan, status = excluded.status, end_date = excluded.end_date, started_at = excluded.started_at,
    paid_until = excluded.paid_until, check_at = now()
   WHERE (subscriptions.plan, subscriptions.status, subscriptions.end_date, subscriptions.started_at, subscriptions.paid_until)
         IS DISTINCT FROM (excluded.plan, excluded.status, excluded.end_date, excluded.started_at, excluded.paid_until)`

const BEGIN_ANEW = statement('begin_periods_anew')`
  UPDATE ${s} SET ${setList(s, { periodStart: null, periodEnd: null, periodPlan: null, periodCredits: null })}
   WHERE ${s.userId} = ${param('userId')}::uuid`

const TELL = statement('tell_of_replaced_subscription')`
  ${insertInto(a, { actor: 'payment', ...typedParams(a, 'action', 'target', 'reason') })}`

const CANCEL = statement('cancel_paid_subscriptions')`
  INSERT INTO ${o} (kind, id, customer) VALUES ('cancellation', ${param('customer')}::text, ${param('customer')}::text)
  ON CONFLICT (kind, id) DO UPDATE SET due_at = least(payment_objects.due_at, now())`

/** In a transaction. Resolves to why it could not be applied. */
export async function applySubscription(
  on: Queryable,
  { customer, ...paid }: PaidSubscription,
  graceDays: number,
  now: Date,
): Promise<Problem | null> {
  const isOurs = customer.accountId !== null || (await IS_OURS.count(on, { ...paid, customer: customer.id })) > 0
  if (!isOurs) return null
  const userId = await accountOfCustomer(on, customer)
  // The customer is locked now: what was known of its subscription stays so.
  const known = await STATUS.first(on, paid)
  const { next, changeIsUnpaid = false } = paid
  const scheduled = { nextPrice: next?.price ?? null, nextAt: next?.startsAt ?? null }
  await KEEP.run(on, { ...paid, ...scheduled, customer: customer.id, changeIsUnpaid })
  await NAME_PLAN.run(on, paid)
  if (!userId) return 'no_account'
  const before = await LOCK_SUBSCRIPTION.first(on, { userId })
  const account = await LOCK_ACCOUNT.first(on, { userId })
  if (!account) return 'no_account'
  if (account.deletedAt) {
    if (paid.status !== 'ended') await CANCEL.run(on, { customer: customer.id })
    return null
  }
  const all = await OF_ACCOUNT.rows(on, { userId })
  const planned = all.filter((it): it is PlannedSubscription => it.plan !== null)
  const decided = decidingSubscription(planned, graceDays, now)
  const byHand = before?.byHand === true && before.endDate > now
  // What an operator set stays as it is, unless something is paid.
  if (decided && (decided.isLive || !byHand)) {
    // What was paid to nobody, or is over, counts against no grant of what is bought now.
    const wasPaid = before?.paidUntil && before.endDate > now
    if (before && !wasPaid && decided.isLive && before.startedAt.getTime() !== decided.startedAt.getTime()) {
      await endPeriod(on, userId)
      await BEGIN_ANEW.run(on, { userId })
      await forgetPaidPeriods(on, userId)
    }
    await SET.run(on, { ...decided, userId })
    const { username: target } = account
    if (byHand && decided.isLive)
      await TELL.run(on, {
        action: `replaced the subscription by the paid plan ${decided.plan}`,
        target,
        reason: `${before.plan} until ${before.endDate.toISOString().slice(0, 10)} was set by hand.`,
      })
  }
  if (paid.isPaidLate) return 'paid_late'
  if (decided?.superfluous.includes(paid.id)) return 'superfluous'
  if (decided?.isLive && paid.status === 'past_due' && known?.status !== 'past_due')
    await NOTE_FAILED.run(on, { userId, data: JSON.stringify({ plan: decided.plan, endDate: decided.endDate }) })
  return planned.some(({ id }) => id === paid.id) ? null : 'no_plan'
}
