import type { PaymentEvent } from '../../core/billing/payment-provider.js'

/** As far as it is read: what an event says is never believed, only asked for. */
interface StripeEvent {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly data: { readonly object: object }
}
type EventObject = Readonly<Record<string, unknown>>

/** The types that Easel uses; docs/billing.md lists them for the endpoint. */
const OF_SUBSCRIPTIONS = ['created', 'updated', 'deleted', 'paused', 'resumed'].map(
  (it) => `customer.subscription.${it}`,
)
/** Whether an invoice is paid decides until when its subscription is. */
const OF_INVOICES = ['paid', 'payment_failed', 'voided', 'marked_uncollectible'].map((it) => `invoice.${it}`)
const OF_SESSIONS = ['completed', 'async_payment_succeeded', 'async_payment_failed'].map(
  (it) => `checkout.session.${it}`,
)
const OF_RETURNS = [
  ...['charge.refunded', 'charge.refund.updated', 'refund.created', 'refund.updated', 'refund.failed'],
  ...['created', 'updated', 'closed', 'funds_withdrawn', 'funds_reinstated'].map((it) => `charge.dispute.${it}`),
]
export const USED_EVENTS: readonly string[] = [...OF_SUBSCRIPTIONS, ...OF_INVOICES, ...OF_SESSIONS, ...OF_RETURNS]

/** What operators need of an event's object, and nobody's name, address or card. */
const SHOWN = [
  ...['id', 'object', 'status', 'amount', 'amount_due', 'amount_paid', 'amount_refunded', 'amount_total', 'currency'],
  ...['customer', 'subscription', 'invoice', 'payment_intent', 'charge', 'client_reference_id', 'livemode'],
  ...[
    'billing_reason',
    'cancel_at',
    'cancel_at_period_end',
    'ended_at',
    'mode',
    'payment_status',
    'reason',
    'metadata',
  ],
]

export function paymentEventOf({ id, type, created, data }: StripeEvent): PaymentEvent {
  const object = data.object as EventObject
  const shown = SHOWN.filter((name) => object[name] !== undefined && object[name] !== null)
  return {
    ...{ id, type, createdAt: new Date(created * 1000), about: aboutOf(type, object) },
    customer: type.startsWith('customer.') && object.object === 'customer' ? idOf(object) : idOf(object.customer),
    body: Object.fromEntries(shown.map((name) => [name, object[name]])),
  }
}

function aboutOf(type: string, object: EventObject): PaymentEvent['about'] {
  if (OF_SUBSCRIPTIONS.includes(type)) return about('subscription', object)
  if (OF_INVOICES.includes(type)) return about('subscription', subscriptionIn(object))
  if (OF_RETURNS.includes(type)) return about('payment', object.payment_intent)
  if (!OF_SESSIONS.includes(type)) return null
  if (object.mode === 'subscription') return about('subscription', object.subscription)
  // A pack that cost nothing has no payment but its session.
  return object.mode === 'payment' ? about('payment', object.payment_intent ?? object) : null
}

function about(kind: 'subscription' | 'payment', of: unknown): PaymentEvent['about'] {
  const id = idOf(of)
  return id === null ? null : { kind, id }
}

/** Where an invoice names its subscription; before API version 2025-03-31, in a field of its own. */
function subscriptionIn({ parent, subscription }: EventObject): unknown {
  const details = (parent as { subscription_details?: { subscription?: unknown } } | null | undefined)
    ?.subscription_details
  return details?.subscription ?? subscription
}

/** Of an ID, or of an object that stands in its place. */
export function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const id = (value as { id?: unknown } | null | undefined)?.id
  return typeof id === 'string' ? id : null
}
