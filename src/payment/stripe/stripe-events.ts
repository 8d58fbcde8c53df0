import { createHash } from 'node:crypto'
import type { PaymentEvent } from '../../core/billing/payment-provider.js'
import { isStorable, storable } from '../../lib/text.js'

type EventObject = Readonly<Record<string, unknown>>

/** The types that Easel uses; docs/billing.md lists them for the endpoint. */
const OF_SUBSCRIPTIONS = ['created', 'updated', 'deleted', 'paused', 'resumed'].map(
  (it) => `customer.subscription.${it}`,
)
/** What changes at the end of a period. */
const OF_SCHEDULES = ['created', 'updated', 'released', 'canceled'].map((it) => `subscription_schedule.${it}`)
/** Whether an invoice is paid decides until when its subscription is. */
const OF_INVOICES = ['paid', 'payment_failed', 'voided', 'marked_uncollectible'].map((it) => `invoice.${it}`)
const OF_SESSIONS = ['completed', 'async_payment_succeeded', 'async_payment_failed'].map(
  (it) => `checkout.session.${it}`,
)
const OF_RETURNS = [
  ...['charge.refunded', 'charge.refund.updated', 'refund.created', 'refund.updated', 'refund.failed'],
  ...['created', 'updated', 'closed', 'funds_withdrawn', 'funds_reinstated'].map((it) => `charge.dispute.${it}`),
]
export const USED_EVENTS: readonly string[] = [
  ...[...OF_SUBSCRIPTIONS, ...OF_SCHEDULES, ...OF_INVOICES],
  ...[...OF_SESSIONS, ...OF_RETURNS],
]

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

/** Longer than any ID or type of Stripe. */
const NAME_LENGTH = 255
/** As long as a value of Stripe's metadata may be. */
const SHOWN_LENGTH = 500
const SHOWN_METADATA = 50

/**
 * What a signed body tells. It never throws: what is signed and cannot be used has a problem, so that it is answered as taken.
 * Otherwise Stripe would send it again for days, and then switch the endpoint off.
 */
export function paymentEventOf(body: Buffer): PaymentEvent {
  const event = readObject(body)
  const { id, type, created, data } = event ?? {}
  const object = objectOf(objectOf(data).object)
  const name = nameOf(type)
  const createdAt = dateOf(created)
  const subject = subjectOf(name ?? '', object)
  const about = idOf(subject?.of)
  const isLost = about === null && subject !== null && subject.of !== null && subject.of !== undefined
  const problem = problemOf(event, { isNamed: nameOf(id) !== null && name !== null, isLost, isDated: !!createdAt })
  return {
    id: nameOf(id) ?? `unreadable_${createHash('sha256').update(body).digest('hex')}`,
    ...{ type: name ?? 'unreadable', createdAt: createdAt ?? new Date() },
    about: subject && about !== null ? { kind: subject.kind, id: about } : null,
    customer: name?.startsWith('customer.') && object.object === 'customer' ? idOf(object) : idOf(object.customer),
    body: shownOf(object),
    ...(problem && { problem }),
  }
}

interface Subject {
  readonly kind: 'subscription' | 'payment'
  readonly of: unknown
}

function problemOf(
  event: EventObject | undefined,
  { isNamed, isLost, isDated }: Readonly<Record<'isNamed' | 'isLost' | 'isDated', boolean>>,
): string | undefined {
  if (!event) return 'It is not JSON of an object.'
  if (typeof event.object === 'string' && event.object.startsWith('v2.'))
    return 'It is a thin event, which says too little: choose the payload style "Snapshot" for the endpoint.'
  if (!isNamed) return 'It has no ID or no type that can be kept.'
  if (isLost) return 'It does not name the subscription or the payment by an ID that can be kept.'
  return isDated ? undefined : 'It does not say when it was made.'
}

/** Undefined: it is none. */
function readObject(body: Buffer): EventObject | undefined {
  try {
    const read: unknown = JSON.parse(body.toString())
    return isObject(read) ? read : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is EventObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const objectOf = (value: unknown): EventObject => (isObject(value) ? value : {})

/** Null: it is no ID, or none that can be kept, and looked up, as it is. */
const nameOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH && isStorable(value) ? value : null

function dateOf(seconds: unknown): Date | undefined {
  const date = new Date(typeof seconds === 'number' ? seconds * 1000 : Number.NaN)
  // Postgres and JSON have no years of more than four digits in common.
  return date.getTime() >= 0 && date.getUTCFullYear() < 10_000 ? date : undefined
}

/** Flat, however deep it came: what is nested deeper than a stack is high can be read, but not written. */
function shownOf(object: EventObject): Readonly<Record<string, unknown>> {
  const its = (name: string) => (name === 'metadata' ? metadataOf(object[name]) : plainOf(object[name]))
  const shown = SHOWN.map((name) => [name, its(name)] as const)
  return Object.fromEntries(shown.filter(([, value]) => value !== null))
}

function plainOf(value: unknown): string | number | boolean | null {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : idOf(value)
  return text === null ? null : storable(text.slice(0, SHOWN_LENGTH))
}

function metadataOf(value: unknown): Readonly<Record<string, unknown>> | null {
  const entries = Object.entries(objectOf(value)).slice(0, SHOWN_METADATA)
  return isObject(value)
    ? Object.fromEntries(entries.map(([key, its]) => [storable(key.slice(0, SHOWN_LENGTH)), plainOf(its)]))
    : null
}

/** What to ask for, as the event names it. */
function subjectOf(type: string, object: EventObject): Subject | null {
  if (OF_SUBSCRIPTIONS.includes(type)) return { kind: 'subscription', of: object }
  if (OF_SCHEDULES.includes(type))
    return { kind: 'subscription', of: object.subscription ?? object.released_subscription }
  if (OF_INVOICES.includes(type)) return { kind: 'subscription', of: subscriptionIn(object) }
  if (OF_RETURNS.includes(type)) return { kind: 'payment', of: object.payment_intent }
  if (!OF_SESSIONS.includes(type)) return null
  if (object.mode === 'subscription') return { kind: 'subscription', of: object.subscription }
  // A pack that cost nothing has no payment but its session.
  return object.mode === 'payment' ? { kind: 'payment', of: object.payment_intent ?? object } : null
}

/** Where an invoice names its subscription; before API version 2025-03-31, in a field of its own. */
function subscriptionIn({ parent, subscription }: EventObject): unknown {
  const details = (parent as { subscription_details?: { subscription?: unknown } } | null | undefined)
    ?.subscription_details
  return details?.subscription ?? subscription
}

/** Of an ID, or of an object that stands in its place. Null: there is none that can be kept. */
export const idOf = (value: unknown): string | null => nameOf(isObject(value) ? value.id : value)
