import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { paymentLoop } from '../../../src/core/billing/payment-loop.js'
import { paymentReceiver } from '../../../src/core/billing/receive.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentFaultStore } from '../../../src/db/billing/payment-faults.js'
import { paymentQueue } from '../../../src/db/billing/payment-queue.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import type { Invoice, StripeEvent } from '../../stand-ins/stripe/objects.js'
import { SECRET_KEY, signed, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'
import { seeded } from '../../support/seeded.js'
import { silentLog } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const START = new Date('2027-01-31T10:00:00Z')
const DAY_MS = 86_400_000
const WEBHOOK_SECRET = 'whsec_years'
const PAGES = { returnTo: 'http://easel.test/account', cancelTo: 'http://easel.test/account' }

type Given = Awaited<ReturnType<typeof givenStripe>>

async function givenStripe() {
  const { db } = context
  // Each stand-in counts its IDs from the start.
  await db.pool.query(
    'TRUNCATE payment_objects, payment_events, paid_subscriptions, payments, payment_customers CASCADE',
  )
  await db.pool.query('UPDATE plans SET price = NULL')
  const stripe = await startStripeStandIn({ start: START })
  onTestFinished(() => stripe.close())
  stripe.events.hold()
  const provider = await stripeProvider({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url })
  const month = stripe.givenPrice({ every: 'month', amount: 1000 }).id
  const year = stripe.givenPrice({ every: 'year', amount: 10_000 }).id
  const dearer = stripe.givenPrice({ every: 'month', amount: 50_000 }).id
  for (const [name, credits, period, price] of [
    ['Month', 100, 'month', month],
    ['Dearer', 5000, 'month', dearer],
    ['Year', 1200, 'year', year],
  ])
    await db.pool.query('INSERT INTO plans (name, credits, period, price) VALUES ($1, $2, $3, $4)', [
      ...[`${name} ${randomUUID()}`, credits, period, price],
    ])
  return { stripe, provider, month, year, dearer }
}

async function givenSubscriber({ stripe, provider, month }: Given) {
  const user = await givenUser(context.db, { credits: 0, subscription: null })
  const customer = await provider.createCustomer({ id: user.id, username: user.username, email: null, language: null })
  const order = { customer, accountId: user.id, item: { plan: 'Month' }, price: month, ...PAGES }
  const subscribe = async () => stripe.pay(await provider.checkout(order)).subscription as string
  return { user, customer, subscribe, id: await subscribe() }
}

/** What happens on which day to whom. */
type Acts = Readonly<Record<number, () => unknown>>

/** Passes so many days, two at a time. Each event comes up to four days late, twice, in any order; everything is settled twice at once. */
async function pass({ stripe, provider }: Given, days: number, acts: Acts, seed = '1'): Promise<void> {
  const { db } = context
  const chance = seeded(seed)
  const receiver = paymentReceiver(provider, paymentEventStore(db), paymentFaultStore(db))
  const queue = paymentQueue(db, { graceDays: 3, now: stripe.now })
  const loop = paymentLoop({ queue, provider, log: silentLog() })
  let waiting: { readonly event: StripeEvent; readonly day: number }[] = []
  let told = 0
  for (let day = 0; day <= days; day += 2) {
    const now = new Date(START.getTime() + day * DAY_MS)
    stripe.advanceTo(now)
    await acts[day]?.()
    const fresh = stripe.events.list.slice(told)
    told += fresh.length
    for (const event of fresh) for (const _ of [1, 2]) waiting.push({ event, day: day + chance.below(5) })
    for (const { event } of waiting.filter((it) => it.day <= day)) {
      const { body, signature } = signed(event, WEBHOOK_SECRET)
      await receiver.receive(Buffer.from(body), signature)
    }
    waiting = waiting.filter((it) => it.day > day).toSorted(() => chance.next() - 0.5)
    // What is to be looked at without any event, by Stripe's time.
    await db.pool.query('UPDATE payment_objects SET due_at = now() WHERE due_at <= $1', [now])
    const isOver = async () => {
      await loop.workOffDue()
      return (await db.pool.query('SELECT FROM payment_objects WHERE due_at <= now()')).rows.length === 0
    }
    await until(isOver, `everything of day ${day} is worked off`)
    await Promise.all([periodStore(db).settle(now), periodStore(db).settle(now)])
  }
  await loop.stop(60_000)
}

const grantsOf = async ({ user }: Awaited<ReturnType<typeof givenSubscriber>>): Promise<number[]> =>
  (
    await context.db.pool.query(
      `SELECT delta FROM credit_ledger WHERE user_id = $1 AND ref LIKE 'period:%' ORDER BY id`,
      [user.id],
    )
  ).rows.map(({ delta }) => delta)

/** How many periods of a subscription were paid. */
const paidPeriodsOf = ({ stripe }: Given, id: string) =>
  stripe.objects.list<Invoice>('invoice', ['subscription', id]).filter(({ status }) => status === 'paid').length

it('each period that was paid is granted once over the months, however late and often its events come', async () => {
  const given = await givenStripe()
  const { stripe, year } = given
  const people = {
    steady: await givenSubscriber(given),
    late: await givenSubscriber(given),
    gone: await givenSubscriber(given),
    paused: await givenSubscriber(given),
    yearly: await givenSubscriber(given),
    again: await givenSubscriber(given),
  }
  const { steady, late, gone, paused, yearly, again } = people
  let second = ''
  await pass(given, 240, {
    // The card fails for a renewal and its first tries, and works at the second one.
    80: () => stripe.setCard(late.customer, 'declined'),
    94: () => stripe.setCard(late.customer, 'works'),
    100: () => stripe.cancel(gone.id, 'period_end'),
    70: () => stripe.pause(paused.id),
    160: () => stripe.resume(paused.id),
    46: () => stripe.change(yearly.id, year),
    120: () => stripe.cancel(again.id, 'now'),
    150: async () => {
      second = await again.subscribe()
    },
  })
  for (const person of [steady, late, gone, paused]) {
    const grants = await grantsOf(person)
    expect(grants.every((credits) => credits === 100)).toBe(true)
    expect(grants).toHaveLength(paidPeriodsOf(given, person.id))
  }
  expect(await grantsOf(steady)).toHaveLength(8)
  expect(await grantsOf(gone)).toHaveLength(4)
  expect((await grantsOf(paused)).length).toBeLessThan(7)
  // Two months, and of a year what is more than the second one, which it cuts off.
  expect(await grantsOf(yearly)).toEqual([100, 100, 1100])
  expect(await grantsOf(again)).toHaveLength(paidPeriodsOf(given, again.id) + paidPeriodsOf(given, second))
})

it.each(['year', 'dearer'] as const)('a change (%s) is granted when it is paid, and not before', async (to) => {
  const given = await givenStripe()
  const { stripe } = given
  const [declined, slow] = [await givenSubscriber(given), await givenSubscriber(given)]
  const before: number[][] = []
  await pass(given, 20, {
    6: () => {
      stripe.setCard(declined.customer, 'declined')
      stripe.setCard(slow.customer, 'takes_days')
      for (const { id } of [declined, slow]) stripe.change(id, given[to])
    },
    12: async () => {
      before.push(await grantsOf(declined), await grantsOf(slow))
      stripe.setCard(declined.customer, 'works')
      stripe.payOpen(declined.id)
      const waiting = stripe.objects.list('payment_intent', ['customer', slow.customer])
      for (const { id } of waiting.filter((it) => 'status' in it && it.status === 'processing')) stripe.settle(id, true)
    },
  })
  expect(before).toEqual([[100], [100]])
  // Of a year the month that it cuts off is a part; a dearer month begins anew, and is paid in full.
  const all = to === 'year' ? [100, 1100] : [100, 5000]
  expect(await grantsOf(declined)).toEqual(all)
  expect(await grantsOf(slow)).toEqual(all)
})

it('a dearer plan that begins within the month grants the difference', async () => {
  const given = await givenStripe()
  const person = await givenSubscriber(given)
  await pass(given, 20, { 6: () => given.stripe.change(person.id, given.dearer, 'prorated') })
  expect(await grantsOf(person)).toEqual([100, 4900])
})

it('what was given back of a year pays for none of the months that follow', async () => {
  const given = await givenStripe()
  const { stripe, year, month } = given
  const person = await givenSubscriber(given)
  await pass(given, 70, {
    6: () => stripe.change(person.id, year),
    20: () => stripe.refund(stripe.objects.list('payment_intent', ['customer', person.customer])[0]?.id as string),
    30: () => stripe.change(person.id, month),
  })
  // The first month; the year, which is taken back; and what was paid for after it.
  expect(await grantsOf(person)).toEqual([100, 1100, 100, 100])
  const { rows } = await context.db.pool.query('SELECT credits FROM users WHERE id = $1', [person.user.id])
  expect(rows).toEqual([{ credits: 300 }])
})
