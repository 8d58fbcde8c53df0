import type { StandInReply } from '../stand-in-server.js'
import { type Checkout, isOn } from './checkout.js'
import type { Clock } from './clock.js'
import type { Events } from './events.js'
import { type Form, fieldsOf, textOf, textsOf } from './form.js'
import type {
  CheckoutSession,
  Customer,
  InvoicePayment,
  Objects,
  PortalConfiguration,
  Price,
  Product,
  StripeObject,
  Subscription,
  SubscriptionSchedule,
} from './objects.js'
import type { Payments } from './payments.js'
import type { Subscriptions } from './subscriptions.js'

export interface Parts {
  readonly objects: Objects
  readonly events: Events
  readonly clock: Clock
  readonly payments: Payments
  readonly subscriptions: Subscriptions
  readonly checkout: Checkout
  readonly url: () => string
  /** A parameter that subscription updates in the portal may not have. */
  readonly refusedOfPortal: () => string | undefined
}

/** Becomes Stripe's answer. */
export class Refused extends Error {
  readonly status: number
  readonly type: string
  readonly its: { readonly code?: string; readonly param?: string }
  constructor(status: number, type: string, message: string, its: Refused['its'] = {}) {
    super(message)
    this.status = status
    this.type = type
    this.its = its
  }
}

export const refusal = ({ status, type, message, its }: Refused): StandInReply => ({
  status,
  body: { error: { type, message, ...its, request_log_url: 'https://dashboard.stripe.com/test/logs/req_standin' } },
})

const invalid = (message: string, param: string) => new Refused(400, 'invalid_request_error', message, { param })

type Answer = (form: Form, id: string) => unknown

/** `POST /v1/customers/:id` and what it answers. An object is answered with what `expand` asks for. */
export function createEndpoints(parts: Parts): (method: string, path: string, form: Form) => unknown {
  const { objects, events, clock, payments, subscriptions, checkout, url } = parts
  const deleted = new Set<string>()

  function found<T extends StripeObject>(object: T['object'], id: string, param = 'id', status = 404): T {
    const it = objects.find<T>(object, id)
    if (it) return it
    const its = { code: 'resource_missing', param }
    throw new Refused(status, 'invalid_request_error', `No such ${object}: '${id}'`, its)
  }
  const required = (form: Form, name: string): string => {
    const value = textOf(form, name)
    if (value) return value
    throw invalid(`Missing required param: ${name}.`, name)
  }
  /** A living customer; one that was deleted is none. */
  const customerOf = (form: Form) => found<Customer>('customer', required(form, 'customer'), 'customer', 400)
  const one =
    <T extends StripeObject>(object: T['object']): Answer =>
    (_, id) =>
      found<T>(object, id)

  /** A list, newest first, of those with an ID in a field that the request names. */
  const listed =
    <T extends StripeObject>(
      object: T['object'],
      path: string,
      fields: readonly string[],
      matches = (_: T, __: Form): boolean => true,
    ): Answer =>
    (form) => {
      const field = fields.find((it) => textOf(form, it))
      const all = objects
        .list<T>(object, field ? [field, textOf(form, field) as string] : undefined)
        .filter((it) =>
          fields.every((name) => !textOf(form, name) || name === field || it[name as keyof T] === form[name]),
        )
        .filter((it) => matches(it, form))
      const last = textOf(form, 'starting_after')
      const from = last ? all.findIndex(({ id }) => id === last) + 1 : 0
      const limit = Number(textOf(form, 'limit') ?? 10)
      if (!(limit >= 1 && limit <= 100)) throw invalid('This value must be between 1 and 100.', 'limit')
      return { object: 'list', data: all.slice(from, from + limit), has_more: all.length > from + limit, url: path }
    }
  const ofStatus = (it: StripeObject & { readonly status?: string }, form: Form) =>
    !textOf(form, 'status') || it.status === form.status

  function subscriptionsOf(it: Subscription, form: Form): boolean {
    const status = textOf(form, 'status')
    if (status === 'all') return true
    return status ? it.status === status : it.status !== 'canceled' && it.status !== 'incomplete_expired'
  }

  function requireOneCurrency({ id }: Customer, { currency }: Price): void {
    const other = objects
      .list<Subscription>('subscription', ['customer', id])
      .find((it) => it.status !== 'canceled' && it.items.data[0].price.currency !== currency)
    if (!other) return
    const its = `an active subscription, subscription schedule, discount, quote, or invoice item with currency ${other.items.data[0].price.currency}`
    throw invalid(`You cannot combine currencies on a single customer. This customer has ${its}.`, 'currency')
  }

  function requireAddress(form: Form): void {
    const { address, name } = textsOf(form, 'customer_update')
    if (isOn(form, 'automatic_tax').enabled && address !== 'auto')
      throw invalid('Automatic tax calculation in Checkout requires a valid address on the Customer.', 'automatic_tax')
    if (isOn(form, 'tax_id_collection').enabled && (address !== 'auto' || name !== 'auto'))
      throw invalid('Tax ID collection requires updating business name on the customer.', 'customer_update')
  }

  function newSession(form: Form): CheckoutSession {
    const mode = required(form, 'mode')
    const item = fieldsOf(fieldsOf(form, 'line_items'), '0')
    const price = found<Price>('price', textOf(item, 'price') ?? '', 'line_items[0][price]', 400)
    if (!price.active) throw invalid(`The price specified is inactive. This field only accepts active prices.`, 'price')
    if (mode === 'subscription' && !price.recurring)
      throw invalid('You must provide at least one recurring price in `subscription` mode.', 'line_items')
    if (mode === 'payment' && price.recurring)
      throw invalid('You specified `payment` mode but passed a recurring price.', 'mode')
    required(form, 'success_url')
    requireOneCurrency(customerOf(form), price)
    requireAddress(form)
    return checkout.create(form, price)
  }

  function newConfiguration(form: Form): PortalConfiguration {
    const update = fieldsOf(fieldsOf(form, 'features'), 'subscription_update')
    const products = Object.values(fieldsOf(update, 'products')) as Form[]
    const refused = Object.keys(update).find((name) => name === parts.refusedOfPortal())
    if (refused) throw invalid(`Received unknown parameter: ${refused}`, `features[subscription_update][${refused}]`)
    if (textOf(update, 'enabled') === 'true' && products.length === 0)
      throw invalid('You must provide products for subscription updates.', 'features[subscription_update][products]')
    if (products.length > 10)
      throw invalid('At most 10 products can be listed.', 'features[subscription_update][products]')
    for (const product of products) {
      const intervals = Object.values(textsOf(product, 'prices')).map((id) => {
        const { recurring, product: its } = found<Price>('price', id, 'prices', 400)
        if (its !== product.product) throw invalid(`The price ${id} is not of that product.`, 'prices')
        return recurring?.interval
      })
      if (new Set(intervals).size < intervals.length)
        throw invalid('Prices of one product must have different billing intervals.', 'prices')
    }
    return objects.add<PortalConfiguration>({
      ...{ id: objects.newId('bpc'), object: 'billing_portal.configuration', created: clock.now(), active: true },
      ...{ features: fieldsOf(form, 'features'), metadata: textsOf(form, 'metadata') },
    })
  }

  function newPortalSession(form: Form) {
    const { id: customer } = customerOf(form)
    const configuration = textOf(form, 'configuration')
    const known = configuration
      ? found<PortalConfiguration>('billing_portal.configuration', configuration, 'configuration', 400)
      : undefined
    if (known && !known.active) throw invalid('The configuration is not active.', 'configuration')
    const id = objects.newId('bps')
    const its = {
      ...{ customer, configuration, return_url: textOf(form, 'return_url') ?? null },
      locale: textOf(form, 'locale') ?? null,
    }
    const session = {
      id,
      object: 'billing_portal.session',
      created: clock.now(),
      ...its,
      url: `${url()}/p/session/${id}`,
    }
    return objects.add(session)
  }

  const ROUTES: Record<string, Answer> = {
    'POST products': (form) => {
      const its = { id: objects.newId('prod'), object: 'product', created: clock.now(), active: true } as const
      return objects.add<Product>({ ...its, name: required(form, 'name') })
    },
    'POST products/:id': (form, id) =>
      set(found<Product>('product', id), { active: textOf(form, 'active') !== 'false' }),
    'POST prices': (form) => {
      const recurring = fieldsOf(form, 'recurring')
      const interval = textOf(recurring, 'interval')
      const amount = textOf(form, 'unit_amount')
      return objects.add<Price>({
        ...{ id: objects.newId('price'), object: 'price', created: clock.now(), active: true },
        ...{ currency: required(form, 'currency'), unit_amount: amount === undefined ? null : Number(amount) },
        ...{ billing_scheme: amount === undefined ? 'tiered' : 'per_unit', type: interval ? 'recurring' : 'one_time' },
        recurring: interval
          ? { interval, interval_count: Number(textOf(recurring, 'interval_count') ?? 1), usage_type: 'licensed' }
          : null,
        product: found<Product>('product', required(form, 'product'), 'product', 400).id,
        tax_behavior: (textOf(form, 'tax_behavior') ?? 'unspecified') as Price['tax_behavior'],
      })
    },
    'POST prices/:id': (form, id) => set(found<Price>('price', id), { active: textOf(form, 'active') !== 'false' }),
    'GET prices/:id': one<Price>('price'),

    'POST customers': (form) => {
      const email = textOf(form, 'email') ?? null
      const its = {
        ...{ email, name: textOf(form, 'name') ?? null, metadata: textsOf(form, 'metadata') },
        preferred_locales: Object.values(textsOf(form, 'preferred_locales')),
      }
      const made = { id: objects.newId('cus'), object: 'customer' as const, created: clock.now(), ...its }
      objects.add<Customer>(made)
      events.emit('customer.created', made)
      return made
    },
    'GET customers/:id': (_, id) =>
      deleted.has(id) ? { id, object: 'customer', deleted: true } : found<Customer>('customer', id),
    'POST customers/:id': (form, id) => {
      const customer = found<Customer>('customer', id)
      const { email = customer.email, name = customer.name } = form as Record<string, string>
      // Its first test for an address is for ASCII.
      if (email && !/^[\x21-\x7e]+@[\x21-\x7e]+$/.test(email))
        throw new Refused(400, 'invalid_request_error', `Invalid email address: ${email}`, {
          ...{ code: 'email_invalid', param: 'email' },
        })
      const locales = Object.values(textsOf(form, 'preferred_locales'))
      set(customer, {
        // An empty text takes it away.
        ...{ email: email || null, name: name || null },
        ...(locales.length > 0 && { preferred_locales: locales }),
        metadata: { ...customer.metadata, ...textsOf(form, 'metadata') },
      })
      events.emit('customer.updated', customer)
      return customer
    },
    'DELETE customers/:id': (_, id) => {
      const customer = found<Customer>('customer', id)
      for (const it of objects.list<Subscription>('subscription', ['customer', id])) subscriptions.cancel(it.id)
      objects.remove(id)
      deleted.add(id)
      events.emit('customer.deleted', customer)
      return { id, object: 'customer', deleted: true }
    },

    'GET subscriptions': listed('subscription', '/v1/subscriptions', ['customer'], subscriptionsOf),
    'GET subscriptions/:id': one<Subscription>('subscription'),
    'GET subscription_schedules/:id': one<SubscriptionSchedule>('subscription_schedule'),
    'DELETE subscriptions/:id': (_, id) => {
      const subscription = found<Subscription>('subscription', id)
      if (subscription.status === 'canceled') found('subscription', `${id} `)
      return subscriptions.cancel(id)
    },
    'GET invoices': listed('invoice', '/v1/invoices', ['subscription', 'customer'], ofStatus),
    'GET invoices/:id': one('invoice'),
    'GET invoice_payments': (form) => {
      const intent = textOf(fieldsOf(form, 'payment'), 'payment_intent')
      const list = listed<InvoicePayment>(
        'invoice_payment',
        '/v1/invoice_payments',
        ['payment_intent', 'invoice'],
        ofStatus,
      )
      return list({ ...form, ...(intent && { payment_intent: intent }) }, '')
    },
    'GET payment_intents/:id': one('payment_intent'),
    'GET charges/:id': one('charge'),
    'GET refunds': listed('refund', '/v1/refunds', ['payment_intent', 'charge']),
    'POST refunds': (form) => {
      const amount = textOf(form, 'amount')
      return payments.refund(required(form, 'payment_intent'), amount === undefined ? undefined : Number(amount))
    },
    'GET disputes': listed('dispute', '/v1/disputes', ['payment_intent', 'charge']),

    'GET webhook_endpoints': listed('webhook_endpoint', '/v1/webhook_endpoints', []),
    'POST checkout/sessions': newSession,
    'GET checkout/sessions': listed(
      'checkout.session',
      '/v1/checkout/sessions',
      ['payment_intent', 'customer'],
      (it, form) => ofStatus(it, form) && it.created >= Number(textOf(fieldsOf(form, 'created'), 'gte') ?? 0),
    ),
    'GET checkout/sessions/:id': one('checkout.session'),
    'POST checkout/sessions/:id/expire': (_, id) => {
      const session = found<CheckoutSession>('checkout.session', id)
      if (session.status !== 'open')
        throw invalid(`Only Checkout Sessions with a status in ["open"] can be expired.`, 'session')
      checkout.expire(session)
      return session
    },
    'POST billing_portal/configurations': newConfiguration,
    'GET billing_portal/configurations': listed<PortalConfiguration>(
      ...(['billing_portal.configuration', '/v1/billing_portal/configurations', []] as const),
      ({ active }, form) => !textOf(form, 'active') || String(active) === form.active,
    ),
    'POST billing_portal/sessions': newPortalSession,
  }

  return (method, path, form) => {
    const parts = path.split('/')
    const named = parts.findIndex((_, at) => at > 0 && ROUTES[`${method} ${parts.with(at, ':id').join('/')}`])
    const answer = ROUTES[`${method} ${named < 0 ? path : parts.with(named, ':id').join('/')}`]
    const id = parts[named] ?? ''
    if (!answer) throw new Refused(404, 'invalid_request_error', `Unrecognized request URL (${method}: /v1/${path}).`)
    return expanded(objects, answer(form, id), Object.values(textsOf(form, 'expand')))
  }
}

function set<T extends StripeObject>(object: T, changes: Partial<T>): T {
  return Object.assign(object, changes)
}

/** A copy of an answer in which the IDs at these paths are objects. A customer that was deleted is what is left of it. */
function expanded(objects: Objects, answer: unknown, paths: readonly string[]): unknown {
  const copy = structuredClone(answer)
  for (const path of paths) expand(objects, copy, path.split('.'))
  return copy
}

function expand(objects: Objects, at: unknown, [key = '', ...rest]: readonly string[]): void {
  if (Array.isArray(at)) {
    for (const item of at) expand(objects, item, [key, ...rest])
    return
  }
  if (typeof at !== 'object' || at === null) return
  const holder = at as Record<string, unknown>
  const id = holder[key]
  if (typeof id === 'string') {
    const deleted = id.startsWith('cus_') ? { id, object: 'customer', deleted: true } : id
    holder[key] = structuredClone(objects.any(id) ?? deleted)
  }
  if (rest.length > 0) expand(objects, holder[key], rest)
}
