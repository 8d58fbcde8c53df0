import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { spendingStore } from '../../../src/db/accounts/ledger.js'
import { planStore } from '../../../src/db/accounts/plans.js'
import { creditPackStore } from '../../../src/db/billing/credit-packs.js'
import { money } from '../../../src/web/parts/text.js'
import { SECRET_KEY, type StripeStandIn, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

const SECRET = 'whsec_pages'
let stripe: StripeStandIn
const context = useService(async () => {
  stripe = await startStripeStandIn()
  return {
    env: {
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: SECRET,
      STRIPE_API_URL: stripe.url,
      SITE_LANGUAGES: 'en,de',
    },
  }
})

beforeAll(() => {
  stripe.events.sendTo({ url: `${context.service.url}/billing/stripe`, secret: SECRET })
  return () => stripe.close()
})
afterEach(() => {
  stripe.set({ fault: 'none' })
  stripe.events.release()
})

async function givenBuyer() {
  const { db, url } = context.service
  const user = await givenUser(db, { credits: 0, subscription: null })
  const cookie = await givenSession(db, user)
  const post = (path: string, body: Record<string, string> = {}) =>
    visit(url, path, { cookie, body: { _: '', ...body } })
  return { user, cookie, post, get: (path = '/account') => visit(url, path, { cookie }) }
}

/** On sale, with its price at Stripe. */
async function givenOffer(more: Parameters<typeof givenPlan>[1] = {}, amount = 1900) {
  const price = stripe.givenPrice({ every: more.period ?? 'month', amount })
  return { plan: await givenPlan(context.service.db, { credits: 500, forSale: true, ...more, price: price.id }), price }
}
async function givenPack(credits = 100, amount = 500) {
  const { id: price } = stripe.givenPrice({ amount })
  const pack = { name: `Pack ${crypto.randomUUID()}`, credits, price, retiredAt: null }
  await creditPackStore(context.service.db).import([pack])
  return pack
}

/** Without the service's origin, which tests reach elsewhere. */
const pathOf = (url: string | null) => (url ?? '').replace('http://easel.test', '')
const cardOf = (html: string, name: string) =>
  html.split('<li class="card offer">').find((it) => it.includes(name)) ?? ''
const problemIn = (html: string) => textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')
/** The section where things are bought. */
const shopIn = (html: string) => textOf(/<section id="buy".*?<\/section>/s.exec(html)?.[0] ?? '')

describe('what is for sale', () => {
  it('is on /account and on /pricing, with its price', async () => {
    const { plan } = await givenOffer({ period: 'year', carryOver: 200, signUpCredits: 50, name: '<b>Year</b>' }, 19000)
    const pack = await givenPack(1200)
    const { get } = await givenBuyer()
    for (const html of [(await get()).html, (await visit(context.service.url, '/pricing')).html]) {
      const card = textOf(cardOf(html, '&lt;b>Year'))
      for (const words of [
        plan.name,
        '€190.00 a year',
        '500 credits a year',
        '200 stay',
        '50 credits more',
        'All models',
      ])
        expect(card).toContain(words)
      expect(textOf(cardOf(html, pack.name))).toMatch(/€5\.00 once.*1,200 credits.*never expire/s)
    }
    expect((await visit(context.service.url, '/')).html).toContain('href="/pricing"')
    expect((await get('/pricing')).html).toContain('href="/account#buy"')
  })

  it('is not what is retired, not for sale, or not active at the provider', async () => {
    const hidden = [await givenOffer({ forSale: false }), await givenOffer(), await givenOffer()]
    await planStore(context.service.db).retire(hidden[1]?.plan.name as string)
    Object.assign(hidden[2]?.price as object, { active: false })
    const shown = await givenOffer()
    const pack = await givenPack()
    await creditPackStore(context.service.db).retire(pack.name)
    const { html } = await visit(context.service.url, '/pricing')
    expect(html).toContain(shown.plan.name)
    for (const name of [...hidden.map(({ plan }) => plan.name), pack.name]) expect(html).not.toContain(name)
  })

  it('costs what it says in each currency', () => {
    const texts = [
      ...[money({ amount: 1900, currency: 'eur' }), money({ amount: 500, currency: 'jpy' })],
      ...[money({ amount: 1500, currency: 'kwd' }), money({ amount: 50000, currency: 'isk' })],
      money({ amount: 500_000, currency: 'huf' }),
    ]
    expect(texts.map((it) => it.replace(/\s/g, ' '))).toEqual(['€19.00', '¥500', 'KWD 1.500', 'ISK 500', 'HUF 5,000'])
  })
})

describe('buying a plan', () => {
  it('leads to Checkout and back; the page says that the payment is being confirmed until it is', async () => {
    const { plan, price } = await givenOffer()
    const { user, post, get } = await givenBuyer()
    const { status, location } = await post('/account/billing/plan', { name: plan.name })
    expect(status).toBe(303)
    expect(location).toMatch(`${stripe.url}/c/pay/`)
    expect((await get()).headers.get('content-security-policy')).toContain(`form-action 'self' ${stripe.url};`)
    stripe.events.hold()
    const session = stripe.pay(location as string)
    expect(session).toMatchObject({ client_reference_id: user.id, cancel_url: 'http://easel.test/account#buy' })
    const back = pathOf(session.success_url)
    const waiting = await get(back)
    expect(waiting.html).toContain('Your payment is being confirmed')
    expect(waiting.headers.get('refresh')).toBe('3')
    // Else it could be paid twice.
    expect(waiting.html).not.toContain(`value="${plan.name}"`)
    await stripe.events.deliver()
    const confirmed = () => get(back).then((it) => (it.html.includes('being confirmed') ? undefined : it))
    const { html, headers: after } = (await until(confirmed, 'the payment is confirmed')) as typeof waiting
    expect(after.get('refresh')).toBeNull()
    expect(shopIn(html)).toMatch(new RegExp(`Your subscription${plan.name}: paid until .*then it renews`))
    expect(html).not.toContain(`value="${plan.name}"`)
    const bought = stripe.paidBy(session).subscription
    expect(bought?.items.data[0].price.id).toBe(price.id)
    await until(async () => textOf((await get()).html).includes('500 credits'), 'the credits')
  })

  it('a second time leads to the portal, where plans are changed and canceled', async () => {
    const { plan } = await givenOffer()
    const other = await givenOffer()
    const { post, get } = await givenBuyer()
    const session = stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
    const hasPlan = async () => shopIn((await get()).html).includes('Change or cancel')
    await until(hasPlan, 'the plan')
    for (const path of ['/account/billing/plan', '/account/billing'])
      expect((await post(path, { name: other.plan.name })).location).toMatch(`${stripe.url}/p/session/`)
    stripe.cancel(session.subscription as string, 'period_end')
    await until(async () => /: ends on /.test(shopIn((await get()).html)), 'the end')
    stripe.cancel(session.subscription as string)
    await until(async () => (await get()).html.includes(`value="${plan.name}"`), 'plans are for sale again')
    expect(shopIn((await get()).html)).toContain('Invoices and cards')
  })

  it('says to which plan it changes, and when', async () => {
    const [{ plan }, other] = [await givenOffer(), await givenOffer()]
    const { post, get } = await givenBuyer()
    const session = stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
    await until(async () => (await get()).html.includes('then it renews'), 'the plan')
    stripe.change(session.subscription as string, other.price.id, 'period_end')
    const says = async () => shopIn((await get()).html).includes(`${plan.name}: changes to ${other.plan.name} on `)
    await until(says, 'the change')
  })

  it('says that a payment failed', async () => {
    const { plan } = await givenOffer()
    const { post, get } = await givenBuyer()
    const session = stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
    await until(async () => (await get()).html.includes('then it renews'), 'the plan')
    const subscription = stripe.paidBy(session).subscription as { status: string } & { id: string }
    Object.assign(subscription, { status: 'past_due' })
    stripe.events.emit('customer.subscription.updated', stripe.objects.get('subscription', subscription.id))
    await until(async () => shopIn((await get()).html).includes('the last payment failed'), 'the failure')
    // Whoever chooses a plan all the same is led to where the card is changed, also when Stripe has given up.
    for (const status of ['past_due', 'unpaid']) {
      Object.assign(subscription, { status })
      expect((await post('/account/billing/plan', { name: plan.name })).location).toContain('/p/session/')
    }
  })
})

it('a payment that failed for so long that the plan has ended says how it goes on', async () => {
  const { plan } = await givenOffer()
  const { post, get } = await givenBuyer()
  const session = stripe.pay((await post('/account/billing/plan', { name: plan.name })).location as string)
  await until(async () => (await get()).html.includes('then it renews'), 'the plan')
  const { id } = stripe.paidBy(session).subscription as { id: string }
  const subscription = stripe.objects.get('subscription', id) as unknown as { id: string; latest_invoice: string }
  const invoice = stripe.objects.get('invoice', subscription.latest_invoice) as unknown as {
    lines: { data: { period: { start: number; end: number } }[] }
  }
  const days = (n: number) => Math.floor(Date.now() / 1000) + n * 86_400
  for (const line of invoice.lines.data) line.period = { start: days(-40), end: days(-10) }
  for (const status of ['past_due', 'unpaid']) {
    Object.assign(subscription, { status, start_date: days(-40), billing_cycle_anchor: days(-40) })
    stripe.events.emit('customer.subscription.updated', subscription as never)
    const isSaid = async () => shopIn((await get()).html).includes('and the plan has ended')
    await until(isSaid, `${status} is said`)
    const { html } = await get()
    expect(textOf(html)).toContain('expired')
    expect(shopIn(html)).toContain('once it is paid, the plan goes on')
    expect(shopIn(html)).not.toContain('on the date above')
  }
})

describe('a plan whose money takes days', () => {
  it('says that it is on its way, is not sold again, and is granted when the money is there', async () => {
    const { plan } = await givenOffer()
    const { post, get } = await givenBuyer()
    const order = () => post('/account/billing/plan', { name: plan.name })
    const session = stripe.pay((await order()).location as string, 'takes_days')
    const isUnderway = async () => shopIn((await get()).html).includes(`${plan.name}: your payment is on its way`)
    await until(isUnderway, 'the plan')
    const { html } = await get()
    expect(html).not.toContain(`value="${plan.name}"`)
    expect(textOf(html)).not.toContain('500 credits')
    expect((await order()).location).toContain('/p/session/')
    const invoice = stripe.paidBy(session).subscription?.latest_invoice
    const [paid] = stripe.objects.list('invoice_payment', ['invoice', invoice as string]) as unknown as {
      payment: { payment_intent: string }
    }[]
    stripe.settle(paid?.payment.payment_intent as string, true)
    await until(async () => shopIn((await get()).html).includes('then it renews'), 'the money')
    await until(async () => textOf((await get()).html).includes('500 credits'), 'the credits')
  })
})

describe('buying credits', () => {
  it('leads to Checkout; the credits come once', async () => {
    const pack = await givenPack(100)
    const { user, post, get } = await givenBuyer()
    const session = stripe.pay((await post('/account/billing/pack', { name: pack.name })).location as string)
    const back = pathOf(session.success_url)
    await until(async () => !(await get(back)).html.includes('being confirmed'), 'the credits')
    await stripe.events.deliver({ times: 2 }, stripe.events.list.slice(-3))
    const { items } = await spendingStore(context.service.db).entries(user.id, { limit: 10, after: undefined })
    expect(items.map(({ kind, delta }) => [kind, delta])).toEqual([['purchase', 100]])
    // A pack that was bought before is not taken for this one, of which nothing is known yet.
    stripe.events.hold()
    onTestFinished(() => stripe.events.release())
    const again = pathOf(
      stripe.pay((await post('/account/billing/pack', { name: pack.name })).location as string, 'takes_days')
        .success_url,
    )
    expect((await get(again)).html).toMatch(/being confirmed|your payment is on its way/)
    const late = await get('/account?paid=pack&since=1')
    expect(late.html).not.toContain('not confirmed yet')
  })

  it('whose money takes days says so on every visit, until it is there or has failed', async () => {
    const [pack, other] = [await givenPack(100), await givenPack(200)]
    const { post, get } = await givenBuyer()
    const order = async ({ name }: { readonly name: string }) =>
      stripe.pay((await post('/account/billing/pack', { name })).location as string, 'takes_days')
    const [session, failing] = [await order(pack), await order(other)]
    const isUnderway = async ({ name }: { readonly name: string }) =>
      shopIn((await get()).html).includes(`${name}: your payment is on its way`)
    await until(async () => (await isUnderway(pack)) && (await isUnderway(other)), 'the packs')
    // The page to which Checkout leads back waits no more.
    expect((await get(pathOf(session.success_url))).html).not.toContain('being confirmed')
    stripe.settle(failing.payment_intent as string, false)
    await until(async () => !(await isUnderway(other)), 'what has failed')
    stripe.settle(session.payment_intent as string, true)
    await until(async () => !(await isUnderway(pack)), 'what was paid')
    expect(textOf((await get()).html)).toContain('100 credits')
  })

  it('that does not come says that banks may take days, and stops asking', async () => {
    const { get } = await givenBuyer()
    const late = await get('/account?paid=pack&since=1')
    expect(late.html).toContain('Some banks take days')
    expect(late.headers.get('refresh')).toBeNull()
  })
})

describe('nothing is lost and one sentence says why', () => {
  it('when what was chosen is not for sale any more', async () => {
    const { post, get } = await givenBuyer()
    for (const [path, sentence] of [
      ['/account/billing/plan', 'This plan is not for sale any more: choose another one.'],
      ['/account/billing/pack', 'This pack of credits is not for sale any more: choose another one.'],
      ['/account/billing', 'You have paid nothing here yet, so there is nothing to manage.'],
    ] as const) {
      const { status, html } = await post(path, { name: 'None' })
      expect([status, problemIn(html)]).toEqual([400, sentence])
    }
    expect((await get()).status).toBe(200)
  })

  it('when the provider is away or refuses', async () => {
    const { plan } = await givenOffer()
    const { post, get } = await givenBuyer()
    await get()
    stripe.set({ fault: { status: 402, body: { error: { type: 'card_error', message: 'No.' } } }, on: '/v1/c' })
    const { status, html } = await post('/account/billing/plan', { name: plan.name })
    expect(status).toBe(503)
    expect(problemIn(html)).toBe(
      'The payment provider cannot do this right now, and nothing was charged. Try again in a minute.',
    )
    stripe.set({ fault: 'none' })
    expect((await post('/account/billing/plan', { name: plan.name })).location).toMatch(`${stripe.url}/c/pay/`)
  })

  it('when prices are not known: pages say so, and do not wait long', async () => {
    stripe.set({ fault: 'hang', on: '' })
    await givenOffer()
    const { get } = await givenBuyer()
    const { status, html } = await get()
    expect([status, shopIn(html)]).toEqual([200, expect.stringContaining('cannot be shown right now')])
    expect((await visit(context.service.url, '/pricing')).html).toContain('cannot be shown right now')
    stripe.cut()
  })
})

describe('without a provider', () => {
  it('nothing of it is shown', async () => {
    const { url } = await context.service.server({}, { STRIPE_SECRET_KEY: '', STRIPE_WEBHOOK_SECRET: '' })
    const { cookie } = await givenBuyer()
    const { html, headers } = await visit(url, '/account', { cookie })
    expect(html).not.toContain('id="buy"')
    expect(headers.get('content-security-policy')).toContain("form-action 'self';")
    expect((await visit(url, '/pricing')).status).toBe(404)
    expect((await visit(url, '/account/billing', { cookie, body: { a: '' } })).status).toBe(404)
    expect((await visit(url, '/')).html).not.toContain('/pricing')
  })
})

it('only who is signed in buys, and only on our own pages', async () => {
  const { url } = context.service
  const { cookie } = await givenBuyer()
  for (const path of ['/account/billing', '/account/billing/plan', '/account/billing/pack']) {
    expect((await visit(url, path, { body: { name: 'Pro' } })).location).toMatch(/^\/sign-in/)
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await visit(url, path, { cookie, body: { name: 'Pro' }, headers })).status).toBe(403)
  }
})

describe('what cannot be bought', () => {
  it('is refused in German, too', async () => {
    const { cookie } = await givenBuyer()
    const order = (path: string) =>
      visit(context.service.url, path, { cookie, headers: { 'accept-language': 'de' }, body: { name: 'No such one' } })
    expect(problemIn((await order('/account/billing/plan')).html)).toMatch(/^Dieses Abo wird nicht mehr verkauft/)
    expect(problemIn((await order('/account/billing/pack')).html)).toMatch(/^Dieses Paket Credits wird nicht mehr/)
  })
})
