import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import Stripe from 'stripe'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SECRET_KEY, type StripeStandInOptions, startStripeStandIn } from './stripe-stand-in.js'

/** The stand-in, and the package as anybody would use it. */
async function given(options: StripeStandInOptions = {}) {
  const standIn = await startStripeStandIn(options)
  onTestFinished(() => standIn.close())
  const client = (key = SECRET_KEY) =>
    new Stripe(key, { host: '127.0.0.1', port: standIn.port, protocol: 'http', maxNetworkRetries: 0 })
  return { standIn, client, stripe: client() }
}

async function givenSubscriber({ trialDays = 0, every = 'month', amount = 1900 } = {}) {
  const { standIn, stripe } = await given({ start: new Date('2026-01-31T12:00:00Z') })
  const customer = await stripe.customers.create({ email: 'ada@example.com' })
  const price = standIn.givenPrice({ every, amount })
  const { url } = await stripe.checkout.sessions.create({
    ...{ mode: 'subscription', customer: customer.id, success_url: 'http://easel/paid' },
    line_items: [{ price: price.id, quantity: 1 }],
    ...(trialDays > 0 && { subscription_data: { trial_period_days: trialDays } }),
  })
  const session = standIn.pay(url as string)
  const id = session.subscription as string
  const now = () => stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] })
  const advanceTo = (moment: string) => standIn.advanceTo(new Date(moment))
  return { standIn, stripe, customer, price, id, now, advanceTo }
}

const periodOf = ({ items }: Stripe.Subscription) =>
  [items.data[0]?.current_period_start, items.data[0]?.current_period_end].map((it) =>
    new Date((it ?? 0) * 1000).toISOString().slice(0, 10),
  )
const typesOf = (standIn: Awaited<ReturnType<typeof given>>['standIn']) => standIn.events.list.map(({ type }) => type)

describe('the API, used by the stripe package', () => {
  it('answers lists in pages, newest first', async () => {
    const { stripe, standIn } = await given()
    const { id: customer } = await stripe.customers.create({})
    const price = standIn.givenPrice().id
    const made: string[] = []
    for (let n = 0; n < 5; n++) {
      const line_items = [{ price, quantity: 1 }]
      made.push(
        (await stripe.checkout.sessions.create({ mode: 'payment', customer, line_items, success_url: 'http://x' })).id,
      )
    }
    const listed: string[] = []
    for await (const { id } of stripe.checkout.sessions.list({ customer, limit: 2 })) listed.push(id)
    expect(listed).toEqual(made.toReversed())
  })

  it('makes once what is asked for with one idempotency key, and refuses the key for anything else', async () => {
    const { stripe } = await given()
    const make = (name: string) => stripe.customers.create({ name }, { idempotencyKey: 'once' })
    expect((await make('ada')).id).toBe((await make('ada')).id)
    await expect(make('bob')).rejects.toThrow(Stripe.errors.StripeIdempotencyError)
  })

  it('refuses what there is not, what is missing, and another key', async () => {
    const { stripe, client, standIn } = await given()
    await expect(stripe.prices.retrieve('price_none')).rejects.toMatchObject({
      code: 'resource_missing',
      statusCode: 404,
    })
    const { id: customer } = await stripe.customers.create({})
    const line_items = [{ price: standIn.givenPrice({ every: 'month' }).id, quantity: 1 }]
    const order = { customer, line_items, success_url: 'http://x' }
    await expect(stripe.checkout.sessions.create({ ...order, mode: 'payment' })).rejects.toThrow('recurring price')
    await expect(client('sk_test_other').customers.create({})).rejects.toThrow(Stripe.errors.StripeAuthenticationError)
  })
})

describe('a payment', () => {
  async function givenPayment(how: 'works' | 'declined' | 'takes_days' | 'coupon') {
    const { stripe, standIn } = await given()
    const { id: customer } = await stripe.customers.create({})
    const order = await stripe.checkout.sessions.create({
      ...{
        mode: 'payment',
        customer,
        success_url: 'http://easel/paid',
        payment_intent_data: { metadata: { pack: 'S' } },
      },
      line_items: [{ price: standIn.givenPrice({ amount: 500 }).id, quantity: 1 }],
    })
    const session = standIn.pay(order.id, how)
    return { stripe, standIn, session, intent: session.payment_intent as string }
  }

  it('has its metadata, can be given back in parts, and is told of', async () => {
    const { stripe, standIn, session, intent } = await givenPayment('works')
    expect(session).toMatchObject({ status: 'complete', payment_status: 'paid' })
    await stripe.refunds.create({ payment_intent: intent, amount: 200 })
    const { metadata, latest_charge } = await stripe.paymentIntents.retrieve(intent, { expand: ['latest_charge'] })
    expect([metadata, (latest_charge as Stripe.Charge).amount_refunded]).toEqual([{ pack: 'S' }, 200])
    expect(typesOf(standIn)).toEqual(expect.arrayContaining(['checkout.session.completed', 'charge.refunded']))
  })

  it('is open when the card was declined, and free with a coupon', async () => {
    expect((await givenPayment('declined')).session).toMatchObject({ status: 'open', payment_intent: null })
    const free = (await givenPayment('coupon')).session
    expect(free).toMatchObject({ payment_status: 'no_payment_required', amount_total: 0, payment_intent: null })
  })

  it('that takes days is processing until it is settled', async () => {
    const { stripe, standIn, session, intent } = await givenPayment('takes_days')
    expect(session).toMatchObject({ status: 'complete', payment_status: 'unpaid' })
    expect((await stripe.paymentIntents.retrieve(intent)).status).toBe('processing')
    standIn.settle(intent, true)
    expect(typesOf(standIn).at(-1)).toBe('checkout.session.async_payment_succeeded')
    expect((await stripe.paymentIntents.retrieve(intent)).status).toBe('succeeded')
  })

  it('can be disputed', async () => {
    const { stripe, standIn, intent } = await givenPayment('works')
    const { id } = standIn.dispute(intent)
    standIn.endDispute(id, 'won')
    const { data } = await stripe.disputes.list({ payment_intent: intent })
    expect(data.map(({ status, amount }) => [status, amount])).toEqual([['won', 500]])
  })
})

describe('a subscription', () => {
  it('renews on the last day of a month that has no such day, an hour after its period has begun', async () => {
    const { now, advanceTo, stripe, id } = await givenSubscriber()
    expect(periodOf(await now())).toEqual(['2026-01-31', '2026-02-28'])
    advanceTo('2026-02-28T12:30:00Z')
    expect(await now()).toMatchObject({ status: 'active', latest_invoice: { status: 'draft' } })
    advanceTo('2026-03-31T13:30:00Z')
    expect(periodOf(await now())).toEqual(['2026-03-31', '2026-04-30'])
    const { data } = await stripe.invoices.list({ subscription: id, status: 'paid' })
    expect(data.map((it) => it.billing_reason)).toEqual([
      'subscription_cycle',
      'subscription_cycle',
      'subscription_create',
    ])
    const payments = await stripe.invoicePayments.list({ invoice: data[0]?.id as string })
    const intent = payments.data[0]?.payment.payment_intent as string
    const [paid] = (await stripe.invoicePayments.list({ payment: { type: 'payment_intent', payment_intent: intent } }))
      .data
    expect(paid?.invoice).toBe(data[0]?.id)
  })

  it('is past due while its card is declined, recovers, or is canceled after a week', async () => {
    const { standIn, customer, id, now, advanceTo } = await givenSubscriber()
    standIn.setCard(customer.id, 'declined')
    advanceTo('2026-02-28T14:00:00Z')
    expect((await now()).status).toBe('past_due')
    standIn.setCard(customer.id, 'works')
    advanceTo('2026-03-04T00:00:00Z')
    expect((await now()).status).toBe('active')
    standIn.setCard(customer.id, 'declined')
    advanceTo('2026-03-31T14:00:00Z')
    standIn.setCard(customer.id, 'works')
    standIn.payOpen(id)
    expect((await now()).status).toBe('active')
    standIn.setCard(customer.id, 'declined')
    advanceTo('2026-05-10T00:00:00Z')
    expect(await now()).toMatchObject({ status: 'canceled' })
  })

  it('can be canceled at the end of its period, or at once', async () => {
    const { standIn, stripe, id, now, advanceTo } = await givenSubscriber()
    standIn.cancel(id, 'period_end')
    expect(await now()).toMatchObject({ status: 'active', cancel_at_period_end: true })
    advanceTo('2026-03-01T00:00:00Z')
    expect(await now()).toMatchObject({ status: 'canceled', ended_at: Date.parse('2026-02-28T12:00:00Z') / 1000 })
    const other = await givenSubscriber()
    await other.stripe.subscriptions.cancel(other.id)
    expect((await other.now()).status).toBe('canceled')
    await expect(stripe.subscriptions.cancel(id)).rejects.toMatchObject({ code: 'resource_missing' })
  })

  it('on trial pays when the trial ends', async () => {
    const { now, advanceTo } = await givenSubscriber({ trialDays: 7 })
    expect(await now()).toMatchObject({ status: 'trialing', latest_invoice: { status: 'paid', total: 0 } })
    advanceTo('2026-02-08T00:00:00Z')
    expect(await now()).toMatchObject({ status: 'active', latest_invoice: { status: 'paid', total: 1900 } })
    expect(periodOf(await now())).toEqual(['2026-02-07', '2026-03-07'])
  })

  it('that is paused is not paid', async () => {
    const { standIn, id, now, advanceTo } = await givenSubscriber()
    standIn.pause(id)
    advanceTo('2026-03-10T00:00:00Z')
    expect(await now()).toMatchObject({ status: 'active', latest_invoice: { status: 'void' } })
    standIn.resume(id)
    advanceTo('2026-04-10T00:00:00Z')
    expect(await now()).toMatchObject({ latest_invoice: { status: 'paid' } })
  })

  it('changes at once for a price of another interval, or at the end of what is paid', async () => {
    const { standIn, id, now, advanceTo } = await givenSubscriber()
    const yearly = standIn.givenPrice({ every: 'year', amount: 19000 })
    const cheap = standIn.givenPrice({ every: 'month', amount: 500 })
    advanceTo('2026-02-14T12:00:00Z')
    standIn.change(id, yearly.id)
    expect(periodOf(await now())).toEqual(['2026-02-14', '2027-02-14'])
    expect(await now()).toMatchObject({ latest_invoice: { total: 18050, status: 'paid' } })
    standIn.change(id, cheap.id, 'period_end')
    advanceTo('2027-02-14T14:00:00Z')
    expect(periodOf(await now())).toEqual(['2027-02-14', '2027-03-14'])
    expect(await now()).toMatchObject({ latest_invoice: { total: 500, status: 'paid' } })
  })
})

describe('the webhooks', () => {
  async function givenEndpoint() {
    const taken: { readonly id: string; readonly created: number }[] = []
    let status = 200
    const verify = new Stripe('sk_test').webhooks
    const server = createServer(async (request, response) => {
      const event = verify.constructEvent(
        await readText(request),
        request.headers['stripe-signature'] ?? '',
        'whsec_test',
      )
      if (status === 200) taken.push(event)
      response.writeHead(status).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const answer = (with_: number) => {
      status = with_
    }
    return { taken, answer, webhook: { url, secret: 'whsec_test' } }
  }

  it('are signed, in order, and come again until they were taken', async () => {
    const { taken, webhook, answer } = await givenEndpoint()
    const { stripe, standIn } = await given({ webhook })
    for (let n = 0; n < 3; n++) await stripe.customers.create({})
    await standIn.events.sent()
    expect(taken.map(({ id }) => id)).toEqual(standIn.events.list.map(({ id }) => id))
    answer(500)
    await stripe.customers.create({})
    await standIn.events.sent()
    expect([taken.length, standIn.events.waiting().length]).toEqual([3, 1])
    answer(200)
    expect(await standIn.events.deliver()).toBe(1)
    expect([taken.length, standIn.events.waiting().length]).toEqual([4, 0])
  })

  it('can be held back, doubled and shuffled', async () => {
    const { taken, webhook } = await givenEndpoint()
    const { stripe, standIn } = await given({ webhook })
    standIn.events.hold()
    for (let n = 0; n < 20; n++) await stripe.customers.create({})
    expect(taken).toEqual([])
    expect(await standIn.events.deliver({ order: 'shuffled', times: 2 })).toBe(40)
    expect(new Set(taken.map(({ id }) => id)).size).toBe(20)
    expect(taken.map(({ id }) => id)).not.toEqual(standIn.events.list.flatMap(({ id }) => [id, id]))
  })
})
