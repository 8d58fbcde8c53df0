import type { Clock } from './clock.js'
import type { Events } from './events.js'
import { type Form, fieldsOf, textOf, textsOf } from './form.js'
import type { CheckoutSession, Objects, PaymentIntent, Price, Subscription } from './objects.js'
import type { Card, Payments } from './payments.js'
import type { Subscriptions } from './subscriptions.js'

/** What somebody does on the page of a session: pays with such a card, or with a coupon for all of it. */
export type Paying = Card | 'coupon'

interface Ordered {
  readonly price: Price
  readonly metadata: Record<string, string>
  readonly trialDays: number
}

export const isOn = (form: Form, name: string) => ({ enabled: textOf(fieldsOf(form, name), 'enabled') === 'true' })

/** Checkout sessions, and the people on their pages. */
export function createCheckout(
  { objects, events, clock }: { readonly objects: Objects; readonly events: Events; readonly clock: Clock },
  { payments, subscriptions }: { readonly payments: Payments; readonly subscriptions: Subscriptions },
  { setCard, url }: { readonly setCard: (customer: string, card: Card) => void; readonly url: () => string },
) {
  const orders = new Map<string, Ordered>()

  function complete(session: CheckoutSession, status: CheckoutSession['payment_status']): void {
    session.status = 'complete'
    session.payment_status = status
    session.url = null
    events.emit('checkout.session.completed', session)
  }

  function payOnce(session: CheckoutSession, how: Paying, { metadata }: Ordered): void {
    if (how === 'coupon') {
      session.amount_total = 0
      complete(session, 'no_payment_required')
      return
    }
    const { customer, currency, amount_total: amount } = session
    const intent = payments.intent({ customer, amount, currency, metadata })
    const outcome = payments.attempt(intent, how, (isPaid) => {
      session.payment_status = isPaid ? 'paid' : 'unpaid'
      events.emit(`checkout.session.async_payment_${isPaid ? 'succeeded' : 'failed'}`, session)
    })
    if (outcome === 'failed') return
    objects.belong(session, 'payment_intent', intent.id)
    session.payment_intent = intent.id
    complete(session, outcome === 'paid' ? 'paid' : 'unpaid')
  }

  function subscribe(session: CheckoutSession, how: Paying, { price, metadata, trialDays }: Ordered): void {
    if (how === 'declined') return
    if (how !== 'coupon') setCard(session.customer, how)
    const isFirstFree = how === 'coupon'
    const wanted = { customer: session.customer, price: price.id, metadata, trialDays, isFirstFree }
    session.subscription = subscriptions.create(wanted).id
    if (isFirstFree || trialDays > 0) session.amount_total = 0
    complete(session, session.amount_total === 0 ? 'no_payment_required' : how === 'takes_days' ? 'unpaid' : 'paid')
  }

  return {
    create(form: Form, price: Price): CheckoutSession {
      const id = objects.newId('cs_test')
      const mode = textOf(form, 'mode') === 'subscription' ? 'subscription' : 'payment'
      const its = fieldsOf(form, mode === 'subscription' ? 'subscription_data' : 'payment_intent_data')
      const trialDays = Number(textOf(its, 'trial_period_days') ?? 0)
      orders.set(id, { price, metadata: textsOf(its, 'metadata'), trialDays })
      return objects.add<CheckoutSession>({
        ...{ id, object: 'checkout.session', created: clock.now(), mode, customer: textOf(form, 'customer') ?? '' },
        ...{
          client_reference_id: textOf(form, 'client_reference_id') ?? null,
          status: 'open',
          payment_status: 'unpaid',
        },
        ...{ url: `${url()}/c/pay/${id}`, success_url: textOf(form, 'success_url') ?? '' },
        ...{ cancel_url: textOf(form, 'cancel_url') ?? null, currency: price.currency },
        ...{ amount_total: price.unit_amount ?? 0, payment_intent: null, subscription: null },
        ...{ locale: textOf(form, 'locale') ?? null, customer_update: textsOf(form, 'customer_update') },
        ...{ automatic_tax: isOn(form, 'automatic_tax'), tax_id_collection: isOn(form, 'tax_id_collection') },
        ...{ invoice_creation: isOn(form, 'invoice_creation'), metadata: textsOf(form, 'metadata') },
      })
    },

    /** Somebody is on the session's page and pays. A declined card leaves it open. @param page its ID, or its URL */
    pay(page: string, how: Paying = 'works'): CheckoutSession {
      const session = objects.get<CheckoutSession>('checkout.session', page.split('/').at(-1) as string)
      const order = orders.get(session.id)
      if (session.status !== 'open' || !order) throw new Error(`the session ${session.id} is ${session.status}`)
      if (session.mode === 'payment') payOnce(session, how, order)
      else subscribe(session, how, order)
      return session
    },

    expire(session: CheckoutSession): void {
      session.status = 'expired'
      session.url = null
      events.emit('checkout.session.expired', session)
    },

    /** The page itself, for a browser. */
    pageOf: ({ id, amount_total, currency, mode, cancel_url }: CheckoutSession): string => `<!doctype html>
<html lang="en"><title>Stand-in of Stripe</title><h1>${amount_total / 100} ${currency.toUpperCase()} (${mode})</h1>
<form method="post" action="/c/pay/${id}">
${['works', 'declined', 'takes_days', 'coupon'].map((how) => `<button name="how" value="${how}">${how}</button>`).join('\n')}
</form><a href="${cancel_url}">Back</a>`,
  }
}

export type Checkout = ReturnType<typeof createCheckout>

/** What was paid by a session, once it is. */
export const paidBy = (objects: Objects, { payment_intent: intent, subscription }: CheckoutSession) => ({
  ...(intent && { intent: objects.get<PaymentIntent>('payment_intent', intent) }),
  ...(subscription && { subscription: objects.get<Subscription>('subscription', subscription) }),
})
