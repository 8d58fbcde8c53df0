import { runAsProgram } from '../program.js'
import { type StandInReply, type StandInRequest, startStandInServer, type WireFault } from '../stand-in-server.js'
import { createCheckout, type Paying, paidBy } from './checkout.js'
import { createClock } from './clock.js'
import { createEndpoints, Refused, refusal } from './endpoints.js'
import { API_VERSION, createEvents, signed, type WebhookEndpoint } from './events.js'
import { type Form, formOf, textOf } from './form.js'
import { createInvoices } from './invoices.js'
import { type CheckoutSession, type Customer, createObjects, type Price, type Product } from './objects.js'
import { type Card, createPayments } from './payments.js'
import { createSubscriptions } from './subscriptions.js'

export const SECRET_KEY = 'sk_test_standin'

export interface StripeStandInOptions {
  readonly port?: number
  /** When Stripe's time begins; now, unless it says otherwise. It goes on as ours does; `advanceTo` makes it jump. */
  readonly start?: Date
  readonly webhook?: WebhookEndpoint
}

export interface StripeSettings {
  fault: WireFault
  /** Only requests whose path begins with it; all, without it. */
  on: string
  /** What is posted to a path that begins with it is answered with a fault of Stripe's own, which is kept like any answer. */
  breaks: string | undefined
  /** A parameter that it refuses for subscription updates in the portal. */
  refusedOfPortal: string | undefined
  /** The key has no right to what is at a path that begins with it. */
  forbids: string | undefined
  /** What becomes of a subscription whose invoice is never paid. */
  afterRetries: 'cancel' | 'unpaid'
}

export type StripeStandIn = Awaited<ReturnType<typeof startStripeStandIn>>

/**
 * An account at Stripe: its API over HTTP, as the version that the `stripe` package pins has it; what people do on its pages
 * (`pay`), what banks do (`settle`, `dispute`), what its owner does (`refund`, `pause`, `cancel`), what time brings
 * (`advanceTo`); and its webhooks, signed by the `stripe` package.
 */
export async function startStripeStandIn({ port, start = new Date(), webhook }: StripeStandInOptions = {}) {
  const settings: StripeSettings = {
    ...{ fault: 'none', on: '', breaks: undefined, refusedOfPortal: undefined, forbids: undefined },
    afterRetries: 'cancel',
  }
  const objects = createObjects()
  const clock = createClock(start)
  const events = createEvents(objects, clock)
  const base = { objects, events, clock }
  const cards = new Map<string, Card>()
  const setCard = (customer: string, card: Card) => void cards.set(customer, card)
  const payments = createPayments(objects, events, clock)
  const invoices = createInvoices(base, payments, (customer) => cards.get(customer) ?? 'works')
  const subscriptions = createSubscriptions(base, invoices, settings)
  const url = () => server.url
  const checkout = createCheckout(base, { payments, subscriptions }, { setCard, url })
  const endpoint = createEndpoints({
    ...{ ...base, payments, subscriptions, checkout, url },
    refusedOfPortal: () => settings.refusedOfPortal,
  })
  const answers = new Map<string, { readonly asked: string; readonly reply: StandInReply }>()
  events.sendTo(webhook)

  function answer(request: StandInRequest): StandInReply {
    const { pathname, search } = new URL(request.path, 'http://stripe')
    if (!pathname.startsWith('/v1/')) return page(request.method, pathname, formOf(request.text))
    try {
      check(request)
      if (settings.forbids !== undefined && pathname.startsWith(settings.forbids))
        throw new Refused(403, 'invalid_request_error', 'The provided key does not have the required permissions.')
      const form = formOf(request.method === 'GET' ? search : request.text)
      const key = request.method === 'POST' ? request.headers['idempotency-key'] : undefined
      return once(key?.toString(), `${pathname} ${request.text}`, () =>
        key && settings.breaks !== undefined && pathname.startsWith(settings.breaks)
          ? { status: 500, body: { error: { type: 'api_error', message: 'An unknown error occurred.' } } }
          : {
              status: 200,
              body: endpoint(request.method, decodeURIComponent(pathname.slice('/v1/'.length)), form),
            },
      )
    } catch (error) {
      if (error instanceof Refused) return refusal(error)
      throw error
    }
  }

  function check({ headers }: StandInRequest): void {
    const [scheme, given = ''] = headers.authorization?.split(' ') ?? []
    // As curl sends it: the key as the user, without a password.
    const key = scheme === 'Basic' ? Buffer.from(given, 'base64').toString().replace(/:$/, '') : given
    if (key !== SECRET_KEY)
      throw new Refused(401, 'invalid_request_error', `Invalid API Key provided: ${key.slice(0, 8)}****`)
    const { 'stripe-version': version = API_VERSION } = headers
    if (version !== API_VERSION)
      throw new Refused(400, 'invalid_request_error', `Invalid Stripe API version: ${version}`)
  }

  /** The same key gets the same answer; with another request, none. */
  function once(key: string | undefined, asked: string, make: () => StandInReply): StandInReply {
    const known = key ? answers.get(key) : undefined
    if (known && known.asked !== asked) {
      const message = `Keys for idempotent requests can only be used with the same parameters they were first used with.`
      throw new Refused(400, 'idempotency_error', `${message} Try using a key other than '${key}'.`)
    }
    const reply = known?.reply ?? make()
    if (key) answers.set(key, { asked, reply: structuredClone(reply) })
    return reply
  }

  /** Pages that people see in a browser. */
  function page(method: string, path: string, form: Form): StandInReply {
    const session = objects.find<CheckoutSession>('checkout.session', path.split('/').at(-1) ?? '')
    if (session?.status === 'open' && method === 'POST') {
      const { status } = checkout.pay(session.id, (textOf(form, 'how') ?? 'works') as Paying)
      return { status: 303, body: {}, headers: { location: status === 'open' ? path : session.success_url } }
    }
    if (session?.status === 'open') return { status: 200, body: {}, html: checkout.pageOf(session) }
    const back = objects.any(path.split('/').at(-1) ?? '') as { return_url?: string } | undefined
    if (!back) return { status: 404, body: {} }
    return { status: 200, body: {}, html: `<h1>Portal of the stand-in</h1><a href="${back.return_url}">Back</a>` }
  }

  const server = await startStandInServer({
    ...(port !== undefined && { port }),
    unauthorized: { status: 401, body: {} },
    faultOf: ({ path }) => (path.startsWith(settings.on) ? settings.fault : 'none'),
    answer,
    set: (changes) => void Object.assign(settings, changes),
  })

  return {
    ...server,
    objects,
    events,
    ...payments,
    ...subscriptions,
    pay: checkout.pay,
    paidBy: (session: CheckoutSession) => paidBy(objects, session),
    /** What a customer pays with from now on. */
    setCard,
    now: () => new Date(clock.now() * 1000),
    advanceTo: clock.advanceTo,
    set: (changes: Partial<StripeSettings>) => void Object.assign(settings, changes),

    /** One that somebody has made, and not by way of the service. */
    givenCustomer: (email: string): Customer =>
      objects.add<Customer>({
        ...{ id: objects.newId('cus'), object: 'customer', created: clock.now(), email, name: null },
        ...{ preferred_locales: [], metadata: {} },
      }),

    /** A price of a product of its own. */
    givenPrice(
      its: {
        amount?: number | null
        currency?: string
        every?: string | undefined
        count?: number
        product?: string
        tax?: Price['tax_behavior']
      } = {},
    ): Price {
      const { amount = 1900, currency = 'eur', every, count: interval_count = 1, product, tax = 'unspecified' } = its
      const created = clock.now()
      const made = { id: objects.newId('prod'), object: 'product', created, active: true, name: 'Pro' } as const
      const id = product ?? objects.add<Product>(made).id
      return objects.add<Price>({
        ...{ id: objects.newId('price'), object: 'price', created, active: true, currency, unit_amount: amount },
        ...{
          billing_scheme: amount === null ? 'tiered' : 'per_unit',
          type: every ? 'recurring' : 'one_time',
          ...{ product: id, tax_behavior: tax },
        },
        recurring: every ? { interval: every, interval_count, usage_type: 'licensed' } : null,
      })
    },

    close: async () => {
      events.sendTo(undefined)
      await server.refuse()
    },
  }
}

export { signed }

await runAsProgram(import.meta.url, (options) => startStripeStandIn({ port: options.port }))
