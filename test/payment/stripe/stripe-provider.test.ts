import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type PayingAccount, PaymentProviderFailure } from '../../../src/core/billing/payment-provider.js'
import { USED_EVENTS } from '../../../src/payment/stripe/stripe-events.js'
import { stripeProvider } from '../../../src/payment/stripe/stripe-provider.js'
import type { Customer } from '../../stand-ins/stripe/objects.js'
import { SECRET_KEY, signed, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'

const WEBHOOK_SECRET = 'whsec_easel'
const ADA: PayingAccount = {
  id: '7f1d0a9e-1111-4222-8333-944445555666',
  username: 'ada',
  email: 'ada@example.com',
  language: null,
}
const PAGES = { returnTo: 'https://easel.example/account', cancelTo: 'https://easel.example/account' }
const DAY_MS = 24 * 3_600_000

async function given({ start = new Date('2026-01-31T12:00:00Z'), secretKey = SECRET_KEY } = {}) {
  const stripe = await startStripeStandIn({ start })
  onTestFinished(() => stripe.close())
  const provider = await stripeProvider({ secretKey, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url })
  return { stripe, provider }
}

async function givenCustomer(options: Parameters<typeof given>[0] = {}) {
  const { stripe, provider } = await given(options)
  const customer = await provider.createCustomer(ADA)
  const orderPlan = (price: string) =>
    provider.checkout({ customer, accountId: ADA.id, item: { plan: 'Pro' }, price, ...PAGES })
  const orderPack = (price: string) =>
    provider.checkout({ customer, accountId: ADA.id, item: { pack: 'Small', credits: 100 }, price, ...PAGES })
  return { stripe, provider, customer, orderPlan, orderPack }
}

async function givenSubscription({ every = 'month', amount = 1900 } = {}) {
  const all = await givenCustomer()
  const price = all.stripe.givenPrice({ every, amount })
  const id = all.stripe.pay(await all.orderPlan(price.id)).subscription as string
  const now = async () => {
    const found = await all.provider.subscription(id)
    return (
      found && {
        ...found,
        paidUntil: text(found.paidUntil),
        startedAt: text(found.startedAt),
        endsAt: text(found.endsAt),
      }
    )
  }
  const advanceTo = (moment: string) => all.stripe.advanceTo(new Date(moment))
  return { ...all, price, id, now, advanceTo }
}

/** To the minute: Stripe's time goes on while a test runs. */
const text = (moment: Date | null) => moment?.toISOString().slice(0, 16) ?? null

async function givenPack(
  how: Parameters<Awaited<ReturnType<typeof given>>['stripe']['pay']>[1] = 'works',
  amount = 500,
) {
  const all = await givenCustomer()
  const session = all.stripe.pay(await all.orderPack(all.stripe.givenPrice({ amount }).id), how)
  const id = session.payment_intent ?? session.id
  return { ...all, session, id, now: () => all.provider.payment(id) }
}

describe('a price', () => {
  it('is told with its amount and how often it is paid', async () => {
    const { stripe, provider } = await given()
    const priced = (its: Parameters<typeof stripe.givenPrice>[0]) => provider.price(stripe.givenPrice(its).id)
    expect(await priced({ amount: 1900, every: 'month' })).toMatchObject({
      amount: 1900,
      currency: 'eur',
      every: 'month',
    })
    expect(await priced({ amount: 500, currency: 'jpy' })).toMatchObject({ amount: 500, currency: 'jpy', every: null })
    expect((await priced({ every: 'year' }))?.every).toBe('year')
    expect((await priced({ every: 'week' }))?.every).toBe('other')
    expect((await priced({ every: 'month', count: 3 }))?.every).toBe('other')
  })

  it('is none if there is no such price, it has no fixed amount, or it or its product is not active', async () => {
    const { stripe, provider } = await given()
    expect(await provider.price('price_none')).toBeUndefined()
    expect(await provider.price(stripe.givenPrice({ amount: null }).id)).toBeUndefined()
    const price = stripe.givenPrice()
    price.active = false
    expect(await provider.price(price.id)).toBeUndefined()
    const other = stripe.givenPrice()
    Object.assign(stripe.objects.get('product', other.product), { active: false })
    expect(await provider.price(other.id)).toBeUndefined()
  })
})

describe('a customer', () => {
  it('is made once for an account, also when the answer was lost and the address changed', async () => {
    const { stripe, provider } = await given()
    stripe.set({ fault: 'drop_mid_reply', on: '/v1/customers' })
    await expect(provider.createCustomer(ADA)).rejects.toThrow(PaymentProviderFailure)
    stripe.set({ fault: 'none' })
    const id = await provider.createCustomer({ ...ADA, email: 'ada@other.example' })
    const made = stripe.objects.list('customer')
    expect(made).toMatchObject([{ id, email: 'ada@other.example', name: 'ada', metadata: { easel_account: ADA.id } }])
  })
})

describe('what was answered once', () => {
  it('with a fault of Stripe is not asked for again under the same key: a customer, a portal, a page to pay on', async () => {
    const { stripe, provider, customer, orderPack } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' }).id
    const bob = { ...ADA, id: crypto.randomUUID() }
    const acts = [
      () => provider.createCustomer(bob),
      () => provider.portal(customer, { returnTo: PAGES.returnTo, prices: [price] }),
      () => orderPack(stripe.givenPrice().id),
    ]
    stripe.set({ breaks: '/v1/' })
    for (const act of acts) await expect(act()).rejects.toThrow('An unknown error occurred')
    stripe.set({ breaks: undefined })
    for (const act of acts) expect(await act()).toBeTruthy()
  })

  it('with a customer who was deleted since is not taken for one', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    await stripeDelete(stripe.url, customer)
    expect(await provider.createCustomer(ADA)).not.toBe(customer)
  })

  it('two orders at the same moment make one customer', async () => {
    const { stripe, provider } = await given()
    const [one, other] = await Promise.all([provider.createCustomer(ADA), provider.createCustomer(ADA)])
    expect(one).toBe(other)
    expect(stripe.objects.list('customer')).toHaveLength(1)
  })

  it('with a configuration of the portal that was made inactive is asked for anew', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    const page = { returnTo: PAGES.returnTo, prices: [stripe.givenPrice({ every: 'month' }).id] }
    await provider.portal(customer, page)
    for (const it of stripe.objects.list('billing_portal.configuration')) Object.assign(it, { active: false })
    expect(await provider.portal(customer, page)).toMatch(/session/)
  })
})

/** As its owner does in the dashboard. */
const stripeDelete = (url: string, customer: string) =>
  fetch(`${url}/v1/customers/${customer}`, {
    ...{ method: 'DELETE', headers: { authorization: `Bearer ${SECRET_KEY}` } },
  })

describe('what Stripe knows of an account', () => {
  const known = (stripe: Awaited<ReturnType<typeof given>>['stripe'], id: string) => {
    const { email, name, preferred_locales: locales } = stripe.objects.get('customer', id) as unknown as Customer
    return { email, name, locales }
  }

  it('is changed with it: the address, none, another one, the language', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    expect(known(stripe, customer)).toEqual({ email: 'ada@example.com', name: 'ada', locales: [] })
    const told = async (more: Partial<PayingAccount>) => {
      expect(await provider.tellCustomer(customer, { ...ADA, ...more })).toBe(true)
      return known(stripe, customer)
    }
    expect(await told({ email: 'ada@other.example' })).toMatchObject({ email: 'ada@other.example' })
    expect(await told({ email: null })).toMatchObject({ email: null })
    expect(await told({ email: 'third@example.com', language: 'de' })).toMatchObject({
      ...{ email: 'third@example.com', locales: ['de'] },
    })
    // Nothing has changed: nothing is written.
    const before = stripe.journal.length
    await told({ email: 'third@example.com', language: 'de' })
    expect(stripe.journal.slice(before).map(({ method }) => method)).toEqual(['GET'])
  })

  it('stays what its owner or the customer has set there', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    Object.assign(stripe.objects.get('customer', customer), { email: 'bills@acme.example', name: 'Acme GmbH' })
    await provider.tellCustomer(customer, ADA)
    expect(known(stripe, customer)).toMatchObject({ email: 'bills@acme.example', name: 'Acme GmbH' })
    await provider.tellCustomer(customer, { ...ADA, email: null })
    expect(known(stripe, customer)).toMatchObject({ email: 'bills@acme.example' })
    await provider.tellCustomer(customer, { ...ADA, email: 'new@example.com' })
    expect(known(stripe, customer)).toMatchObject({ email: 'new@example.com', name: 'Acme GmbH' })
  })

  it('of a customer that somebody made elsewhere is changed from the next change on', async () => {
    const { stripe, provider } = await given()
    const { id } = await stripe.givenCustomer('payer@example.com')
    const account = { ...ADA, email: 'ada@example.com' }
    await provider.tellCustomer(id, account)
    expect(known(stripe, id)).toMatchObject({ email: 'payer@example.com', name: null })
    await provider.tellCustomer(id, { ...account, email: 'ada@new.example' })
    expect(known(stripe, id)).toMatchObject({ email: 'ada@new.example' })
  })

  it('ends with the account', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    await provider.tellCustomer(customer, { ...ADA, username: null, email: null })
    expect(known(stripe, customer)).toMatchObject({ email: null, name: null })
  })

  it.each([
    ['told by a release that kept no mark of it', { metadata: { easel_account: ADA.id } }],
    ['set there by somebody else', { email: 'bills@acme.example' }],
  ])('ends with the account, also where the address was %s', async (_what, its) => {
    const { stripe, provider, customer } = await givenCustomer()
    Object.assign(stripe.objects.get('customer', customer), its)
    await provider.tellCustomer(customer, { ...ADA, username: null, email: null })
    expect(known(stripe, customer)).toMatchObject({ email: null, name: null })
  })

  it('is nothing, if it has no such customer, or has deleted it', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    expect(await provider.tellCustomer('cus_of_a_sandbox', ADA)).toBe(false)
    await stripeDelete(stripe.url, customer)
    expect(await provider.tellCustomer(customer, ADA)).toBe(false)
  })

  it('has no address, if Stripe takes none like it', async () => {
    const { stripe, provider } = await given()
    const id = await provider.createCustomer({ ...ADA, email: 'ädä@exämple.com', language: 'de' })
    expect(known(stripe, id)).toEqual({ email: null, name: 'ada', locales: ['de'] })
    expect(await provider.tellCustomer(id, { ...ADA, email: 'ödö@exämple.com' })).toBe(true)
  })
})

describe('taxes', () => {
  it.each([
    [{ automatic: true, ids: true }, true, true, { name: 'auto', address: 'auto' }],
    [{ automatic: true, ids: false }, true, false, { name: 'auto', address: 'auto' }],
    [{ automatic: false, ids: true }, false, true, { name: 'auto', address: 'auto' }],
    [undefined, false, false, {}],
  ])('(%j) are asked for in Checkout', async (tax, automatic, ids, update) => {
    const { stripe } = await given()
    const options = { secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url }
    const provider = await stripeProvider({ ...options, ...(tax && { tax }) })
    const customer = await provider.createCustomer(ADA)
    const order = { customer, accountId: ADA.id, ...PAGES }
    const plan = { item: { plan: 'Pro' }, price: stripe.givenPrice({ every: 'month' }).id }
    const pack = { item: { pack: 'Small', credits: 1 }, price: stripe.givenPrice().id }
    for (const it of [plan, pack]) await provider.checkout({ ...order, ...it })
    const its = { automatic_tax: { enabled: automatic }, tax_id_collection: { enabled: ids }, customer_update: update }
    expect(stripe.objects.list('checkout.session')).toMatchObject([
      { ...its, mode: 'payment', invoice_creation: { enabled: tax !== undefined } },
      { ...its, mode: 'subscription', invoice_creation: { enabled: false } },
    ])
  })
})

it('a price says that tax comes on top of it, where tax is worked out', async () => {
  const { stripe, provider } = await given()
  const options = { secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url }
  const taxing = await stripeProvider({ ...options, tax: { automatic: true, ids: false } })
  const [net, gross] = [stripe.givenPrice({ tax: 'exclusive' }).id, stripe.givenPrice({ tax: 'inclusive' }).id]
  expect(await taxing.price(net)).toMatchObject({ isNet: true })
  expect(await taxing.price(gross)).not.toHaveProperty('isNet')
  expect(await provider.price(net)).not.toHaveProperty('isNet')
})

describe('pages of Stripe', () => {
  it('are in the language of ours', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' }).id
    await provider.checkout({ customer, accountId: ADA.id, item: { plan: 'Pro' }, price, ...PAGES, language: 'de' })
    await provider.portal(customer, { returnTo: PAGES.returnTo, prices: [], language: 'de' })
    expect(stripe.objects.list('checkout.session')).toMatchObject([{ locale: 'de' }])
    expect(stripe.objects.list('billing_portal.session')).toMatchObject([{ locale: 'de' }])
  })
})

describe('checkout', () => {
  it('sells a pack: the payment says which, for whom, and what was paid', async () => {
    const { now, customer, stripe, id } = await givenPack()
    expect(await now()).toEqual({
      ...{ id, customer: { id: customer, email: 'ada@example.com', accountId: ADA.id }, isPaid: true, amount: 500 },
      ...{
        paidAt: expect.any(Date),
        currency: 'eur',
        returned: 0,
        of: { pack: 'Small', credits: 100, accountId: ADA.id },
      },
    })
    expect(stripe.objects.list('checkout.session')).toMatchObject([
      { client_reference_id: ADA.id, success_url: PAGES.returnTo, cancel_url: PAGES.cancelTo },
    ])
  })

  it('sells a pack with a coupon for all of it: a payment of nothing, which is there', async () => {
    const { now, id } = await givenPack('coupon')
    expect(id).toMatch(/^cs_/)
    expect(await now()).toMatchObject({ id, isPaid: true, amount: 0, returned: 0, of: { pack: 'Small', credits: 100 } })
  })

  it('sells a pack with money that takes days: it is not there until it is', async () => {
    const { now, stripe, id, session, provider } = await givenPack('takes_days')
    expect(await now()).toMatchObject({ isPaid: false, paidAt: null })
    stripe.settle(id, true)
    expect(await now()).toMatchObject({ isPaid: true, amount: 500 })
    expect(await provider.payment(session.id)).toEqual(await now())
    const other = await givenPack('takes_days')
    other.stripe.settle(other.id, false)
    expect(await other.now()).toMatchObject({ isPaid: false })
  })

  it('of a plan ends the page that was opened before, so that nobody pays for two', async () => {
    const { stripe, orderPlan, orderPack } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' }).id
    const pack = await orderPack(stripe.givenPrice().id)
    const first = await orderPlan(price)
    const second = await orderPlan(price)
    expect(() => stripe.pay(first)).toThrow('expired')
    expect(stripe.pay(second).subscription).toMatch(/^sub_/)
    expect(stripe.pay(pack).payment_status).toBe('paid')
  })

  it('of a plan that is ordered several times at the same moment has one page', async () => {
    const { stripe, orderPlan } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' }).id
    const pages = await Promise.all(Array.from({ length: 5 }, () => orderPlan(price)))
    const open = stripe.objects.list('checkout.session').filter((it) => (it as { status?: string }).status === 'open')
    expect(open).toHaveLength(1)
    expect(pages).toContain((open[0] as unknown as { url: string }).url)
  })

  it('of a plan is refused to who pays for one already, until that has ended', async () => {
    const { stripe, orderPlan, orderPack, price, id } = await givenSubscription()
    await expect(orderPlan(price.id)).rejects.toThrow(/pays for a subscription already$/)
    expect(await orderPack(stripe.givenPrice({ amount: 500 }).id)).toMatch(/^http/)
    stripe.cancel(id)
    expect(await orderPlan(price.id)).toMatch(/^http/)
  })

  it('refuses a price that is not active, with the words of Stripe', async () => {
    const { stripe, orderPlan } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' })
    price.active = false
    await expect(orderPlan(price.id)).rejects.toThrow(/^The price specified is inactive/)
  })

  it('says why it is refused', async () => {
    const { stripe, orderPlan, orderPack, price, provider } = await givenSubscription()
    const why = (order: Promise<unknown>) => order.catch((error: PaymentProviderFailure) => error.reason)
    const gone = stripe.givenPrice()
    gone.active = false
    expect(await why(orderPack(gone.id))).toBe('no_price')
    expect(await why(orderPack('price_of_a_sandbox'))).toBe('no_price')
    expect(await why(orderPack(stripe.givenPrice({ currency: 'usd' }).id))).toBe('other_currency')
    expect(await why(orderPlan(price.id))).toBe('subscribed')
    const page = { returnTo: PAGES.returnTo, prices: [] }
    expect(await why(provider.portal('cus_of_a_sandbox', page))).toBe('refused')
    const { provider: stranger } = await given({ secretKey: 'sk_test_anotherSecretKey' })
    expect(await why(stranger.portal('cus_1', page))).toBe('refused')
    for (const fault of ['drop', { status: 503 }, { status: 429 }, { status: 409 }, 'garbage'] as const) {
      stripe.set({ fault })
      expect(await why(provider.portal('cus_1', page))).toBe('away')
    }
  })
})

describe('what was bought', () => {
  it('since a moment is found without an event: plans and packs, paid or on their way, but not what others sell', async () => {
    const { stripe, provider, customer, orderPlan, orderPack } = await givenCustomer()
    const start = new Date('2026-01-31T11:00:00Z')
    const plan = stripe.pay(await orderPlan(stripe.givenPrice({ every: 'month' }).id))
    const packs = (['works', 'takes_days', 'coupon'] as const).map(async (how) =>
      stripe.pay(await orderPack(stripe.givenPrice().id), how),
    )
    await orderPack(stripe.givenPrice().id)
    const found = [
      { kind: 'subscription', id: plan.subscription, customer },
      ...(await Promise.all(packs)).map((it) => ({ kind: 'payment', id: it.payment_intent ?? it.id, customer })),
    ]
    const foreign = stripe.pay(await orderPack(stripe.givenPrice().id))
    Object.assign(foreign, { metadata: {} })
    const purchases = await provider.purchasesSince(start)
    expect(purchases).toHaveLength(4)
    expect(purchases).toEqual(expect.arrayContaining(found))
    expect(await provider.purchasesSince(new Date('2026-02-01T12:00:00Z'))).toEqual([])
  })
})

describe('a subscription', () => {
  it('is paid until the end of the period whose invoice is paid, not of the one that has begun', async () => {
    const { now, advanceTo, customer, price, id } = await givenSubscription()
    expect(await now()).toEqual({
      ...{ id, customer: { id: customer, email: 'ada@example.com', accountId: ADA.id }, price: price.id },
      ...{ status: 'active', startedAt: '2026-01-31T12:00', paidUntil: '2026-02-28T12:00', endsAt: null },
    })
    advanceTo('2026-02-28T12:30:00Z')
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-02-28T12:00' })
    advanceTo('2026-02-28T13:30:00Z')
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-03-31T12:00' })
  })

  it('is past due, recovers, or ends when Stripe gives up', async () => {
    const { now, advanceTo, stripe, customer, id } = await givenSubscription()
    stripe.setCard(customer, 'declined')
    advanceTo('2026-03-01T12:00:00Z')
    expect(await now()).toMatchObject({ status: 'past_due', paidUntil: '2026-02-28T12:00', endsAt: null })
    stripe.setCard(customer, 'works')
    stripe.payOpen(id)
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-03-31T12:00' })
    stripe.setCard(customer, 'declined')
    stripe.set({ afterRetries: 'unpaid' })
    advanceTo('2026-04-20T12:00:00Z')
    expect(await now()).toMatchObject({ status: 'unpaid', paidUntil: '2026-03-31T12:00' })
    stripe.cancel(id)
    expect(await now()).toMatchObject({ status: 'ended', paidUntil: '2026-03-31T12:00', endsAt: '2026-04-20T12:00' })
  })

  it('is on its way while a bank has its money, and is paid or past due then; also when it renews', async () => {
    const { stripe, provider, customer, orderPlan } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' }).id
    const id = stripe.pay(await orderPlan(price), 'takes_days').subscription as string
    const now = async () => {
      const found = await provider.subscription(id)
      return [found?.status, text(found?.paidUntil ?? null)]
    }
    const settle = (isPaid: boolean) => stripe.settle(stripe.objects.list('payment_intent')[0]?.id as string, isPaid)
    expect(await now()).toEqual(['pending', '2026-01-31T12:00'])
    settle(true)
    expect(await now()).toEqual(['active', '2026-02-28T12:00'])
    stripe.advanceTo(new Date('2026-03-05T12:00:00Z'))
    expect(await now()).toEqual(['pending', '2026-02-28T12:00'])
    stripe.setCard(customer, 'declined')
    settle(false)
    expect(await now()).toEqual(['past_due', '2026-02-28T12:00'])
  })

  it('that is changed for a year by a debit is on its way while the bank has its money', async () => {
    const { now, stripe, id, customer } = await givenSubscription()
    stripe.setCard(customer, 'takes_days')
    stripe.change(id, stripe.givenPrice({ every: 'year', amount: 19000 }).id)
    expect(await now()).toMatchObject({ status: 'pending', changeIsUnpaid: true, paidUntil: '2026-02-28T12:00' })
    stripe.settle(stripe.objects.list('payment_intent')[0]?.id as string, true)
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2027-01-31T12:00' })
  })

  it('that ended with an open invoice says when that is paid all the same', async () => {
    const { now, stripe, id, customer, advanceTo } = await givenSubscription()
    stripe.setCard(customer, 'declined')
    advanceTo('2026-03-20T12:00:00Z')
    expect(await now()).toMatchObject({ status: 'ended', paidUntil: '2026-02-28T12:00' })
    expect(await now()).not.toHaveProperty('isPaidLate')
    stripe.setCard(customer, 'works')
    stripe.payOpen(id)
    expect(await now()).toMatchObject({ status: 'ended', isPaidLate: true })
  })

  it('for several things is that of the plan, whatever stands first', async () => {
    const { stripe, provider, id, price } = await givenSubscription({ every: 'year', amount: 19000 })
    const [addOn, metered] = ['month', 'month'].map((every) => stripe.givenPrice({ every, amount: 300 }))
    Object.assign(metered?.recurring as object, { usage_type: 'metered' })
    const { items } = stripe.objects.get('subscription', id) as unknown as { items: { data: object[] } }
    const [item] = items.data
    items.data = [metered, addOn]
      .map((it, n) => ({ ...item, id: `si_other${n}`, price: it }) as object)
      .concat(item as object)
    // The month of what comes with it is paid since.
    const [first] = stripe.objects.list('invoice') as unknown as { lines: { data: object[] } }[]
    const late = structuredClone(first) as unknown as {
      id: string
      object: 'invoice'
      created: number
      lines: {
        data: { period: { end: number }; parent: { subscription_item_details: { subscription_item: string } } }[]
      }
    }
    for (const line of late.lines.data) {
      line.period.end -= 300 * 86_400
      line.parent.subscription_item_details.subscription_item = 'si_other1'
    }
    stripe.objects.add({ ...late, id: 'in_addon', created: late.created + 1 }, { subscription: id })
    expect(await provider.subscription(id, [price.id])).toMatchObject({ price: price.id })
    expect(text((await provider.subscription(id, [price.id]))?.paidUntil ?? null)).toBe('2027-01-31T12:00')
    // Nobody has said which: not one that is metered.
    expect(await provider.subscription(id)).toMatchObject({ price: addOn?.id })
  })

  it('ends when either field says so, and renews when that is taken back', async () => {
    const { now, stripe, id } = await givenSubscription()
    // The portal sets one of them, the dashboard the other.
    const end = Math.floor(Date.parse('2026-02-28T12:00:00Z') / 1000)
    const set = (its: object) => Object.assign(stripe.objects.get('subscription', id), its)
    set({ cancel_at: end, cancel_at_period_end: false })
    expect(await now()).toMatchObject({ status: 'active', endsAt: '2026-02-28T12:00' })
    set({ cancel_at: null, cancel_at_period_end: true })
    expect(await now()).toMatchObject({ status: 'active', endsAt: '2026-02-28T12:00' })
    set({ cancel_at: null, cancel_at_period_end: false })
    expect(await now()).toMatchObject({ status: 'active', endsAt: null })
  })

  it('tells what it is scheduled to change to, until it has, or that is taken back', async () => {
    const { now, advanceTo, stripe, provider, id } = await givenSubscription()
    const [cheap, cheaper] = [900, 500].map((amount) => stripe.givenPrice({ every: 'month', amount }))
    expect(await now()).not.toHaveProperty('next')
    stripe.change(id, cheap?.id as string, 'period_end')
    const next = (await provider.subscription(id))?.next
    expect([next?.price, text(next?.startsAt ?? null)]).toEqual([cheap?.id, '2026-02-28T12:00'])
    stripe.change(id, cheaper?.id as string, 'period_end')
    expect(await now()).toMatchObject({ next: { price: cheaper?.id } })
    stripe.cancel(id, 'period_end')
    expect(await now()).not.toHaveProperty('next')
    stripe.keep(id)
    advanceTo('2026-02-28T14:00:00Z')
    expect(await now()).toMatchObject({ price: cheaper?.id })
    expect(await now()).not.toHaveProperty('next')
  })

  it('tells of no scheduled change to a key that may not read it, and all the rest', async () => {
    const { now, stripe, id } = await givenSubscription()
    stripe.change(id, stripe.givenPrice({ every: 'month', amount: 500 }).id, 'period_end')
    stripe.set({ forbids: '/v1/subscription_schedules' })
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-02-28T12:00' })
    expect(await now()).not.toHaveProperty('next')
  })

  it('ends at the end of what is paid, or at once', async () => {
    const { now, advanceTo, stripe, id } = await givenSubscription()
    stripe.cancel(id, 'period_end')
    expect(await now()).toMatchObject({ status: 'active', endsAt: '2026-02-28T12:00', paidUntil: '2026-02-28T12:00' })
    advanceTo('2026-02-10T08:00:00Z')
    stripe.cancel(id)
    expect(await now()).toMatchObject({ status: 'ended', endsAt: '2026-02-10T08:00', paidUntil: '2026-02-10T08:00' })
  })

  it('that is paused is paused until it goes on, and is then not paid before its next invoice is', async () => {
    const { now, advanceTo, stripe, id } = await givenSubscription()
    stripe.pause(id)
    advanceTo('2026-03-10T00:00:00Z')
    expect(await now()).toMatchObject({ status: 'paused', paidUntil: '2026-02-28T12:00' })
    stripe.resume(id)
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-02-28T12:00' })
    advanceTo('2026-03-31T14:00:00Z')
    expect(await now()).toMatchObject({ status: 'active', paidUntil: '2026-04-30T12:00' })
  })

  it('on trial is paid until the trial ends; its periods begin then', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    const { id: price } = stripe.givenPrice({ every: 'month' })
    const { id } = stripe.create({ customer, price, trialDays: 7 })
    const found = await provider.subscription(id)
    expect([text(found?.startedAt ?? null), text(found?.paidUntil ?? null)]).toEqual([
      '2026-01-31T12:00',
      '2026-02-07T12:00',
    ])
    stripe.advanceTo(new Date('2026-02-07T14:00:00Z'))
    const later = await provider.subscription(id)
    expect([text(later?.startedAt ?? null), text(later?.paidUntil ?? null)]).toEqual([
      '2026-02-07T12:00',
      '2026-03-07T12:00',
    ])
  })

  it('that is changed in the portal, or for a year, begins anew; for a price of the same interval in the dashboard it goes on', async () => {
    const { now, advanceTo, stripe, id } = await givenSubscription()
    advanceTo('2026-02-14T12:00:00Z')
    const dearer = stripe.givenPrice({ every: 'month', amount: 3900 }).id
    stripe.change(id, dearer, 'prorated')
    expect(await now()).toMatchObject({ price: dearer, startedAt: '2026-01-31T12:00', paidUntil: '2026-02-28T12:00' })
    const dearest = stripe.givenPrice({ every: 'month', amount: 5900 }).id
    stripe.change(id, dearest)
    expect(await now()).toMatchObject({ price: dearest, startedAt: '2026-02-14T12:00', paidUntil: '2026-03-14T12:00' })
    const yearly = stripe.givenPrice({ every: 'year', amount: 19000 }).id
    stripe.change(id, yearly)
    expect(await now()).toMatchObject({ price: yearly, startedAt: '2026-02-14T12:00', paidUntil: '2027-02-14T12:00' })
  })

  it('is nothing to Stripe if it never was, and knows no account if its customer was deleted', async () => {
    const { provider, stripe, id, customer } = await givenSubscription()
    expect(await provider.subscription('sub_none')).toBeUndefined()
    expect(await provider.payment('pi_none')).toBeUndefined()
    expect(await provider.payment('cs_none')).toBeUndefined()
    stripe.objects.remove(customer)
    expect((await provider.subscription(id))?.customer).toEqual({ id: customer, email: null, accountId: null })
  })

  it.each([
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@xn--bcher-kva.example', 'ada@xn--bcher-kva.example'],
    ['ädä@bücher.example', 'ädä@bücher.example'],
  ])('knows its customer by %s, as an account has it', async (given, email) => {
    const { provider, stripe, id, customer } = await givenSubscription()
    Object.assign(stripe.objects.get('customer', customer), { email: given })
    expect((await provider.subscription(id))?.customer).toMatchObject({ email })
  })
})

describe('money that goes back', () => {
  it('is what was refunded, in parts, unless the refund failed', async () => {
    const { now, stripe, id } = await givenPack()
    stripe.refund(id, 200)
    const last = stripe.refund(id, 300)
    expect(await now()).toMatchObject({ isPaid: true, amount: 500, returned: 500 })
    stripe.failRefund(last.id)
    expect(await now()).toMatchObject({ returned: 200 })
  })

  it('is what a bank has taken back until the dispute is won; an inquiry takes nothing', async () => {
    const { now, stripe, id } = await givenPack()
    const inquiry = stripe.dispute(id, 'inquiry')
    expect(await now()).toMatchObject({ returned: 0 })
    stripe.endDispute(inquiry.id, 'warning_closed')
    const dispute = stripe.dispute(id)
    expect(await now()).toMatchObject({ returned: 500 })
    stripe.endDispute(dispute.id, 'won')
    expect(await now()).toMatchObject({ returned: 0 })
    stripe.endDispute(dispute.id, 'lost')
    expect(await now()).toMatchObject({ returned: 500 })
  })

  it('of a subscription says of which period', async () => {
    const { stripe, provider, id, advanceTo } = await givenSubscription()
    advanceTo('2026-03-10T12:00:00Z')
    const [latest, first] = stripe.objects.list('payment_intent')
    stripe.refund(latest?.id as string)
    const periods = await Promise.all([first, latest].map((it) => provider.payment(it?.id as string)))
    expect(periods.map((it) => [it?.returned, it?.of && 'subscription' in it.of && text(it.of.periodStart)])).toEqual([
      [0, '2026-01-31T12:00'],
      [1900, '2026-02-28T12:00'],
    ])
    expect(periods[0]?.of).toMatchObject({ subscription: id })
    stripe.change(id, stripe.givenPrice({ every: 'month', amount: 9900 }).id, 'prorated')
    const difference = await provider.payment(stripe.objects.list('payment_intent')[0]?.id as string)
    expect(difference?.of && 'subscription' in difference.of && text(difference.of.periodStart)).toBe(
      '2026-02-28T12:00',
    )
  })
})

describe('money for what comes with a plan', () => {
  const DAY = 86_400
  /** A subscription for a plan and something else, which stands first and was paid by an invoice of its own. */
  async function givenAddOn() {
    const all = await givenSubscription({ every: 'year', amount: 19000 })
    const { stripe, id, price } = all
    const addOn = stripe.givenPrice({ every: 'month', amount: 300 })
    const { items } = stripe.objects.get('subscription', id) as unknown as { items: { data: object[] } }
    items.data.unshift({ ...items.data[0], id: 'si_addon', price: addOn })
    const [invoice] = stripe.objects.list('invoice') as unknown as Invoiced[]
    const [intent] = stripe.objects.list('payment_intent')
    const [paid] = stripe.objects.list('invoice_payment') as unknown as Invoiced[]
    const lines = structuredClone((invoice as Invoiced).lines.data)
    for (const line of lines) {
      line.period = { start: line.period.start + 90 * DAY, end: line.period.end + 120 * DAY }
      line.parent.subscription_item_details.subscription_item = 'si_addon'
      line.pricing.price_details.price = addOn.id
    }
    const own = { ...(invoice as Invoiced), id: 'in_addon', lines: { data: lines } }
    stripe.objects.add(own, { subscription: id })
    stripe.objects.add({ ...(intent as object as Invoiced), id: 'pi_addon' }, {})
    const its = { ...(paid as Invoiced), id: 'inpay_addon', invoice: 'in_addon' }
    stripe.objects.add(
      { ...its, payment: { type: 'payment_intent', payment_intent: 'pi_addon' } },
      { payment_intent: 'pi_addon' },
    )
    const of = async (payment: string, plans = [price.id]) =>
      (await all.provider.payment(payment, async () => plans))?.of
    return { ...all, of, lines, plan: intent?.id as string, invoice: invoice as Invoiced }
  }
  interface Invoiced {
    readonly id: string
    readonly object: 'invoice'
    readonly created: number
    readonly lines: {
      readonly data: {
        period: { start: number; end: number }
        parent: { subscription_item_details: { subscription_item: string; proration: boolean } }
        pricing: { price_details: { price: string } }
      }[]
    }
  }

  it('takes nothing back of the plan’s period when it goes back', async () => {
    const { id, of, plan } = await givenAddOn()
    expect(await of('pi_addon')).toBeNull()
    expect(await of(plan)).toMatchObject({ subscription: id })
  })

  it('that was paid together with the plan is of the plan’s period', async () => {
    const { of, plan, lines, invoice } = await givenAddOn()
    invoice.lines.data.unshift(...lines)
    const paid = await of(plan)
    expect(paid && 'periodStart' in paid && text(paid.periodStart)).toBe('2026-01-31T12:00')
  })

  it('does not say how long the period of a changed plan is', async () => {
    const { of, plan, invoice } = await givenAddOn()
    for (const line of invoice.lines.data) {
      line.period.start += 40 * DAY
      line.parent.subscription_item_details.proration = true
    }
    const paid = await of(plan)
    expect(paid && 'periodStart' in paid && text(paid.periodStart)).toBe('2026-01-31T12:00')
  })
})

describe('the portal', () => {
  it('offers the plans for sale; what is cheaper or shorter waits for the end of what is paid', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    const [month, year] = ['month', 'year'].map((every) => stripe.givenPrice({ every }))
    const page = { returnTo: PAGES.returnTo, prices: [year?.id as string, month?.id as string] }
    expect(await provider.portal(customer, page)).toMatch(`${stripe.url}/p/session/`)
    await provider.portal(customer, { ...page, prices: page.prices.toReversed() })
    const other = await stripeProvider({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url })
    await other.portal(customer, page)
    const configurations = stripe.objects.list('billing_portal.configuration') as unknown as { features: object }[]
    expect(configurations).toHaveLength(1)
    expect(configurations[0]?.features).toMatchObject({
      subscription_cancel: { enabled: 'true', mode: 'at_period_end' },
      subscription_update: {
        proration_behavior: 'always_invoice',
        billing_cycle_anchor: 'now',
        schedule_at_period_end: {
          conditions: { 0: { type: 'decreasing_item_amount' }, 1: { type: 'shortening_interval' } },
        },
      },
    })
    expect(stripe.objects.list('billing_portal.session')).toMatchObject(Array(3).fill({ return_url: PAGES.returnTo }))
  })

  it('offers one price an interval of each product, as Stripe takes no more', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    const month = stripe.givenPrice({ every: 'month' })
    const product = month.product as string
    const others = ['month', 'year'].map((every) => stripe.givenPrice({ every, product }))
    const prices = [month, ...others].map(({ id }) => id)
    expect(await provider.portal(customer, { returnTo: PAGES.returnTo, prices })).toMatch(`${stripe.url}/p/session/`)
  })

  it.each([
    ['billing_cycle_anchor', 1],
    ['schedule_at_period_end', 0],
  ])('that Stripe takes no "%s" for is made %i times without it', async (refusedOfPortal, made) => {
    const { stripe, provider, customer } = await givenCustomer()
    stripe.set({ refusedOfPortal })
    const page = { returnTo: PAGES.returnTo, prices: [stripe.givenPrice({ every: 'month' }).id] }
    const opened = provider.portal(customer, page).then(
      () => 1,
      (error) => (error instanceof PaymentProviderFailure ? 0 : error),
    )
    expect(await opened).toBe(made)
    const configurations = stripe.objects.list('billing_portal.configuration')
    expect(configurations).toHaveLength(made)
    expect(JSON.stringify(configurations)).not.toContain(refusedOfPortal)
  })

  it('can be opened when nothing is for sale', async () => {
    const { stripe, provider, customer } = await givenCustomer()
    expect(await provider.portal(customer, { returnTo: PAGES.returnTo, prices: [] })).toMatch(
      `${stripe.url}/p/session/`,
    )
  })
})

describe('the endpoint for events', () => {
  const URL = 'https://easel.example/billing/stripe'
  const [first, ...others] = USED_EVENTS
  it.each([
    ['none there: the command line of Stripe may send them', {}, undefined],
    ['all events', { enabled_events: ['*'], url: `${URL}/` }, undefined],
    ['those that are used', { enabled_events: [...USED_EVENTS, 'radar.rule'], url: URL }, undefined],
    ['all but one', { enabled_events: others, url: URL }, `is not sent ${first}: add these events to it`],
    ['switched off', { enabled_events: ['*'], url: URL, status: 'disabled' }, 'is switched off: enable it'],
  ])('has %s', async (_what, its, problem) => {
    const { stripe, provider } = await given()
    const other = {
      id: 'we_1',
      object: 'webhook_endpoint',
      created: 1,
      url: 'https://other.example',
      status: 'enabled',
    }
    stripe.objects.add({ ...other, enabled_events: ['a'], ...its })
    expect(await provider.endpointProblem(URL)).toBe(problem)
  })
})

describe('the end of an account', () => {
  it('ends all its subscriptions and open pages, also when asked for twice or after the customer is gone', async () => {
    const { stripe, provider, customer, orderPlan, orderPack } = await givenCustomer()
    const price = stripe.givenPrice({ every: 'month' })
    const [plan, pack] = [await orderPlan(price.id), await orderPack(stripe.givenPrice().id)]
    const running = stripe.create({ customer, price: price.id })
    const paused = stripe.create({ customer, price: price.id })
    stripe.pause(paused.id)
    const statuses = () =>
      Promise.all([running, paused].map(async ({ id }) => (await provider.subscription(id))?.status))
    expect(await statuses()).toEqual(['active', 'paused'])
    await provider.cancelAll(customer)
    expect(await statuses()).toEqual(['ended', 'ended'])
    expect(() => stripe.pay(plan)).toThrow('expired')
    expect(() => stripe.pay(pack)).toThrow('expired')
    await provider.cancelAll(customer)
    stripe.objects.remove(customer)
    await provider.cancelAll(customer)
    expect(await statuses()).toEqual(['ended', 'ended'])
  })
})

describe('a failure', () => {
  it('of the connection is repeated by itself, and makes nothing twice', async () => {
    const { stripe, provider, customer, orderPack } = await givenCustomer()
    const price = stripe.givenPrice().id
    stripe.set({ fault: { status: 503 } })
    const order = orderPack(price)
    await stripe.seen(({ path }) => path === '/v1/checkout/sessions')
    stripe.set({ fault: 'none' })
    expect(await order).toMatch(/\/c\/pay\//)
    expect(stripe.objects.list('checkout.session', ['customer', customer])).toHaveLength(1)
    await provider.payment('pi_none')
  })

  it.each([['drop' as const], ['garbage' as const], [{ status: 500 }]])('(%j) that lasts is said', async (fault) => {
    const { stripe, provider } = await given()
    stripe.set({ fault })
    await expect(provider.subscription('sub_1')).rejects.toThrow(PaymentProviderFailure)
    await expect(provider.price('price_1')).rejects.toThrow(PaymentProviderFailure)
    await expect(provider.createCustomer(ADA)).rejects.toThrow(PaymentProviderFailure)
  })

  it('of the key is said without the key', async () => {
    const { provider } = await given({ secretKey: 'sk_test_anotherSecretKey' })
    const failure = await provider.price('price_1').catch((error: Error) => error)
    expect(failure).toBeInstanceOf(PaymentProviderFailure)
    expect((failure as Error).message).toMatch(/^Invalid API Key/)
    expect((failure as Error).message).not.toContain('anotherSecretKey')
  })
})

it('docs/billing.md subscribes the endpoint to the events that are used, and to no other', () => {
  const docs = readFileSync(new URL('../../../docs/billing.md', import.meta.url), 'utf8')
  const named = [...docs.matchAll(/enabled_events\[\]=([a-z._]+)/g)].map(([, type]) => type)
  expect(named).toEqual(USED_EVENTS)
})

describe('an event', () => {
  const post = (
    provider: Awaited<ReturnType<typeof given>>['provider'],
    event: unknown,
    secret = WEBHOOK_SECRET,
    at?: number,
  ) => {
    const { body, signature } = signed(event, secret, at)
    return provider.event(Buffer.from(body), signature)
  }

  it('says what to ask for, and holds nobody’s name or address', async () => {
    const { stripe, provider, id, customer, advanceTo, orderPack } = await givenSubscription()
    advanceTo('2026-03-01T12:00:00Z')
    const { payment_intent: pack } = stripe.pay(await orderPack(stripe.givenPrice().id))
    const free = stripe.pay(await orderPack(stripe.givenPrice().id), 'coupon')
    stripe.refund(pack as string, 1)
    stripe.endDispute(stripe.dispute(pack as string).id, 'lost')
    const found = stripe.events.list.map((event) => post(provider, event))
    const abouts = (type: string) => found.flatMap((it) => (it?.type === type ? [it.about] : []))
    const [subscription, payment] = [
      { kind: 'subscription', id },
      { kind: 'payment', id: pack },
    ]
    expect(abouts('customer.subscription.created')).toEqual([subscription])
    expect(abouts('invoice.paid')).toEqual([subscription, subscription])
    expect(abouts('checkout.session.completed')).toEqual([subscription, payment, { kind: 'payment', id: free.id }])
    for (const type of ['charge.refunded', 'refund.created', 'charge.dispute.created', 'charge.dispute.closed'])
      expect(abouts(type)).toEqual([payment])
    expect(abouts('payment_intent.succeeded')).toEqual([null, null, null])
    expect(found.find((it) => it?.type === 'charge.refunded')).toMatchObject({ customer, body: { amount_refunded: 1 } })
    expect(JSON.stringify(found)).not.toMatch(/payer@example|Secret Street|ada@example/)
    expect(new Set(found.map((it) => it?.id)).size).toBe(found.length)
    expect(found[0]?.createdAt.toISOString()).toMatch(/^2026-01-31T12:0/)
  })

  it('of an endpoint with an older API version names its subscription, too', async () => {
    const { stripe, provider } = await givenSubscription()
    const paid = stripe.events.list.find(({ type }) => type === 'invoice.paid')
    const older = { ...paid, data: { object: { ...paid?.data.object, parent: undefined, subscription: 'sub_older' } } }
    expect(post(provider, older)?.about).toEqual({ kind: 'subscription', id: 'sub_older' })
  })

  it('of another kind is kept without anything to ask for', async () => {
    const { provider } = await given()
    const event = { id: 'evt_1', type: 'radar.rule.created', created: 1, data: { object: { id: 'rule_1' } } }
    expect(post(provider, event)).toMatchObject({ id: 'evt_1', about: null, customer: null, body: { id: 'rule_1' } })
  })

  it('is none if it was signed with another secret, changed, or is too old', async () => {
    const { provider } = await given()
    const event = { id: 'evt_1', type: 'invoice.paid', created: 1, data: { object: { id: 'in_1' } } }
    const yesterday = Math.floor((Date.now() - DAY_MS) / 1000)
    const { body, signature } = signed(event, WEBHOOK_SECRET)
    expect(provider.event(Buffer.from(body), signature)?.id).toBe('evt_1')
    expect(provider.event(Buffer.from(body.replace('in_1', 'in_2')), signature)).toBeUndefined()
    expect(post(provider, event, 'whsec_other')).toBeUndefined()
    expect(post(provider, event, WEBHOOK_SECRET, yesterday)).toBeUndefined()
    for (const wrong of ['', 't=1', 'nothing', `t=1,v1=${'0'.repeat(64)}`])
      expect(provider.event(Buffer.from(body), wrong)).toBeUndefined()
    const broken = signed(undefined, WEBHOOK_SECRET).signature
    expect(provider.event(Buffer.from('undefined'), broken)).toMatchObject({ about: null, problem: expect.any(String) })
  })
})
