/** Stripe's objects, with the fields that matter here, where version 2026-10-28 of its API has them. Times are seconds. */

export interface StripeObject {
  readonly id: string
  readonly object: string
  readonly created: number
}

export interface Product extends StripeObject {
  readonly object: 'product'
  active: boolean
  readonly name: string
}

export interface Price extends StripeObject {
  readonly object: 'price'
  active: boolean
  readonly currency: string
  readonly unit_amount: number | null
  readonly billing_scheme: 'per_unit' | 'tiered'
  readonly type: 'recurring' | 'one_time'
  readonly recurring: { readonly interval: string; readonly interval_count: number; readonly usage_type: string } | null
  readonly product: string
  readonly tax_behavior: 'inclusive' | 'exclusive' | 'unspecified'
}

export interface Customer extends StripeObject {
  readonly object: 'customer'
  email: string | null
  name: string | null
  preferred_locales: string[]
  metadata: Record<string, string>
}

export interface SubscriptionItem {
  readonly id: string
  readonly object: 'subscription_item'
  price: Price
  current_period_start: number
  current_period_end: number
  readonly quantity: 1
}

export interface Subscription extends StripeObject {
  readonly object: 'subscription'
  readonly customer: string
  status: 'incomplete' | 'incomplete_expired' | 'trialing' | 'active' | 'past_due' | 'unpaid' | 'paused' | 'canceled'
  readonly start_date: number
  billing_cycle_anchor: number
  cancel_at: number | null
  cancel_at_period_end: boolean
  canceled_at: number | null
  ended_at: number | null
  trial_end: number | null
  /** The ID of what changes at the end of its period. */
  schedule: string | null
  pause_collection: { readonly behavior: string; readonly resumes_at: number | null } | null
  latest_invoice: string | null
  readonly metadata: Record<string, string>
  readonly items: { readonly object: 'list'; readonly data: [SubscriptionItem]; readonly has_more: false }
}

export interface SubscriptionSchedule extends StripeObject {
  readonly object: 'subscription_schedule'
  status: 'active' | 'released'
  subscription: string | null
  released_subscription: string | null
  current_phase: { readonly start_date: number; readonly end_date: number } | null
  readonly phases: readonly {
    readonly start_date: number
    readonly end_date: number
    readonly items: readonly { readonly price: string; readonly quantity: 1 }[]
  }[]
}

export interface InvoiceLine {
  readonly id: string
  readonly object: 'line_item'
  readonly amount: number
  readonly period: { readonly start: number; readonly end: number }
  readonly pricing: { readonly type: 'price_details'; readonly price_details: { readonly price: string } }
  readonly parent: {
    readonly type: 'subscription_item_details'
    readonly invoice_item_details: null
    readonly subscription_item_details: {
      readonly subscription: string
      readonly subscription_item: string
      readonly proration: boolean
    }
  }
}

export interface Invoice extends StripeObject {
  readonly object: 'invoice'
  readonly customer: string
  status: 'draft' | 'open' | 'paid' | 'void' | 'uncollectible'
  readonly billing_reason: 'subscription_create' | 'subscription_cycle' | 'subscription_update'
  readonly currency: string
  readonly total: number
  readonly amount_due: number
  amount_paid: number
  attempt_count: number
  readonly period_start: number
  readonly period_end: number
  readonly parent: {
    readonly type: 'subscription_details'
    readonly quote_details: null
    readonly subscription_details: { readonly subscription: string; readonly metadata: Record<string, string> }
  }
  readonly lines: { readonly object: 'list'; readonly data: readonly InvoiceLine[]; readonly has_more: false }
  readonly status_transitions: { paid_at: number | null; voided_at: number | null }
}

export interface InvoicePayment extends StripeObject {
  readonly object: 'invoice_payment'
  readonly invoice: string
  status: 'open' | 'paid' | 'canceled'
  amount_paid: number | null
  readonly amount_requested: number
  readonly payment: { readonly type: 'payment_intent'; readonly payment_intent: string }
}

export interface PaymentIntent extends StripeObject {
  readonly object: 'payment_intent'
  readonly customer: string
  readonly amount: number
  amount_received: number
  readonly currency: string
  status: 'requires_payment_method' | 'processing' | 'succeeded' | 'canceled'
  latest_charge: string | null
  readonly metadata: Record<string, string>
}

export interface Charge extends StripeObject {
  readonly object: 'charge'
  readonly customer: string
  readonly amount: number
  amount_refunded: number
  readonly currency: string
  status: 'succeeded' | 'pending' | 'failed'
  paid: boolean
  refunded: boolean
  disputed: boolean
  readonly payment_intent: string
  readonly billing_details: { readonly email: string | null; readonly address: { readonly line1: string } }
}

export interface Refund extends StripeObject {
  readonly object: 'refund'
  readonly amount: number
  readonly currency: string
  status: 'succeeded' | 'failed'
  readonly charge: string
  readonly payment_intent: string
}

export interface Dispute extends StripeObject {
  readonly object: 'dispute'
  readonly amount: number
  readonly currency: string
  status: 'warning_needs_response' | 'warning_closed' | 'needs_response' | 'won' | 'lost'
  readonly reason: string
  readonly charge: string
  readonly payment_intent: string
}

export interface CheckoutSession extends StripeObject {
  readonly object: 'checkout.session'
  readonly mode: 'payment' | 'subscription'
  readonly customer: string
  readonly client_reference_id: string | null
  status: 'open' | 'complete' | 'expired'
  payment_status: 'unpaid' | 'paid' | 'no_payment_required'
  url: string | null
  readonly success_url: string
  readonly locale: string | null
  readonly automatic_tax: { readonly enabled: boolean }
  readonly tax_id_collection: { readonly enabled: boolean }
  readonly customer_update: Record<string, string>
  readonly invoice_creation: { readonly enabled: boolean }
  readonly cancel_url: string | null
  readonly currency: string
  amount_total: number
  payment_intent: string | null
  subscription: string | null
  readonly metadata: Record<string, string>
}

export interface PortalConfiguration extends StripeObject {
  readonly object: 'billing_portal.configuration'
  active: boolean
  readonly features: unknown
  readonly metadata: Record<string, string>
}

export interface StripeEvent extends StripeObject {
  readonly object: 'event'
  readonly api_version: string
  readonly livemode: false
  readonly type: string
  readonly data: { readonly object: StripeObject }
  readonly pending_webhooks: number
  readonly request: { readonly id: null; readonly idempotency_key: null }
}

const INDEXED = ['customer', 'payment_intent', 'charge', 'invoice'] as const

/** All objects of an account, by ID and by what they belong to. */
export function createObjects() {
  const byId = new Map<string, StripeObject>()
  const lists = new Map<string, StripeObject[]>()
  let ids = 0
  const put = (key: string, object: StripeObject) => {
    const list = lists.get(key)
    if (list) list.push(object)
    else lists.set(key, [object])
  }
  return {
    newId: (prefix: string) => `${prefix}_standin${String(++ids).padStart(8, '0')}`,
    /** @param also what it belongs to, where no field of its own says so */
    add<T extends StripeObject>(object: T, also: Record<string, string> = {}): T {
      byId.set(object.id, object)
      put(object.object, object)
      const belongs = { ...Object.fromEntries(INDEXED.map((it) => [it, object[it as keyof T]])), ...also }
      for (const [field, id] of Object.entries(belongs)) if (id) put(`${object.object} ${field} ${id}`, object)
      return object
    },
    /** For what it belongs to from now on. */
    belong: (object: StripeObject, field: string, id: string) => put(`${object.object} ${field} ${id}`, object),
    remove: (id: string) => void byId.delete(id),
    any: (id: string): StripeObject | undefined => byId.get(id),
    find<T extends StripeObject>(object: T['object'], id: string): T | undefined {
      const found = byId.get(id)
      return found?.object === object ? (found as T) : undefined
    },
    /** As `find`, for what must be there. */
    get<T extends StripeObject>(object: T['object'], id: string): T {
      const found = byId.get(id)
      if (found?.object !== object) throw new Error(`the stand-in has no ${object} ${id}`)
      return found as T
    },
    /** Newest first. @param of a field and the ID that it has */
    list<T extends StripeObject>(object: T['object'], of?: readonly [field: string, id: string]): T[] {
      return (lists.get(of ? `${object} ${of.join(' ')}` : object) ?? []).toReversed() as T[]
    },
  }
}

export type Objects = ReturnType<typeof createObjects>
