/** What becomes of IDs and facts that the payment provider and Easel have of each other, when one of them changes. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { creditPackStore } from '../../../src/db/billing/credit-packs.js'
import type { Customer } from '../../stand-ins/stripe/objects.js'
import { SECRET_KEY, type StripeStandIn, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const SECRET = 'whsec_recovery'
let stripe: StripeStandIn
const context = useService(async () => {
  stripe = await startStripeStandIn()
  const keys = { STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: SECRET, STRIPE_API_URL: stripe.url }
  return { env: { ...keys, SITE_LANGUAGES: 'en,de' } }
})
beforeAll(() => {
  stripe.events.sendTo({ url: `${context.service.url}/billing/stripe`, secret: SECRET })
  return () => stripe.close()
})
afterEach(() => {
  stripe.set({ fault: 'none', on: '', breaks: undefined })
  stripe.events.release()
})

async function givenBuyer() {
  const { db, url } = context.service
  const user = await givenUser(db, { credits: 0, subscription: null })
  const cookie = await givenSession(db, user)
  const post = (path: string, body: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    visit(url, path, { cookie, body: { _: '', ...body }, headers })
  return { user, cookie, post, get: (path = '/account') => visit(url, path, { cookie }) }
}
async function givenOffer(more: { currency?: string } = {}) {
  const price = stripe.givenPrice({ every: 'month', ...more })
  return { plan: await givenPlan(context.service.db, { credits: 500, forSale: true, price: price.id }), price }
}
async function givenPack(more: { currency?: string } = {}) {
  const price = stripe.givenPrice({ amount: 500, ...more })
  const pack = { name: `Pack ${crypto.randomUUID()}`, credits: 100, price: price.id, retiredAt: null }
  await creditPackStore(context.service.db).import([pack])
  return { pack, price }
}
const problemIn = (html: string) => textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')
const query = async (text: string, values: unknown[] = []) =>
  (await context.service.db.pool.query(text, values)).rows as Record<string, unknown>[]
const customersOf = async ({ id }: GivenUser) =>
  (await query('SELECT id FROM payment_customers WHERE user_id = $1 ORDER BY created_at, id', [id])).map((it) => it.id)
/** As a sandbox, another account at Stripe, or the database that this is a copy of has left it. */
const leave = (user: GivenUser, customer: string) =>
  query('INSERT INTO payment_customers (id, user_id) VALUES ($1, $2)', [customer, user.id])
const faults = async () => (await query('SELECT sentence FROM payment_faults')).map((it) => it.sentence)

describe('a customer whom the provider does not have', () => {
  it.each(['plan', 'pack'] as const)('is left, and a new one buys the %s', async (what) => {
    const { user, post } = await givenBuyer()
    const old = `cus_sandbox_${crypto.randomUUID()}`
    await leave(user, old)
    const name = what === 'plan' ? (await givenOffer()).plan.name : (await givenPack()).pack.name
    const { status, location } = await post(`/account/billing/${what}`, { name })
    expect([status, location]).toEqual([303, expect.stringContaining('/c/pay/')])
    const [, made] = await customersOf(user)
    expect(stripe.objects.list('checkout.session')[0]).toMatchObject({ customer: made })
    // It stays the one that is used, and the old one is there for when the keys are changed back.
    expect((await post(`/account/billing/${what}`, { name })).status).toBe(303)
    expect(await customersOf(user)).toEqual([old, made])
  })

  it('has nothing to manage', async () => {
    const { user, post } = await givenBuyer()
    await leave(user, `cus_sandbox_${crypto.randomUUID()}`)
    const { status, html } = await post('/account/billing')
    expect([status, problemIn(html)]).toEqual([400, 'You have paid nothing here yet, so there is nothing to manage.'])
  })

  it('and its subscription, which is said to run, do not keep anybody from buying one', async () => {
    const { user, post, get } = await givenBuyer()
    const [customer, subscription] = [`cus_sandbox_${crypto.randomUUID()}`, `sub_${crypto.randomUUID()}`]
    await leave(user, customer)
    await query(
      `INSERT INTO paid_subscriptions (id, customer, price, plan, status, started_at, paid_until)
       VALUES ($1, $2, 'price_sandbox', 'Old', 'active', now(), now() + interval '20 days')`,
      [subscription, customer],
    )
    const { plan } = await givenOffer()
    expect((await post('/account/billing/plan', { name: plan.name })).location).toContain('/c/pay/')
    await query(`INSERT INTO payment_objects (kind, id) VALUES ('subscription', $1)`, [subscription])
    await until(async () => (await get()).html.includes(`value="${plan.name}"`), 'plans are for sale again')
    const [object] = await query(`SELECT problem, due_at > now() AS again FROM payment_objects WHERE id = $1`, [
      subscription,
    ])
    // The keys may be those of the sandbox again.
    expect(object).toEqual({ problem: 'gone', again: true })
  })

  it('was deleted in the dashboard: a new one buys, at once', async () => {
    const { user, post } = await givenBuyer()
    const { pack } = await givenPack()
    await post('/account/billing/pack', { name: pack.name })
    const [first] = await customersOf(user)
    await fetch(`${stripe.url}/v1/customers/${first}`, {
      ...{ method: 'DELETE', headers: { authorization: `Bearer ${SECRET_KEY}` } },
    })
    expect((await post('/account/billing/pack', { name: pack.name })).status).toBe(303)
    expect(await customersOf(user)).toHaveLength(2)
  })
})

describe('what has changed of an account', () => {
  async function givenCustomer() {
    const buyer = await givenBuyer()
    const { db } = context.service
    const email = `${crypto.randomUUID()}@example.com`
    await operatorUserStore(db).setEmail(buyer.user.id, email)
    await buyer.post('/account/billing/pack', { name: (await givenPack()).pack.name })
    const [customer] = await customersOf(buyer.user)
    const known = () => stripe.objects.get<Customer>('customer', customer as string)
    expect(known()).toMatchObject({ email })
    return { ...buyer, known, setEmail: (to: string | null) => operatorUserStore(db).setEmail(buyer.user.id, to) }
  }
  const isTold = (what: () => boolean) => until(async () => what(), 'the provider is told')

  it('reaches the provider without another purchase: the address, none, the language, that it is gone', async () => {
    const { known, setEmail, user } = await givenCustomer()
    const other = `${crypto.randomUUID()}@example.com`
    await setEmail(other)
    await isTold(() => known().email === other)
    await setEmail(null)
    await isTold(() => known().email === null)
    await query(`UPDATE users SET language = 'de', email = $2 WHERE id = $1`, [user.id, other])
    await isTold(() => known().preferred_locales[0] === 'de' && known().email === other)
    await operatorUserStore(context.service.db).delete(user.id)
    await isTold(() => known().email === null && known().name === null)
    await until(async () => (await query('SELECT FROM customer_changes')).length === 0, 'nothing is left to tell')
  })

  it('is told when the provider is back', async () => {
    const { known, setEmail, user } = await givenCustomer()
    stripe.set({ fault: { status: 401 }, on: '/v1/customers' })
    const other = `${crypto.randomUUID()}@example.com`
    await setEmail(other)
    await until(
      async () =>
        (await query('SELECT attempts FROM customer_changes WHERE user_id = $1', [user.id]))[0]?.attempts === 1,
      'it failed',
    )
    stripe.set({ fault: 'none' })
    await query('UPDATE customer_changes SET due_at = now()')
    await isTold(() => known().email === other)
  })

  it('is nothing to tell for who has never paid', async () => {
    const { user } = await givenBuyer()
    await operatorUserStore(context.service.db).setEmail(user.id, `${crypto.randomUUID()}@example.com`)
    expect(await query('SELECT FROM customer_changes WHERE user_id = $1', [user.id])).toEqual([])
  })
})

describe('a refusal', () => {
  const OTHER = /^This is sold in another currency than what you have paid for here: choose something else/

  it('for another currency says so, to the buyer and to operators', async () => {
    const { plan } = await givenOffer()
    const { pack } = await givenPack({ currency: 'usd' })
    const { post, get } = await givenBuyer()
    stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
    await until(async () => (await get()).html.includes('then it renews'), 'the plan')
    const { status, html } = await post('/account/billing/pack', { name: pack.name })
    expect([status, problemIn(html)]).toEqual([400, expect.stringMatching(OTHER)])
    expect(await faults()).toContainEqual(expect.stringMatching(/refused .+: You cannot combine currencies/))
    const german = await post('/account/billing/pack', { name: pack.name }, { 'accept-language': 'de' })
    expect(problemIn(german.html)).toMatch(/^Das wird in einer anderen Währung verkauft/)
  })

  it('of a price that was made inactive just now says that it is not for sale', async () => {
    const { pack, price } = await givenPack()
    const { plan, price: monthly } = await givenOffer()
    const { post, get } = await givenBuyer()
    await get()
    for (const it of [price, monthly]) it.active = false
    expect(problemIn((await post('/account/billing/pack', { name: pack.name })).html)).toMatch(
      /^This pack .+ not for sale/,
    )
    expect(problemIn((await post('/account/billing/plan', { name: plan.name })).html)).toMatch(
      /^This plan .+ not for sale/,
    )
  })

  it('as a plan was paid just now leads to where it is managed', async () => {
    const { plan } = await givenOffer()
    const { post } = await givenBuyer()
    stripe.events.hold()
    stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
    expect((await post('/account/billing/plan', { name: plan.name })).location).toContain('/p/session/')
  })

  it('that only an operator can mend says that trying again does not help, and is shown to operators', async () => {
    const { pack } = await givenPack()
    const { post, get } = await givenBuyer()
    await get()
    const error = { type: 'invalid_request_error', message: 'The key lacks rak_checkout. Write ada@example.com.' }
    stripe.set({ fault: { status: 403, body: { error } }, on: '/v1/checkout' })
    const { status, html } = await post('/account/billing/pack', { name: pack.name })
    expect([status, problemIn(html)]).toEqual([503, expect.stringMatching(/Trying again will not help: write to who/)])
    expect(await faults()).toContainEqual(expect.stringMatching(/: The key lacks rak_checkout\. Write \(an address\)/))
    const { cookie } = await givenOperator(context.service.db)
    const page = await visit(context.service.url, '/operator/payments', { cookie })
    expect(textOf(page.html)).toMatch(/Faults of the last 30 days.*rak_checkout/s)
  })

  it('of a price that the provider does not have is shown to operators', async () => {
    const id = `price_sandbox_${crypto.randomUUID()}`
    await givenPlan(context.service.db, { credits: 5, forSale: true, price: id })
    const { get } = await givenBuyer()
    expect((await get()).status).toBe(200)
    await until(async () => (await faults()).some((it) => String(it).includes(id)), 'the fault')
  })
})
