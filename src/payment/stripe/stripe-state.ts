import type Stripe from 'stripe'
import { periodAt } from '../../core/accounts/period.js'
import type { Customer, PaidSubscription, Payment } from '../../core/billing/payment-provider.js'
import { emailAddressIn } from '../../lib/email-address.js'
import { idOf } from './stripe-events.js'

/** In the metadata of a customer: the account that it was made for. */
export const ACCOUNT = 'easel_account'

/** What is in the metadata of a payment for a credit pack. */
export const packMetadata = (accountId: string, pack: string, credits: number) => ({
  [ACCOUNT]: accountId,
  easel_pack: pack,
  easel_credits: String(credits),
})

type Invoice = Stripe.Invoice
type Subscription = Stripe.Subscription

/** Which prices are those of plans, for a subscription of this ID. */
type PlansOf = (subscription: string) => Promise<readonly string[]>

const at = (seconds: number) => new Date(seconds * 1000)

/** Undefined: Stripe knows none of that ID. */
export async function orNone<T extends object>(asked: Promise<T>): Promise<T | undefined> {
  try {
    const answer = await asked
    // The package takes whatever JSON a proxy answers with for Stripe's own.
    if (!Array.isArray(answer) && !('object' in answer)) throw new Error('Somebody else answered in place of Stripe')
    return answer
  } catch (error) {
    if ((error as { code?: unknown }).code === 'resource_missing') return undefined
    throw error
  }
}

/** @param plans prices of plans: of several items the one with such a price counts, and others are of no concern */
export async function subscriptionState(
  stripe: Stripe,
  id: string,
  plans: readonly string[] = [],
): Promise<PaidSubscription | undefined> {
  const found = await orNone(stripe.subscriptions.retrieve(id, { expand: ['customer'] }))
  const item = found && planItem(found, plans)
  if (!found || !item) return undefined
  const { cancel_at, cancel_at_period_end, ended_at, trial_end } = found
  const { until, isPending, changeIsUnpaid, isPaidLate } = await paidBy(stripe, found, item)
  const paid = Math.max(until, found.status === 'trialing' ? (trial_end ?? 0) : 0)
  const endsAt = ended_at ?? cancel_at ?? (cancel_at_period_end ? item.current_period_end : null)
  const next = endsAt === null ? await scheduledChange(stripe, idOf(found.schedule), item.price.id, plans) : undefined
  return {
    ...{ id, customer: customerOf(found.customer), price: item.price.id, status: statusOf(found, isPending) },
    // After a trial the periods that are paid begin anew.
    startedAt: at(found.status === 'trialing' ? found.start_date : found.billing_cycle_anchor),
    paidUntil: at(Math.min(paid, endsAt ?? paid)),
    endsAt: endsAt === null ? null : at(endsAt),
    ...(next && { next }),
    ...(changeIsUnpaid && { changeIsUnpaid }),
    ...(isPaidLate && { isPaidLate }),
  }
}

function planItem({ items: { data } }: Subscription, plans: readonly string[]): Stripe.SubscriptionItem | undefined {
  const isLicensed = ({ price }: Stripe.SubscriptionItem) => price.recurring?.usage_type !== 'metered'
  return data.find(({ price }) => plans.includes(price.id)) ?? data.find(isLicensed) ?? data[0]
}

function statusOf({ status, pause_collection: pause }: Subscription, isPending: boolean): PaidSubscription['status'] {
  if (status === 'canceled' || status === 'incomplete_expired') return 'ended'
  if (pause || status === 'paused') return 'paused'
  if (status === 'past_due') return 'past_due'
  // Stripe goes on with it until a debit has failed, which takes up to 14 working days.
  if (status === 'active' && isPending) return 'pending'
  return status === 'active' || status === 'trialing' ? 'active' : 'unpaid'
}

/** Asked for apart: a restricted key that may not read schedules would otherwise be refused the subscription, too. */
async function scheduledChange(
  stripe: Stripe,
  id: string | null,
  price: string,
  plans: readonly string[],
): Promise<PaidSubscription['next']> {
  const schedule = id === null ? undefined : await orNone(stripe.subscriptionSchedules.retrieve(id)).catch(ifPermitted)
  const since = schedule?.status === 'active' ? schedule.current_phase?.end_date : undefined
  if (!schedule || since === undefined) return undefined
  for (const { start_date, items } of schedule.phases) {
    if (start_date < since) continue
    const prices = items.flatMap((it) => idOf(it.price) ?? [])
    const next = prices.find((it) => plans.includes(it)) ?? prices[0]
    if (next !== undefined && next !== price) return { price: next, startsAt: at(start_date) }
  }
  return undefined
}

function ifPermitted(error: unknown): undefined {
  if ((error as { type?: unknown }).type !== 'StripePermissionError') throw error
}

/**
 * The end of the last period that an invoice was paid for. A subscription is `active` in its next period, too, for the hour
 * or more in which that period's invoice waits; so its own `current_period_end` does not say it. A change of price shows in
 * the subscription at once, too, also while its invoice is not paid. What is open when a subscription ends can be paid later.
 */
async function paidBy(
  stripe: Stripe,
  { id, start_date, ended_at, items }: Subscription,
  item: Stripe.SubscriptionItem,
) {
  let isPending = false
  let changeIsUnpaid = false
  let isPaidLate = false
  /** If an item has taken the place of another one, its periods are the subscription's. */
  let untilOfAny: number | undefined
  const isOwn = ({ parent }: Stripe.InvoiceLineItem) =>
    items.data.length === 1 || parent?.subscription_item_details?.subscription_item === item.id
  for await (const invoice of stripe.invoices.list({ subscription: id, limit: 10 })) {
    const { status, billing_reason, amount_paid, status_transitions } = invoice
    const lines = invoice.lines.data.filter(isPeriod)
    if (status !== 'paid') {
      changeIsUnpaid ||= billing_reason === 'subscription_update'
      isPending ||= status === 'open' && lines.some(isOwn)
      continue
    }
    isPaidLate ||= ended_at !== null && amount_paid > 0 && (status_transitions.paid_at ?? 0) > ended_at
    if (lines.length > 0) untilOfAny ??= lastEndOf(lines)
    const own = lines.filter(isOwn)
    if (own.length > 0) return { until: lastEndOf(own), isPending, changeIsUnpaid, isPaidLate }
  }
  return { until: untilOfAny ?? start_date, isPending, changeIsUnpaid, isPaidLate }
}

const lastEndOf = (lines: readonly Stripe.InvoiceLineItem[]) => Math.max(...lines.map(({ period }) => period.end))

/** Not the difference between two prices. */
const isPeriod = ({ parent }: Stripe.InvoiceLineItem) => parent?.subscription_item_details?.proration === false

/** @param plansOf prices of plans for a subscription: what is paid for its other items alone is paid for nothing of ours */
export async function paymentState(
  stripe: Stripe,
  id: string,
  plansOf: PlansOf = async () => [],
): Promise<Payment | undefined> {
  if (!id.startsWith('pi_')) return sessionPayment(stripe, id, plansOf)
  const intent = await orNone(stripe.paymentIntents.retrieve(id, { expand: ['latest_charge', 'customer'] }))
  if (!intent) return undefined
  const { latest_charge: charge, metadata, status } = intent
  const { created = intent.created, disputed, amount_refunded: refunded = 0 } = (charge ?? {}) as Partial<Stripe.Charge>
  const isPaid = status === 'succeeded'
  const amount = isPaid ? intent.amount_received : intent.amount
  const disputes = disputed ? await disputedAmount(stripe, id) : 0
  return {
    ...{
      id,
      customer: intent.customer === null ? null : customerOf(intent.customer),
      isPaid,
      ...(status === 'processing' && { isPending: true }),
      paidAt: isPaid ? at(created) : null,
    },
    ...{ amount, currency: intent.currency, returned: Math.min(amount, refunded + disputes) },
    of: packOf(metadata) ?? (await periodPaidBy(stripe, id, plansOf)),
  }
}

/** A pack for which nothing had to be paid. */
async function sessionPayment(stripe: Stripe, id: string, plansOf: PlansOf): Promise<Payment | undefined> {
  const session = await orNone(stripe.checkout.sessions.retrieve(id, { expand: ['customer'] }))
  const intent = idOf(session?.payment_intent)
  if (!session || intent) return intent ? paymentState(stripe, intent, plansOf) : undefined
  const isPaid = session.status === 'complete' && session.payment_status === 'no_payment_required'
  return {
    ...{ id, customer: session.customer === null ? null : customerOf(session.customer), isPaid },
    ...{ paidAt: isPaid ? at(session.created) : null, amount: session.amount_total ?? 0, returned: 0 },
    ...{ currency: session.currency ?? '', of: packOf(session.metadata ?? {}) },
  }
}

function packOf(metadata: Stripe.Metadata): Payment['of'] {
  const { [ACCOUNT]: accountId, easel_pack: pack, easel_credits: text } = metadata
  const credits = Number(text)
  if (accountId === undefined || pack === undefined || !Number.isSafeInteger(credits) || credits <= 0) return null
  return { pack, credits, accountId }
}

/** A payment no longer names its invoice since API version 2025-03-31. */
async function periodPaidBy(stripe: Stripe, intent: string, plansOf: PlansOf): Promise<Payment['of']> {
  const payment = { type: 'payment_intent' as const, payment_intent: intent }
  const { data } = await stripe.invoicePayments.list({ payment, limit: 1, expand: ['data.invoice'] })
  const invoice = data[0]?.invoice
  if (!invoice || typeof invoice === 'string' || invoice.deleted) return null
  const subscription = idOf(invoice.parent?.subscription_details?.subscription)
  if (subscription === null) return null
  const found = await orNone(stripe.subscriptions.retrieve(subscription))
  const plans = await plansOf(subscription)
  const item = found && planItem(found, plans)
  const isOwn = ({ parent, pricing }: Stripe.InvoiceLineItem) =>
    found?.items.data.length === 1 ||
    parent?.subscription_item_details?.subscription_item === item?.id ||
    plans.includes(idOf(pricing?.price_details?.price) ?? '')
  const lines = item ? invoice.lines.data.filter(isOwn) : invoice.lines.data
  if (lines.length === 0 && invoice.lines.data.length > 0) return null
  return { subscription, periodStart: periodStartOf(invoice, lines, found && item && { found, item }) }
}

interface PlanOf {
  readonly found: Subscription
  readonly item: Stripe.SubscriptionItem
}

function periodStartOf({ created }: Invoice, lines: readonly Stripe.InvoiceLineItem[], plan: PlanOf | undefined): Date {
  const period = lines.find(isPeriod)?.period
  if (period) return at(period.start)
  // The difference between two prices was paid within a period.
  const changed = at(lines[0]?.period.start ?? created)
  if (!plan) return changed
  const every = plan.item.price.recurring?.interval === 'year' ? 'year' : 'month'
  return periodAt(at(plan.found.billing_cycle_anchor), every, changed).start
}

/** What banks have taken back, and not given again. Of an inquiry no money is gone. */
async function disputedAmount(stripe: Stripe, intent: string): Promise<number> {
  const { data } = await stripe.disputes.list({ payment_intent: intent, limit: 100 })
  return data
    .filter(({ status }) => !['won', 'prevented'].includes(status) && !status.startsWith('warning_'))
    .reduce((sum, { amount }) => sum + amount, 0)
}

function customerOf(customer: string | Stripe.Customer | Stripe.DeletedCustomer): Customer {
  if (typeof customer === 'string' || customer.deleted)
    return { id: idOf(customer) as string, email: null, accountId: null }
  // As accounts have it: people write a domain with other letters in two ways.
  const email = customer.email && (emailAddressIn(customer.email) ?? customer.email)
  return { id: customer.id, email, accountId: customer.metadata[ACCOUNT] ?? null }
}
