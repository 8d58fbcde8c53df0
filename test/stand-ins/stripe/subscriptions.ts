import { after, type Clock, DAY } from './clock.js'
import type { Events } from './events.js'
import type { Invoices } from './invoices.js'
import type { Invoice, Objects, Price, Subscription, SubscriptionSchedule } from './objects.js'

const HOUR = 3600
/** Days after the first failed attempt. */
const RETRIES = [3, 5, 7]

export interface NewSubscription {
  readonly customer: string
  readonly price: string
  readonly metadata?: Record<string, string>
  readonly trialDays?: number
  /** Whether the first invoice costs nothing. */
  readonly isFirstFree?: boolean
}

/** Subscriptions and their renewals. @param afterRetries what becomes of one whose invoice is never paid */
export function createSubscriptions(
  { objects, events, clock }: { readonly objects: Objects; readonly events: Events; readonly clock: Clock },
  invoices: Invoices,
  settings: { afterRetries: 'cancel' | 'unpaid' },
) {
  const next = new Map<string, Price>()
  const changed = (subscription: Subscription) => events.emit('customer.subscription.updated', subscription)
  const isOver = ({ status }: Subscription) => status === 'canceled' || status === 'incomplete_expired'
  const get = (id: string) => objects.get<Subscription>('subscription', id)
  const priceOf = (id: string) => objects.get<Price>('price', id)
  const amountOf = (price: Price) => price.unit_amount ?? 0
  const intervalOf = ({ recurring }: Price) => recurring?.interval ?? 'month'

  function setPeriod(subscription: Subscription, start: number, end: number): void {
    const [item] = subscription.items.data
    item.current_period_start = start
    item.current_period_end = end
    clock.at(end, () => {
      // Another timer has its place when the period was changed meanwhile.
      if (!isOver(subscription) && item.current_period_end === end) renew(subscription)
    })
  }

  function end(subscription: Subscription, at = clock.now()): void {
    if (isOver(subscription)) return
    subscription.status = 'canceled'
    subscription.ended_at = at
    subscription.canceled_at ??= at
    events.emit('customer.subscription.deleted', subscription)
  }

  /** As the portal schedules a change. */
  function schedule(subscription: Subscription, price: Price): void {
    release(subscription)
    const [{ price: old, current_period_start: start, current_period_end: end }] = subscription.items.data
    const phase = (its: Price, from: number, to: number) => ({
      ...{ start_date: from, end_date: to, items: [{ price: its.id, quantity: 1 as const }] },
    })
    const made = objects.add<SubscriptionSchedule>({
      ...{ id: objects.newId('sub_sched'), object: 'subscription_schedule', created: clock.now(), status: 'active' },
      ...{ subscription: subscription.id, released_subscription: null },
      current_phase: { start_date: start, end_date: end },
      phases: [phase(old, start, end), phase(price, end, after(end, intervalOf(price), 1))],
    })
    next.set(subscription.id, price)
    subscription.schedule = made.id
    events.emit('subscription_schedule.created', made)
  }

  function release(subscription: Subscription): void {
    next.delete(subscription.id)
    if (subscription.schedule === null) return
    const its = objects.get<SubscriptionSchedule>('subscription_schedule', subscription.schedule)
    const freed = { subscription: null, released_subscription: subscription.id, current_phase: null }
    Object.assign(its, { status: 'released', ...freed })
    subscription.schedule = null
    events.emit('subscription_schedule.released', its)
  }

  function renew(subscription: Subscription): void {
    const [item] = subscription.items.data
    if (subscription.status === 'paused') return
    if (subscription.cancel_at !== null && subscription.cancel_at <= clock.now()) {
      end(subscription)
      return
    }
    const start = item.current_period_end
    if (subscription.status === 'trialing') subscription.status = 'active'
    const other = next.get(subscription.id)
    if (other) {
      if (intervalOf(other) !== intervalOf(item.price)) subscription.billing_cycle_anchor = start
      item.price = other
      release(subscription)
    }
    const { price } = item
    let n = 1
    while (after(subscription.billing_cycle_anchor, intervalOf(price), n) <= start) n++
    const until = after(subscription.billing_cycle_anchor, intervalOf(price), n)
    setPeriod(subscription, start, until)
    const lines = [{ price, amount: amountOf(price), start, end: until }]
    const invoice = invoices.draft(subscription, 'subscription_cycle', lines)
    changed(subscription)
    if (subscription.pause_collection) invoices.drop(invoice)
    if (subscription.pause_collection || subscription.status === 'unpaid') return
    // Stripe leaves a renewal an hour as a draft.
    clock.at(clock.now() + HOUR, () => {
      if (invoice.status === 'draft' && !isOver(subscription)) collect(subscription, invoice, 0)
    })
  }

  function collect(subscription: Subscription, invoice: Invoice, tries: number): void {
    const outcome = invoices.attempt(invoice, (isPaid) => (isPaid ? recovered(subscription) : pastDue(subscription)))
    if (outcome === 'paid') recovered(subscription)
    if (outcome !== 'failed') return
    pastDue(subscription)
    const first = clock.now() - (tries > 0 ? (RETRIES[tries - 1] ?? 0) * DAY : 0)
    const days = RETRIES[tries]
    clock.at(first + (days ?? (RETRIES.at(-1) ?? 0) + 1) * DAY, () => {
      if (invoice.status !== 'open' || isOver(subscription)) return
      if (days !== undefined) return collect(subscription, invoice, tries + 1)
      if (settings.afterRetries === 'cancel') return end(subscription)
      subscription.status = 'unpaid'
      changed(subscription)
    })
  }

  function pastDue(subscription: Subscription): void {
    if (subscription.status !== 'active') return
    subscription.status = 'past_due'
    changed(subscription)
  }

  function recovered(subscription: Subscription): void {
    if (subscription.status !== 'past_due' && subscription.status !== 'unpaid') return
    subscription.status = 'active'
    changed(subscription)
  }

  return {
    create({
      customer,
      price: priceId,
      metadata = {},
      trialDays = 0,
      isFirstFree = false,
    }: NewSubscription): Subscription {
      const price = priceOf(priceId)
      const now = clock.now()
      const trialEnd = trialDays > 0 ? now + trialDays * DAY : null
      const until = trialEnd ?? after(now, intervalOf(price), 1)
      const item = { object: 'subscription_item' as const, price, current_period_start: now, current_period_end: until }
      const made = objects.add<Subscription>({
        ...{ id: objects.newId('sub'), object: 'subscription', created: now, customer, status: 'incomplete' },
        ...{ start_date: now, billing_cycle_anchor: trialEnd ?? now, cancel_at: null, cancel_at_period_end: false },
        ...{
          canceled_at: null,
          ended_at: null,
          trial_end: trialEnd,
          pause_collection: null,
          schedule: null,
          latest_invoice: null,
          metadata,
        },
        items: { object: 'list', data: [{ id: objects.newId('si'), ...item, quantity: 1 }], has_more: false },
      })
      setPeriod(made, now, until)
      const amount = trialEnd ? 0 : amountOf(price)
      const line = { price, amount, start: now, end: until }
      const invoice = invoices.draft(made, 'subscription_create', [line], isFirstFree ? amount : 0)
      const outcome = invoices.attempt(invoice, (isPaid) => {
        if (!isPaid) pastDue(made)
      })
      // A debit that takes days counts as paid until it fails.
      if (outcome !== 'failed') made.status = trialEnd ? 'trialing' : 'active'
      else clock.at(now + 23 * HOUR, () => expire(made, invoice))
      events.emit('customer.subscription.created', made)
      return made
    },

    /** At once, or when what is paid is over. */
    cancel(id: string, when: 'now' | 'period_end' = 'now'): Subscription {
      const subscription = get(id)
      if (when === 'now') end(subscription)
      else {
        subscription.cancel_at_period_end = true
        subscription.cancel_at = subscription.items.data[0].current_period_end
        subscription.canceled_at = clock.now()
        changed(subscription)
      }
      return subscription
    },

    /** Takes back that it ends with its period. */
    keep(id: string): Subscription {
      const subscription = get(id)
      Object.assign(subscription, { cancel_at_period_end: false, cancel_at: null, canceled_at: null })
      changed(subscription)
      return subscription
    },

    /** Invoices are made and dropped until `resume`. */
    pause(id: string): Subscription {
      const subscription = get(id)
      subscription.pause_collection = { behavior: 'void', resumes_at: null }
      changed(subscription)
      return subscription
    },
    resume(id: string): Subscription {
      const subscription = get(id)
      subscription.pause_collection = null
      changed(subscription)
      return subscription
    },

    /**
     * As the portal does it: at once, with a period that begins then, or when what is paid is over. `prorated`: as the
     * dashboard does it, within the period that runs if the interval is the same.
     */
    change(id: string, priceId: string, when: 'now' | 'prorated' | 'period_end' = 'now'): Subscription {
      const subscription = get(id)
      const price = priceOf(priceId)
      const [item] = subscription.items.data
      if (when === 'period_end') {
        schedule(subscription, price)
        return subscription
      }
      const { current_period_start: from, current_period_end: to, price: old } = item
      const now = clock.now()
      const share = (to - now) / (to - from)
      const back = { price: old, amount: -Math.round(amountOf(old) * share), start: now, end: to, isProration: true }
      item.price = price
      release(subscription)
      let line = { price, amount: Math.round(amountOf(price) * share), start: now, end: to, isProration: true }
      if (when === 'now' || intervalOf(price) !== intervalOf(old)) {
        subscription.billing_cycle_anchor = now
        setPeriod(subscription, now, after(now, intervalOf(price), 1))
        line = { ...line, amount: amountOf(price), end: item.current_period_end, isProration: false }
      }
      const invoice = invoices.draft(subscription, 'subscription_update', [back, line])
      changed(subscription)
      collect(subscription, invoice, 0)
      return subscription
    },

    /** The customer pays what is open. */
    payOpen(id: string): void {
      const subscription = get(id)
      for (const invoice of objects
        .list<Invoice>('invoice', ['subscription', id])
        .filter((it) => it.status === 'open')) {
        if (invoices.attempt(invoice, (isPaid) => isPaid && recovered(subscription)) !== 'paid') continue
        if (subscription.status === 'incomplete') {
          subscription.status = 'active'
          changed(subscription)
        } else recovered(subscription)
      }
    },
  }

  function expire(subscription: Subscription, invoice: Invoice): void {
    if (subscription.status !== 'incomplete') return
    invoices.drop(invoice)
    subscription.status = 'incomplete_expired'
    subscription.ended_at = clock.now()
    changed(subscription)
  }
}

export type Subscriptions = ReturnType<typeof createSubscriptions>
