import type Stripe from 'stripe'
import {
  type FailureReason,
  type PaymentProvider,
  PaymentProviderFailure,
  type Price,
  type Purchase,
} from '../../core/billing/payment-provider.js'
import { reasonOf } from '../../lib/causes.js'
import { stripeCustomers } from './customers.js'
import { portalSessions } from './portal.js'
import { idOf, paymentEventOf, USED_EVENTS } from './stripe-events.js'
import { ACCOUNT, orNone, packMetadata, paymentState, subscriptionState } from './stripe-state.js'

/** What this adapter was written for. Stripe keeps it for us when it brings out another. */
const API_VERSION = '2026-10-28.endive'
const TIMEOUT_MS = 10_000
const RETRIES = 2
/** So long a signature counts. */
const TOLERANCE_SECONDS = 300

export interface TaxOptions {
  /** Stripe works out the tax of each payment. */
  readonly automatic: boolean
  /** Who pays may give a tax ID, such as a VAT number. */
  readonly ids: boolean
}

export interface StripeOptions {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly apiUrl?: string | undefined
  /** Without it: none. */
  readonly tax?: TaxOptions | undefined
}

const NO_TAX: TaxOptions = { automatic: false, ids: false }

/** Payment through Stripe. Its package is loaded here, and nowhere else. */
export async function stripeProvider(options: StripeOptions): Promise<PaymentProvider> {
  const { secretKey, webhookSecret, apiUrl, tax = NO_TAX } = options
  const { default: Client } = await import('stripe')
  const stripe = new Client(secretKey, {
    ...{ apiVersion: API_VERSION, timeout: TIMEOUT_MS, maxNetworkRetries: RETRIES, telemetry: false },
    // `fetch` goes through the operator's proxy.
    httpClient: Client.createFetchHttpClient(),
    ...(apiUrl && serverAt(new URL(apiUrl))),
  })
  const openPortal = portalSessions(stripe)
  const customers = stripeCustomers(stripe)

  function isSigned(body: Buffer, signature: string): boolean {
    try {
      return stripe.webhooks.signature?.verifyHeader(body, signature, webhookSecret, TOLERANCE_SECONDS) === true
    } catch {
      return false
    }
  }

  return {
    name: 'stripe',

    price: (id) => asked(() => usablePrice(stripe, id, tax)),

    createCustomer: (account) => asked(() => customers.create(account)),
    tellCustomer: (customer, account) => asked(() => customers.tell(customer, account)),

    checkout: (order) =>
      asked(async () => {
        const { customer, accountId, item, price, returnTo, cancelTo, language } = order
        const isPlan = 'plan' in item
        // Who opened two pages must not pay for two subscriptions, nor who paid so lately that nobody here knows it.
        if (isPlan) {
          await expireAll(stripe, await openSessions(stripe, customer, 'subscription'))
          if (await hasSubscription(stripe, customer))
            throw new PaymentProviderFailure(`${customer} pays for a subscription already`, { reason: 'subscribed' })
        }
        const metadata = isPlan ? { [ACCOUNT]: accountId } : packMetadata(accountId, item.pack, item.credits)
        const { url } = await stripe.checkout.sessions.create({
          ...{ mode: isPlan ? 'subscription' : 'payment', customer, client_reference_id: accountId, metadata },
          ...(isPlan ? { subscription_data: { metadata } } : { payment_intent_data: { metadata } }),
          ...{ line_items: [{ price, quantity: 1 }], allow_promotion_codes: true },
          ...{ success_url: returnTo, cancel_url: cancelTo },
          ...(language !== undefined && { locale: language as Stripe.Checkout.SessionCreateParams.Locale }),
          ...taxesOf(tax, isPlan),
        })
        return requiredUrl(isPlan ? ((await newestOnly(stripe, customer)) ?? url) : url)
      }),

    portal: (customer, page) => asked(async () => requiredUrl(await openPortal(customer, page))),

    mayBeSigned(signature) {
      const at = /(?:^|,)t=(\d{1,12})(?:,|$)/.exec(signature)?.[1]
      const isInTime = at !== undefined && Date.now() / 1000 - Number(at) <= TOLERANCE_SECONDS + 1
      return isInTime && /(?:^|,)v1=[0-9a-f]{64}(?:,|$)/.test(signature)
    },

    event: (body, signature) => (isSigned(body, signature) ? paymentEventOf(body) : undefined),

    subscription: (id, plans) => asked(() => subscriptionState(stripe, id, plans)),
    payment: (id, plansOf) => asked(() => paymentState(stripe, id, plansOf)),

    purchasesSince: (moment) =>
      asked(async () => {
        const created = { gte: Math.floor(moment.getTime() / 1000) }
        return (await allOf(stripe.checkout.sessions.list({ created, status: 'complete', limit: 100 }))).flatMap(
          purchaseOf,
        )
      }),

    endpointProblem: (url) => asked(() => endpointProblem(stripe, url)),

    cancelAll: (customer) =>
      asked(async () => {
        await expireAll(stripe, await openSessions(stripe, customer))
        for (const { id } of await runningOf(stripe, customer)) await orNone(stripe.subscriptions.cancel(id))
      }),
  }
}

/** @throws PaymentProviderFailure for whatever goes wrong */
async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof PaymentProviderFailure) throw cause
    throw new PaymentProviderFailure(reasonOf(cause), { cause, reason: failureReasonOf(cause) })
  }
}

const REFUSALS = ['InvalidRequest', 'Authentication', 'Permission', 'Idempotency'].map((it) => `Stripe${it}Error`)

function failureReasonOf(cause: unknown): FailureReason {
  const { type, param, message, statusCode } = cause as Readonly<Record<string, unknown>>
  // 409: another request has the same object at work.
  if (!REFUSALS.includes(String(type)) || statusCode === 409) return 'away'
  // Stripe has no codes for these two.
  if (/\bcurrenc(y|ies)\b/i.test(String(message))) return 'other_currency'
  if (/^line_items\[0\]\[price\]$/.test(String(param)) || /price specified is inactive/i.test(String(message)))
    return 'no_price'
  return 'refused'
}

/** An invoice for each payment, with what the law wants on it; Stripe asks who pays for name and address. */
function taxesOf({ automatic, ids }: TaxOptions, isPlan: boolean): Stripe.Checkout.SessionCreateParams {
  if (!automatic && !ids) return {}
  return {
    ...(automatic && { automatic_tax: { enabled: true } }),
    ...(ids && { tax_id_collection: { enabled: true } }),
    ...{ billing_address_collection: 'required', customer_update: { name: 'auto', address: 'auto' } },
    ...(!isPlan && { invoice_creation: { enabled: true } }),
  }
}

async function usablePrice(stripe: Stripe, id: string, { automatic }: TaxOptions): Promise<Price | undefined> {
  const found = await orNone(stripe.prices.retrieve(id, { expand: ['product'] }))
  if (!found?.active || found.unit_amount === null || found.recurring?.usage_type === 'metered') return undefined
  const { product, currency, unit_amount: amount, recurring } = found
  if (typeof product !== 'string' && (product.deleted || !product.active)) return undefined
  const isNet = automatic && found.tax_behavior === 'exclusive'
  return { id: found.id, amount, currency, every: recurring && everyOf(recurring), ...(isNet && { isNet }) }
}

function everyOf({ interval, interval_count }: Stripe.Price.Recurring): Price['every'] {
  if (interval_count !== 1) return 'other'
  return interval === 'month' ? 'month' : interval === 'year' ? 'year' : 'other'
}

async function endpointProblem(stripe: Stripe, url: string): Promise<string | undefined> {
  const all = await allOf(stripe.webhookEndpoints.list({ limit: 100 })).catch((error) => {
    if ((error as { type?: unknown }).type === 'StripePermissionError') return []
    throw error
  })
  const lacks = all
    .filter((it) => it.url.replace(/\/$/, '') === url && it.status === 'enabled')
    .map(({ enabled_events: sent }) => (sent.includes('*') ? [] : USED_EVENTS.filter((it) => !sent.includes(it))))
    .toSorted((one, other) => one.length - other.length)[0]
  if (lacks) return lacks.length > 0 ? `is not sent ${lacks.join(', ')}: add these events to it` : undefined
  return all.some((it) => it.url.replace(/\/$/, '') === url) ? 'is switched off: enable it' : undefined
}

/** All but those that have ended. */
const runningOf = async (stripe: Stripe, customer: string): Promise<Stripe.Subscription[]> =>
  (await orNone(allOf(stripe.subscriptions.list({ customer, limit: 100 })))) ?? []

/** One whose first payment failed is none. */
const hasSubscription = async (stripe: Stripe, customer: string): Promise<boolean> =>
  (await runningOf(stripe, customer)).some(({ status }) => status !== 'incomplete' && status !== 'incomplete_expired')

/** None, if it is a page that somebody else has made. */
function purchaseOf(session: Stripe.Checkout.Session): Purchase[] {
  const customer = idOf(session.customer)
  if (customer === null || session.metadata?.[ACCOUNT] === undefined) return []
  const subscription = idOf(session.subscription)
  if (session.mode === 'subscription')
    return subscription === null ? [] : [{ kind: 'subscription', id: subscription, customer }]
  return [{ kind: 'payment', id: idOf(session.payment_intent) ?? session.id, customer }]
}

/** Pages on which somebody could still pay. */
async function openSessions(stripe: Stripe, customer: string, mode?: 'subscription') {
  const open = await orNone(allOf(stripe.checkout.sessions.list({ customer, status: 'open', limit: 100 })))
  return open?.filter((it) => mode === undefined || it.mode === mode) ?? []
}

async function expireAll(stripe: Stripe, sessions: readonly Stripe.Checkout.Session[]): Promise<void> {
  // One that was paid or expired just now is refused.
  for (const { id } of sessions) await stripe.checkout.sessions.expire(id).catch(ignoreRefusal)
}

/** Of orders at the same moment each has made a page: all are led to the same, and the others end. */
async function newestOnly(stripe: Stripe, customer: string): Promise<string | null | undefined> {
  const open = await openSessions(stripe, customer, 'subscription')
  const [newest, ...others] = open.toSorted((one, other) => other.created - one.created || (one.id < other.id ? -1 : 1))
  await expireAll(stripe, others)
  return newest?.url
}

function ignoreRefusal(error: unknown): void {
  if ((error as { type?: unknown }).type !== 'StripeInvalidRequestError') throw error
}

const allOf = <T>(list: Stripe.ApiListPromise<T>): Promise<T[]> => list.autoPagingToArray({ limit: 10_000 })

function requiredUrl(url: string | null | undefined): string {
  if (!url) throw new Error('Stripe answered without the address of its page')
  return url
}

const serverAt = ({ protocol, hostname: host, port }: URL) => ({
  ...{ protocol: protocol === 'http:' ? ('http' as const) : ('https' as const), host },
  port: port || (protocol === 'http:' ? 80 : 443),
})
