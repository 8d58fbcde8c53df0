/**
 * Years of an account that pays through Stripe, by Stripe's own clock: what was granted, and taken back, is compared with the
 * invoices that Stripe says are paid, added up in another way than src/ does it.
 */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect } from 'vitest'
import { paymentLoop } from '../../../src/core/billing/payment-loop.js'
import { PaymentProviderFailure } from '../../../src/core/billing/payment-provider.js'
import { paymentReceiver } from '../../../src/core/billing/receive.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentFaultStore } from '../../../src/db/billing/payment-faults.js'
import { paymentQueue } from '../../../src/db/billing/payment-queue.js'
import type { Database } from '../../../src/db/client.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import type { Invoice, PaymentIntent, StripeEvent, Subscription } from '../../stand-ins/stripe/objects.js'
import { SECRET_KEY, type StripeStandIn, signed, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { givenUser } from '../../support/givens.js'
import { seeded } from '../../support/seeded.js'
import { silentLog } from '../../support/service.js'
import { until } from '../../support/until.js'

const HALF_DAY_MS = 43_200_000
const WEBHOOK_SECRET = 'whsec_stripe_years'
/** Far from the clock of this machine. */
const STARTS = ['2071-01-31T22:30:00Z', '2071-08-29T10:00:00Z', '2072-02-29T12:00:00Z']
/** By price, cheapest first. */
const PLANS = [
  { name: 'Month', every: 'month', amount: 1000, credits: 100 },
  { name: 'Dearer', every: 'month', amount: 5000, credits: 700 },
  { name: 'Year', every: 'year', amount: 10_000, credits: 1200 },
  { name: 'Large', every: 'year', amount: 60_000, credits: 9000 },
] as const

const plan = fc.nat(PLANS.length - 1)
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('subscribe' as const), plan }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('change' as const), plan }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('prorate' as const), plan }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('card' as const),
      card: fc.constantFrom('works' as const, 'works' as const, 'declined' as const, 'takes_days' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('refund' as const), of: fc.nat(20) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constantFrom(
        ...(['cancel', 'cancel', 'end', 'keep', 'pause', 'resume', 'pay'] as const),
        'settle' as const,
        'fail' as const,
      ),
    }),
  },
)
const step = fc.record({ act, days: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 45 })) })
export const stripeYears = (mostSteps: number) =>
  fc.record({
    start: fc.constantFrom(...STARTS),
    /** Of what becomes of each event: it is lost, or comes late, or twice. */
    fate: fc.string({ minLength: 1, maxLength: 8 }),
    first: plan,
    steps: fc.array(step, { minLength: mostSteps / 2, maxLength: mostSteps }),
  })
export type StripeYears = ReturnType<typeof stripeYears> extends fc.Arbitrary<infer T> ? T : never
type Act = StripeYears['steps'][number]['act']

/** Lets all of it happen, and compares at the end, when every event that was not lost has come. */
export async function expectGrantedAsPaid(db: Database, { start, fate, first, steps }: StripeYears): Promise<void> {
  // Each stand-in counts its IDs from the start.
  await db.pool.query(
    'TRUNCATE payment_objects, payment_events, paid_subscriptions, payments, payment_customers CASCADE',
  )
  await db.pool.query('UPDATE plans SET price = NULL')
  const stripe = await startStripeStandIn({ start: new Date(start) })
  try {
    await lived(db, stripe, fate, [{ act: { type: 'subscribe', plan: first }, days: 9 }, ...steps])
  } finally {
    await stripe.close()
  }
}

async function lived(db: Database, stripe: StripeStandIn, fate: string, steps: StripeYears['steps']): Promise<void> {
  stripe.events.hold()
  const provider = await stripeProvider({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url })
  const prices = PLANS.map((it) => stripe.givenPrice(it).id)
  for (const [n, { name, credits, every }] of PLANS.entries())
    await db.pool.query('INSERT INTO plans (name, credits, period, price) VALUES ($1, $2, $3, $4)', [
      ...[`${name} ${randomUUID()}`, credits, every, prices[n]],
    ])
  const user = await givenUser(db, { credits: 0, subscription: null })
  const customer = await provider.createCustomer({ id: user.id, username: user.username, email: null, language: null })
  await db.pool.query('INSERT INTO payment_customers (id, user_id) VALUES ($1, $2)', [customer, user.id])
  const easel = easelOf(db, stripe, provider, fate)
  const buyer = buyerOf(stripe, provider, { prices, customer, accountId: user.id })
  const told: string[] = []

  let now = stripe.now()
  const pass = async (days: number) => {
    for (let half = 0; half < 2 * days; half++) {
      now = new Date(now.getTime() + HALF_DAY_MS)
      stripe.advanceTo(now)
      buyer.settleOld()
      await easel.look()
    }
  }
  for (const { act, days } of steps) {
    if (await buyer.happen(act)) told.push(`${stripe.now().toISOString()} ${JSON.stringify(act)}`)
    await easel.look()
    await pass(days)
  }
  easel.loseNothing()
  await pass(8)
  await easel.stop()
  const { rows } = await db.pool.query(
    `SELECT coalesce(sum(delta) FILTER (WHERE ref LIKE 'period:%'), 0)::int AS granted,
            coalesce(-sum(delta) FILTER (WHERE ref LIKE 'payment:%'), 0)::int AS "takenBack" FROM credit_ledger WHERE user_id = $1`,
    [user.id],
  )
  const { rows: entries } = await db.pool.query('SELECT delta, ref FROM credit_ledger WHERE user_id = $1 ORDER BY id', [
    user.id,
  ])
  told.push(...buyer.invoices(), ...entries.map(({ delta, ref }) => `${delta} ${ref}`))
  expect(rows[0], told.join('\n')).toEqual(buyer.bill())
}

/** A server, whose events from Stripe are lost, late, twice and in any order. */
function easelOf(
  db: Database,
  stripe: StripeStandIn,
  provider: Awaited<ReturnType<typeof stripeProvider>>,
  fate: string,
) {
  const chance = seeded(fate)
  const receiver = paymentReceiver(provider, paymentEventStore(db), paymentFaultStore(db))
  const queue = paymentQueue(db, { graceDays: 3, now: stripe.now })
  const loop = paymentLoop({ queue, provider, log: silentLog() })
  let waiting: { readonly event: StripeEvent; readonly at: number }[] = []
  let seen = 0
  let losses = 0.3

  const isDue = async () => (await db.pool.query('SELECT FROM payment_objects WHERE due_at <= now()')).rows.length > 0

  return {
    loseNothing: () => {
      losses = 0
    },
    stop: () => loop.stop(60_000),

    async look(): Promise<void> {
      const now = stripe.now()
      for (const event of stripe.events.list.slice(seen)) {
        // Nothing but an event tells that the money of a period went back.
        const isLost = !event.type.startsWith('charge.') && !event.type.startsWith('refund.') && chance.next() < losses
        const times = isLost ? 0 : 1 + chance.below(2)
        for (let n = 0; n < times; n++)
          waiting.push({ event, at: now.getTime() + (chance.next() < 0.5 ? 0 : chance.below(9) * HALF_DAY_MS) })
      }
      seen = stripe.events.list.length
      for (const { event } of waiting.filter(({ at }) => at <= now.getTime()).toSorted(() => chance.next() - 0.5)) {
        const { body, signature } = signed(event, WEBHOOK_SECRET)
        expect(await receiver.receive(Buffer.from(body), signature)).not.toBe('refused')
      }
      waiting = waiting.filter(({ at }) => at > now.getTime())
      await queue.add(await provider.purchasesSince(new Date(now.getTime() - 10 * HALF_DAY_MS)))
      // What is to be looked at without any event, by Stripe's time.
      await db.pool.query('UPDATE payment_objects SET due_at = now() WHERE due_at <= $1', [now])
      await until(async () => {
        if (!(await isDue())) return true
        await loop.workOffDue()
        return false
      }, `everything until ${now.toISOString()} is worked off`)
      await Promise.all([periodStore(db).settle(now), periodStore(db).settle(now)])
    },
  }
}

/** Who buys and pays, and what by the invoices is owed for it. */
function buyerOf(
  stripe: StripeStandIn,
  provider: Awaited<ReturnType<typeof stripeProvider>>,
  {
    prices,
    customer,
    accountId,
  }: { readonly prices: readonly string[]; readonly customer: string; readonly accountId: string },
) {
  const refunded = new Set<string>()
  let card: 'works' | 'declined' | 'takes_days' = 'works'

  const subscriptions = () => stripe.objects.list<Subscription>('subscription', ['customer', customer]).toReversed()
  const running = () => subscriptions().find(({ status }) => !['canceled', 'incomplete_expired'].includes(status))
  const invoicesOf = ({ id }: Subscription) =>
    stripe.objects.list<Invoice>('invoice', ['subscription', id]).toReversed()
  const hasOpen = (it: Subscription) => invoicesOf(it).some(({ status }) => status === 'open' || status === 'draft')
  const processing = () =>
    stripe.objects
      .list<PaymentIntent>('payment_intent', ['customer', customer])
      .filter(({ status }) => status === 'processing')
  const planAt = (price: string) => PLANS[prices.indexOf(price)] as (typeof PLANS)[number]
  const periodOf = ({ lines }: Invoice) => lines.data.find(({ parent }) => !parent.subscription_item_details.proration)

  const ACTS: {
    readonly [Type in Act['type']]: (its: Subscription | undefined, act: Act & { readonly type: Type }) => unknown
  } = {
    card: (_, { card: next }) => {
      card = next
      stripe.setCard(customer, next)
      return true
    },
    async subscribe(its, { plan }) {
      if (its || card === 'declined') return false
      const order = { customer, accountId, item: { plan: 'any' }, price: prices[plan] as string }
      const page = { returnTo: 'http://easel.test/account', cancelTo: 'http://easel.test/account' }
      return stripe.pay(await provider.checkout({ ...order, ...page }), card)
    },
    // As the portal does it: what is cheaper or shorter waits.
    change(its, { plan }) {
      if (its?.status !== 'active' || its.cancel_at !== null || its.pause_collection || hasOpen(its)) return false
      const [from, to] = [planAt(its.items.data[0].price.id), PLANS[plan] as (typeof PLANS)[number]]
      if (from === to) return false
      const isLater = to.amount < from.amount || (from.every === 'year' && to.every === 'month')
      return stripe.change(its.id, prices[plan] as string, isLater ? 'period_end' : 'now')
    },
    // As the dashboard does it.
    prorate(its, { plan }) {
      if (its?.status !== 'active' || its.cancel_at !== null || its.pause_collection || hasOpen(its)) return false
      const [from, to] = [planAt(its.items.data[0].price.id), PLANS[plan] as (typeof PLANS)[number]]
      if (from === to || from.every !== to.every || card !== 'works') return false
      const start = its.items.data[0].current_period_start
      if (
        invoicesOf(its).some((it) => refunded.has(it.id) && it.lines.data.some(({ period }) => period.start >= start))
      )
        return false
      return stripe.change(its.id, prices[plan] as string, 'prorated')
    },
    cancel: (its) => its && its.status === 'active' && its.cancel_at === null && stripe.cancel(its.id, 'period_end'),
    end: (its) => its && stripe.cancel(its.id),
    keep: (its) => its && its.cancel_at !== null && stripe.keep(its.id),
    pause: (its) => its?.status === 'active' && !its.pause_collection && !hasOpen(its) && stripe.pause(its.id),
    resume: (its) => its?.pause_collection && stripe.resume(its.id),
    pay: (its) => {
      for (const it of its ? [its] : subscriptions()) if (processing().length === 0) stripe.payOpen(it.id)
      return true
    },
    settle: () => processing().map(({ id }) => stripe.settle(id, true)).length > 0,
    fail: () => processing().map(({ id }) => stripe.settle(id, false)).length > 0,
    // All of what was paid for a period by one payment.
    refund(_, { of }) {
      const whole = subscriptions().flatMap((it) => {
        const paid = invoicesOf(it).filter(({ status, amount_paid: amount }) => status === 'paid' && amount > 0)
        return paid.filter((one) => {
          const period = periodOf(one)?.period
          const isOnly = !invoicesOf(it).some(
            (other) =>
              other !== one && !periodOf(other) && other.lines.data.some(({ period: its }) => its.end === period?.end),
          )
          return period && isOnly && !isLate(it, one) && !refunded.has(one.id)
        })
      })
      const invoice = whole[of % Math.max(whole.length, 1)]
      if (!invoice) return false
      refunded.add(invoice.id)
      const [payment] = stripe.objects.list('invoice_payment', ['invoice', invoice.id]) as unknown as {
        readonly payment: { readonly payment_intent: string }
      }[]
      return payment && stripe.refund(payment.payment.payment_intent)
    },
  }

  const isLate = ({ ended_at: end }: Subscription, { status_transitions: { paid_at: at } }: Invoice) =>
    end !== null && (at ?? 0) > end

  return {
    /** Whether it could happen. */
    happen: async (act: Act): Promise<boolean> => {
      const does = ACTS[act.type] as (its: Subscription | undefined, act: Act) => unknown
      try {
        return Boolean(await does(running(), act))
      } catch (error) {
        if (error instanceof PaymentProviderFailure && error.reason === 'subscribed') return false
        throw error
      }
    },

    /** For whoever reads why it failed. */
    invoices: (): string[] =>
      subscriptions().flatMap((it) =>
        invoicesOf(it).map(({ id, status, billing_reason: why, lines, status_transitions: { paid_at: at } }) => {
          const spans = lines.data.map(
            ({ period, amount }) => `${amount} for ${dayOf(period.start)} to ${dayOf(period.end)}`,
          )
          return `${it.id} ${it.status}: ${id} ${why} ${status}${at ? ` ${dayOf(at)}` : ''}: ${spans.join(', ')}`
        }),
      ),

    /** A bank takes ten days at most. */
    settleOld(): void {
      for (const { id, created } of processing())
        if (stripe.now().getTime() / 1000 - created > 10 * 86_400) stripe.settle(id, created % 3 !== 0)
    },

    /** Each period that was paid in time, once: of the dearest plan that it was paid for, and of a year without the month that it cuts off. */
    bill() {
      let [granted, takenBack] = [0, 0]
      for (const subscription of subscriptions()) {
        const periods: { start: number; end: number; credits: number; worth: number; invoice: string }[] = []
        const paid = invoicesOf(subscription)
          .filter((it) => it.status === 'paid' && !isLate(subscription, it))
          .toSorted((one, other) => (one.status_transitions.paid_at ?? 0) - (other.status_transitions.paid_at ?? 0))
        for (const invoice of paid) {
          const line = periodOf(invoice)
          if (line) {
            const { credits, every } = planAt(line.pricing.price_details.price)
            const { start, end } = line.period
            const cut = every === 'year' ? periods.find((it) => it.start < start && start < it.end) : undefined
            const isOfMonth = cut && cut.end - cut.start < 32 * 86_400
            const its = Math.max(credits - (isOfMonth ? cut.worth : 0), 0)
            periods.push({ start, end, credits: its, worth: credits, invoice: invoice.id })
            continue
          }
          const last = invoice.lines.data.at(-1)
          const { credits } = planAt(last?.pricing.price_details.price ?? '')
          const within = periods.find(
            ({ start, end }) => start <= (last?.period.start ?? 0) && end === last?.period.end,
          )
          if (within && credits > within.worth) {
            within.credits += credits - within.worth
            within.worth = credits
          }
        }
        granted += periods.reduce((sum, { credits }) => sum + credits, 0)
        takenBack += periods.reduce((sum, it) => sum + (refunded.has(it.invoice) ? it.credits : 0), 0)
      }
      return { granted, takenBack }
    },
  }
}

const dayOf = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10)
