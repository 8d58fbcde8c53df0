import { describe, expect, it } from 'vitest'
import { missedPurchases } from '../../../src/core/billing/missed-purchases.js'
import { paymentLoop } from '../../../src/core/billing/payment-loop.js'
import type { PaidSubscription, Payment, PaymentEvent } from '../../../src/core/billing/payment-provider.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import { billingCustomers } from '../../../src/db/billing/customers.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentFaultStore } from '../../../src/db/billing/payment-faults.js'
import { paymentQueue } from '../../../src/db/billing/payment-queue.js'
import { useDatabase } from '../../support/database.js'
import { givenPlan } from '../../support/given-plan.js'
import { creditsOf, type GivenUser, givenUser } from '../../support/givens.js'
import { customerOf, memoryPayments } from '../../support/memory-payments.js'
import { silentLog } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const provider = memoryPayments()
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)

const id = (prefix: string) => `${prefix}_${crypto.randomUUID()}`

/** An event comes; resolves to what became of it. */
const tell = (about: PaymentEvent['about'], more: Partial<PaymentEvent> = {}) =>
  paymentEventStore(context.db).store({
    ...{ id: id('evt'), type: 'test', createdAt: new Date(), about, customer: null, body: {} },
    ...more,
  })

const objectOf = async (kind: string, itsId: string) =>
  (await context.db.pool.query('SELECT * FROM payment_objects WHERE kind = $1 AND id = $2', [kind, itsId])).rows[0]

/** Rounded. */
async function daysToNextLook(kind: string, itsId: string) {
  const { due_at, asked_at } = await objectOf(kind, itsId)
  return Math.round((due_at.getTime() - asked_at.getTime()) / DAY_MS)
}

/** Works off all that is due, as a server does. */
async function workOff() {
  const { db } = context
  const queue = paymentQueue(db, { graceDays: 3 })
  await queue.retryProblems()
  const loop = paymentLoop({ queue, provider, log: silentLog() })
  const isOver = async () => {
    await loop.workOffDue()
    const { rows } = await db.pool.query(
      `SELECT FROM payment_objects WHERE due_at <= now() AND (not_before <= now() OR failures = 0)`,
    )
    return rows.length === 0
  }
  await until(isOver, 'all that is due was asked for')
  await loop.stop(60_000)
}

async function givenPrice(more: { credits?: number; carryOver?: number | null } = {}) {
  const price = id('price')
  const { credits = 100, carryOver = 0 } = more
  const { name } = await givenPlan(context.db, { name: id('Plan'), credits, carryOver, price })
  return { price, plan: name }
}

function givenPaid(accountId: string | null, price: string, more: Partial<PaidSubscription> = {}): PaidSubscription {
  const paid: PaidSubscription = {
    ...{ id: id('sub'), customer: customerOf(accountId), price, status: 'active', endsAt: null },
    ...{ startedAt: inDays(-1), paidUntil: inDays(29), ...more },
  }
  provider.subscriptions.set(paid.id, paid)
  return paid
}

const change = (paid: PaidSubscription, more: Partial<PaidSubscription>) => {
  const changed = { ...paid, ...more }
  provider.subscriptions.set(paid.id, changed)
  return changed
}

function givenPayment(more: Partial<Payment>): Payment {
  const payment: Payment = {
    ...{
      id: id('pi'),
      customer: null,
      isPaid: true,
      paidAt: new Date(),
      amount: 1000,
      currency: 'eur',
      returned: 0,
      of: null,
    },
    ...more,
  }
  provider.payments.set(payment.id, payment)
  return payment
}

const toldOf = ({ id: itsId, customer }: PaidSubscription) =>
  tell({ kind: 'subscription', id: itsId }, { customer: customer.id })
const toldOfPayment = ({ id: itsId }: Payment) => tell({ kind: 'payment', id: itsId })

const subscriptionOf = async ({ id: userId }: Pick<GivenUser, 'id'>) =>
  (await context.db.pool.query('SELECT * FROM subscriptions WHERE user_id = $1', [userId])).rows[0]

const ledgerOf = async ({ id: userId }: Pick<GivenUser, 'id'>) =>
  (
    await context.db.pool.query('SELECT kind, delta FROM credit_ledger WHERE user_id = $1 ORDER BY id', [userId])
  ).rows.map(({ kind, delta }) => `${kind} ${delta}`)

const givenAccount = (credits = 0) => givenUser(context.db, { credits, subscription: null })

describe('a payment that fails', () => {
  it('is told to its account once until the money is there, and again when the next one fails', async () => {
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    let paid = givenPaid(user.id, price)
    const becomes = async (more: Partial<PaidSubscription>) => {
      paid = change(paid, more)
      await toldOf(paid)
      await workOff()
      const told = await context.db.pool.query(
        "SELECT data FROM notices WHERE user_id = $1 AND kind = 'payment.failed' ORDER BY id",
        [user.id],
      )
      return told.rows.map(({ data }) => data)
    }
    expect(await becomes({})).toEqual([])
    const startedAt = inDays(-31)
    const due = { plan, endDate: new Date(inDays(0).getTime() + HOUR_MS + 3 * DAY_MS).toISOString() }
    const paidUntil = new Date(Date.parse(due.endDate) - 3 * DAY_MS)
    expect(await becomes({ status: 'past_due', startedAt, paidUntil })).toEqual([due])
    expect(await becomes({})).toEqual([due])
    expect(await becomes({ status: 'active', paidUntil: inDays(30) })).toEqual([due])
    expect(await becomes({ status: 'past_due', paidUntil })).toEqual([due, due])
  })
})

describe('an event', () => {
  it('that comes again changes nothing', async () => {
    const event = { id: id('evt') }
    expect(await tell(null, event)).toBe('stored')
    expect(await tell(null, event)).toBe('repeated')
  })

  it('is asked for once, however many there are about one thing', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    for (let n = 0; n < 20; n++) await toldOf(paid)
    const before = provider.asked.length
    await workOff()
    expect(provider.asked.slice(before).filter((it) => it === `subscription ${paid.id}`)).toHaveLength(1)
    const { rows } = await context.db.pool.query(
      'SELECT count(*)::int AS open FROM payment_events WHERE object_id = $1 AND worked_off_at IS NULL',
      [paid.id],
    )
    expect(rows[0].open).toBe(0)
  })

  it('that comes while the provider answers is asked for again', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    let go = () => {}
    provider.hold = new Promise<void>((resolve) => {
      go = resolve
    })
    const working = workOff()
    await until(async () => provider.asked.includes(`subscription ${paid.id}`), 'the question')
    change(paid, { status: 'paused', startedAt: inDays(-31), paidUntil: inDays(-1) })
    await toldOf(paid)
    go()
    provider.hold = undefined
    await working
    expect(await subscriptionOf(user)).toMatchObject({ status: 'paused' })
  })

  it('is worked off later when the provider is away', async () => {
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    provider.isAway = true
    await toldOf(paid)
    await workOff()
    provider.isAway = false
    expect(await objectOf('subscription', paid.id)).toMatchObject({ failures: 1, failure: 'Nobody answers.' })
    await context.db.pool.query(`UPDATE payment_objects SET not_before = '-infinity' WHERE id = $1`, [paid.id])
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
    expect(await objectOf('subscription', paid.id)).toMatchObject({ failures: 0, failure: null })
  })
})

describe('a purchase of which no event tells', () => {
  const given = async () => {
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await billingCustomers(context.db).remember(user.id, paid.customer.id)
    const purchase = { kind: 'subscription', id: paid.id, customer: paid.customer.id } as const
    provider.purchases.splice(0, Infinity, purchase)
    const [queue, faults] = [paymentQueue(context.db, { graceDays: 3 }), paymentFaultStore(context.db)]
    const { look } = missedPurchases({ provider, queue, faults, log: silentLog() })
    return { user, plan, paid, look }
  }
  const faultsNow = async () =>
    (await context.db.pool.query('SELECT sentence, times FROM payment_faults')).rows.map(({ times }) => times)

  it('is found at the second look, applied, and shown to operators', async () => {
    const { user, plan, paid, look } = await given()
    provider.isAway = true
    await look()
    provider.isAway = false
    await look()
    expect(await objectOf('subscription', paid.id)).toBeUndefined()
    await look()
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
    expect(await faultsNow()).toEqual([1])
    await look()
    await look()
    expect(await faultsNow()).toEqual([1])
  })

  it('is none if its event has come meanwhile, or nobody here is its customer', async () => {
    const { user, plan, paid, look } = await given()
    await context.db.pool.query('DELETE FROM payment_faults')
    const foreign = { kind: 'payment', id: id('pi'), customer: id('cus') } as const
    provider.purchases.push(foreign)
    await look()
    await toldOf(paid)
    await look()
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
    expect(await objectOf('payment', foreign.id)).toBeUndefined()
    expect(await faultsNow()).toEqual([])
  })
})

describe('an answer', () => {
  it('is dropped when the same was asked for again since', async () => {
    const { db } = context
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    const queue = paymentQueue(db, { graceDays: 3 })
    const first = await queue.claim(0)
    const second = await queue.claim(60)
    expect([first?.id, second?.id]).toEqual([paid.id, paid.id])
    if (!first || !second) return
    const newer = { ...paid, status: 'paused' as const, startedAt: inDays(-31), paidUntil: inDays(-1) }
    expect(await queue.apply(second, { kind: 'subscription', found: newer })).toEqual({ problem: null })
    expect(await queue.apply(first, { kind: 'subscription', found: paid })).toBe('stale')
    expect(await subscriptionOf(user)).toMatchObject({ status: 'paused' })
  })

  it('that could not be applied is asked for again, and operators are shown why', async () => {
    const { pool } = context.db
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await pool.query('ALTER TABLE paid_subscriptions ADD CONSTRAINT refused CHECK (false) NOT VALID')
    await workOff()
    await pool.query('ALTER TABLE paid_subscriptions DROP CONSTRAINT refused')
    expect(await objectOf('subscription', paid.id)).toMatchObject({
      failures: 1,
      failure: expect.stringContaining('refused'),
    })
    await pool.query(`UPDATE payment_objects SET not_before = '-infinity' WHERE id = $1`, [paid.id])
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
  })

  it('is asked for by another server when the one that claimed it died', async () => {
    const { db } = context
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await paymentQueue(db, { graceDays: 3 }).claim(0)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
  })
})

describe('a paid subscription', () => {
  it('gives its account the plan of its price, with the provider’s periods and a grace', async () => {
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({
      ...{ plan, status: 'active', started_at: paid.startedAt, paid_until: paid.paidUntil },
      end_date: new Date(paid.paidUntil.getTime() + 3 * DAY_MS),
    })
    await periodStore(context.db).settle()
    expect(await ledgerOf(user)).toEqual(['grant 100'])
    expect(await billingCustomers(context.db).all(user.id)).toEqual([paid.customer.id])
  })

  it('is looked at again without any event', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    expect(await daysToNextLook('subscription', paid.id)).toBe(1)
    change(paid, { status: 'ended', endsAt: new Date(Date.now() - 1000) })
    await context.db.pool.query('UPDATE payment_objects SET due_at = now() WHERE id = $1', [paid.id])
    await workOff()
    expect((await subscriptionOf(user)).end_date).toEqual(provider.subscriptions.get(paid.id)?.endsAt)
    expect(await objectOf('subscription', paid.id)).toMatchObject({ due_at: null })
  })

  it('keeps its plan when that gets another price', async () => {
    const user = await givenAccount()
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    await context.db.pool.query('UPDATE plans SET price = $1 WHERE name = $2', [id('price'), plan])
    await toldOf(change(paid, { paidUntil: inDays(60) }))
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({
      plan,
      paid_until: provider.subscriptions.get(paid.id)?.paidUntil,
    })
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: null })
  })

  it('leaves what an operator set while nothing is paid, and takes its place when something is', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 0, subscription: { plan: 'By hand', endDate: inDays(100) } })
    const { price, plan } = await givenPrice()
    const paid = givenPaid(user.id, price, { status: 'unpaid', startedAt: inDays(0), paidUntil: inDays(0) })
    await toldOf(paid)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan: 'By hand', paid_until: null })
    await toldOf(change(paid, { status: 'active', paidUntil: inDays(30) }))
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
    const { rows } = await db.pool.query(`SELECT actor, action, target FROM operator_actions WHERE actor = 'payment'`)
    expect(rows).toContainEqual({
      ...{ actor: 'payment', action: `replaced the subscription by the paid plan ${plan}` },
      target: user.username,
    })
    // Set by hand after the paid one has ended.
    await toldOf(change(paid, { status: 'ended', endsAt: new Date(Date.now() - HOUR_MS) }))
    await workOff()
    await operatorSubscriptionStore(db).set(
      user.id,
      { plan: 'Gift', status: undefined, endDate: inDays(50) },
      inDays(1),
    )
    await toldOf(paid)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan: 'Gift', paid_until: null })
  })

  it('is granted in full after a year that was set by hand, which ends', async () => {
    const { db } = context
    const user = await givenAccount()
    const year = id('Year')
    await givenPlan(db, { name: year, credits: 6000, period: 'year' })
    await operatorSubscriptionStore(db).set(user.id, { plan: year, status: undefined, endDate: inDays(300) }, inDays(1))
    await periodStore(db).settle()
    const { price } = await givenPrice({ credits: 500 })
    await toldOf(givenPaid(user.id, price))
    await workOff()
    await periodStore(db).settle()
    expect(await ledgerOf(user)).toEqual(['grant 6000', 'expire -6000', 'grant 500'])
  })

  it('of a customer that nobody knows waits for an account with the address', async () => {
    const { price, plan } = await givenPrice()
    const email = `${id('late')}@example.com`
    const paid = givenPaid(null, price, { customer: customerOf(null, { email: email.toUpperCase() }) })
    await toldOf(paid)
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: 'no_account' })
    const user = await givenAccount()
    await operatorUserStore(context.db).setEmail(user.id, email)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: null })
    const { rows } = await context.db.pool.query('SELECT email FROM payment_customers WHERE id = $1', [
      paid.customer.id,
    ])
    expect(rows).toEqual([{ email: null }])
  })

  it('paid with an address alone replaces nothing that an account has', async () => {
    const { db } = context
    const email = `${id('has')}@example.com`
    const user = await givenUser(db, { subscription: { plan: 'By hand', endDate: inDays(100) } })
    await operatorUserStore(db).setEmail(user.id, email)
    const { price } = await givenPrice()
    const paid = givenPaid(null, price, { customer: customerOf(null, { email }) })
    await toldOf(paid)
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: 'no_account' })
    expect(await subscriptionOf(user)).toMatchObject({ plan: 'By hand' })
  })

  it('of a price that no plan has waits for the plan', async () => {
    const user = await givenAccount()
    const price = id('price')
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: 'no_plan' })
    expect(await subscriptionOf(user)).toBeUndefined()
    const { plan } = await givenPrice()
    await context.db.pool.query('UPDATE plans SET price = $1 WHERE name = $2', [price, plan])
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
  })

  it('that another service of the same owner has sold is left alone, and nothing is kept of its customer', async () => {
    const email = `${id('buyer')}@example.com`
    const user = await givenAccount()
    await operatorUserStore(context.db).setEmail(user.id, email)
    const customer = customerOf(null, { email })
    const paid = givenPaid(null, id('price'), { customer })
    await toldOf(paid)
    const payments = [null, { subscription: paid.id, periodStart: inDays(-1) }].map((of) =>
      givenPayment({ customer, of, returned: 1 }),
    )
    for (const payment of payments) await toldOfPayment(payment)
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: null })
    for (const payment of payments)
      expect(await objectOf('payment', payment.id)).toMatchObject({ problem: null, due_at: null })
    const kept = await context.db.pool.query('SELECT FROM payment_customers WHERE id = $1', [customer.id])
    expect(kept.rows).toEqual([])
    expect(await billingCustomers(context.db).all(user.id)).toEqual([])
    // A plan gets its price: it is looked at each day.
    const { plan } = await givenPrice()
    await context.db.pool.query('UPDATE plans SET price = $1 WHERE name = $2', [paid.price, plan])
    expect(await daysToNextLook('subscription', paid.id)).toBe(1)
    await toldOf(paid)
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan })
  })

  it('for which money came after it had ended is told of', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const ended = { status: 'ended', paidUntil: inDays(-3), endsAt: inDays(-3), startedAt: inDays(-33) } as const
    const paid = givenPaid(user.id, price, ended)
    await toldOf(paid)
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: null })
    await toldOf(change(paid, { isPaidLate: true }))
    await workOff()
    expect(await objectOf('subscription', paid.id)).toMatchObject({ problem: 'paid_late' })
  })

  it('beside one that lasts longer is told of', async () => {
    const user = await givenAccount()
    const [short, long] = [await givenPrice(), await givenPrice()]
    const first = givenPaid(user.id, short.price)
    const second = givenPaid(user.id, long.price, { customer: first.customer, paidUntil: inDays(60) })
    for (const paid of [second, first]) {
      await toldOf(paid)
      await workOff()
    }
    expect(await subscriptionOf(user)).toMatchObject({ plan: long.plan })
    expect(await objectOf('subscription', first.id)).toMatchObject({ problem: 'superfluous' })
    await toldOf(change(second, { status: 'ended', endsAt: inDays(-1) }))
    await workOff()
    // Looks at the other one again.
    await workOff()
    expect(await subscriptionOf(user)).toMatchObject({ plan: short.plan })
    expect(await objectOf('subscription', first.id)).toMatchObject({ problem: null })
  })

  it('that the provider has not is told of', async () => {
    await tell({ kind: 'subscription', id: 'sub_none' })
    await workOff()
    expect(await objectOf('subscription', 'sub_none')).toMatchObject({ problem: 'gone', due_at: null })
  })

  it('of an account that is deleted is canceled, once the provider is back', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    provider.isAway = true
    await operatorUserStore(context.db).delete(user.id)
    await workOff()
    expect(await objectOf('cancellation', paid.customer.id)).toMatchObject({ failures: 1 })
    provider.isAway = false
    await context.db.pool.query(`UPDATE payment_objects SET not_before = '-infinity'`)
    await workOff()
    expect(provider.canceled).toEqual([paid.customer.id])
    expect(await objectOf('cancellation', paid.customer.id)).toMatchObject({ failures: 0, due_at: null })
  })

  it('that begins after its account was deleted is canceled', async () => {
    const user = await givenAccount()
    await operatorUserStore(context.db).delete(user.id)
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    await toldOf(paid)
    await workOff()
    expect(provider.subscriptions.get(paid.id)?.status).toBe('ended')
    await toldOf(paid)
    await workOff()
    expect(provider.canceled.filter((it) => it === paid.customer.id)).toHaveLength(1)
  })
})

describe('a payment for a pack', () => {
  const pack = (user: Pick<GivenUser, 'id'>, credits = 500) => ({ pack: 'Large', credits, accountId: user.id })

  it('brings its credits once', async () => {
    const user = await givenAccount()
    const payment = givenPayment({ of: pack(user) })
    for (let n = 0; n < 3; n++) {
      await toldOfPayment(payment)
      await workOff()
    }
    expect(await ledgerOf(user)).toEqual(['purchase 500'])
    expect(await creditsOf(context.db, user)).toBe(500)
  })

  it('brings nothing before the money is there', async () => {
    const user = await givenAccount()
    const payment = givenPayment({ of: pack(user), isPaid: false, paidAt: null })
    await toldOfPayment(payment)
    await workOff()
    expect(await ledgerOf(user)).toEqual([])
    provider.payments.set(payment.id, { ...payment, isPaid: true, paidAt: new Date() })
    await toldOfPayment(payment)
    await workOff()
    expect(await ledgerOf(user)).toEqual(['purchase 500'])
  })

  it('takes back what money went back for, and gives it again after a dispute that was won', async () => {
    const user = await givenAccount()
    const payment = givenPayment({ of: pack(user) })
    for (const returned of [0, 100, 1000, 100, 1000]) {
      provider.payments.set(payment.id, { ...payment, returned })
      await toldOfPayment(payment)
      await toldOfPayment(payment)
      await workOff()
    }
    expect(await ledgerOf(user)).toEqual([
      ...['purchase 500', 'adjustment -50', 'adjustment -450', 'adjustment 450', 'adjustment -450'],
    ])
  })

  it('takes back more than the account has, when it was spent', async () => {
    const user = await givenAccount()
    const payment = givenPayment({ of: pack(user) })
    await toldOfPayment(payment)
    await workOff()
    await context.db.pool.query('UPDATE users SET credits = 20 WHERE id = $1', [user.id])
    provider.payments.set(payment.id, { ...payment, returned: 1000 })
    await toldOfPayment(payment)
    await workOff()
    expect(await creditsOf(context.db, user)).toBe(-480)
  })

  it('that Easel did not ask for is told of', async () => {
    const customer = customerOf(null)
    await billingCustomers(context.db).remember((await givenAccount()).id, customer.id)
    const payment = givenPayment({ customer })
    await toldOfPayment(payment)
    await workOff()
    expect(await objectOf('payment', payment.id)).toMatchObject({ problem: 'not_asked_for' })
    provider.payments.set(payment.id, { ...payment, returned: 1000 })
    await toldOfPayment(payment)
    await workOff()
    expect(await objectOf('payment', payment.id)).toMatchObject({ problem: null })
  })
})

describe('a payment for a period', () => {
  it('grants nothing itself, and takes back what the period granted when the money went back', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    const payment = givenPayment({
      customer: paid.customer,
      of: { subscription: paid.id, periodStart: paid.startedAt },
    })
    await toldOf(paid)
    await toldOfPayment(payment)
    await workOff()
    await periodStore(context.db).settle()
    for (const returned of [300, 300, 1000, 0]) {
      provider.payments.set(payment.id, { ...payment, returned })
      await toldOfPayment(payment)
      await workOff()
    }
    expect(await ledgerOf(user)).toEqual(['grant 100', 'adjustment -30', 'adjustment -70', 'adjustment 100'])
    const { rows } = await context.db.pool.query('SELECT credits, expiring_credits FROM users WHERE id = $1', [user.id])
    expect(rows).toEqual([{ credits: 100, expiring_credits: 100 }])
  })

  it('takes back no credits that another payment of the period has taken back', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    const of = { subscription: paid.id, periodStart: paid.startedAt }
    const [one, other] = [0, 1].map(() => givenPayment({ customer: paid.customer, of }))
    await toldOf(paid)
    await workOff()
    await periodStore(context.db).settle()
    for (const payment of [one, other]) {
      if (!payment) throw new Error('two were given')
      provider.payments.set(payment.id, { ...payment, returned: 1000 })
      await toldOfPayment(payment)
      await workOff()
    }
    expect(await ledgerOf(user)).toEqual(['grant 100', 'adjustment -100'])
  })

  it('that was given back before the period was granted takes it back afterwards', async () => {
    const user = await givenAccount()
    const { price } = await givenPrice()
    const paid = givenPaid(user.id, price)
    const payment = givenPayment({
      ...{ customer: paid.customer, returned: 1000 },
      of: { subscription: paid.id, periodStart: paid.startedAt },
    })
    await toldOf(paid)
    await toldOfPayment(payment)
    await workOff()
    expect(await daysToNextLook('payment', payment.id)).toBe(0)
    await periodStore(context.db).settle()
    await context.db.pool.query('UPDATE payment_objects SET due_at = now() WHERE id = $1', [payment.id])
    await workOff()
    expect(await ledgerOf(user)).toEqual(['grant 100', 'adjustment -100'])
  })
})

it('deletes events that are old and need nothing more', async () => {
  const { db } = context
  const [unknown, open] = [id('evt'), id('evt')]
  await tell(null, { id: unknown })
  await tell({ kind: 'subscription', id: id('sub') }, { id: open })
  await db.pool.query(`UPDATE payment_events SET received_at = now() - interval '40 days' WHERE id = ANY ($1)`, [
    [unknown, open],
  ])
  await paymentQueue(db, { graceDays: 3 }).clean()
  const { rows } = await db.pool.query('SELECT id FROM payment_events WHERE id = ANY ($1)', [[unknown, open]])
  expect(rows).toEqual([{ id: open }])
})
