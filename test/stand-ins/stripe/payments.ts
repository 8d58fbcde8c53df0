import type { Clock } from './clock.js'
import type { Events } from './events.js'
import type { Charge, Dispute, Objects, PaymentIntent, Refund } from './objects.js'

/** What a customer's card does. */
export type Card = 'works' | 'declined' | 'takes_days'

export interface Money {
  readonly customer: string
  readonly amount: number
  readonly currency: string
  readonly metadata?: Record<string, string>
}

/** Payment intents, charges, refunds and disputes. */
export function createPayments(objects: Objects, events: Events, clock: Clock) {
  const whenSettled = new Map<string, (isPaid: boolean) => void>()

  const chargeOf = (intent: PaymentIntent): Charge => objects.get<Charge>('charge', intent.latest_charge ?? '')

  function charge(intent: PaymentIntent, status: Charge['status']): Charge {
    const made = objects.add<Charge>({
      ...{ id: objects.newId('ch'), object: 'charge', created: clock.now(), customer: intent.customer },
      ...{ amount: intent.amount, amount_refunded: 0, currency: intent.currency, status, paid: status === 'succeeded' },
      ...{ refunded: false, disputed: false, payment_intent: intent.id },
      billing_details: { email: 'payer@example.com', address: { line1: '1 Secret Street' } },
    })
    intent.latest_charge = made.id
    return made
  }

  function succeed(intent: PaymentIntent): void {
    intent.status = 'succeeded'
    intent.amount_received = intent.amount
    events.emit('charge.succeeded', chargeOf(intent))
    events.emit('payment_intent.succeeded', intent)
  }

  return {
    intent: ({ metadata = {}, ...money }: Money): PaymentIntent =>
      objects.add<PaymentIntent>({
        ...{ id: objects.newId('pi'), object: 'payment_intent', created: clock.now(), ...money, amount_received: 0 },
        ...{ status: 'requires_payment_method', latest_charge: null, metadata },
      }),

    /** @param settled is told, for a card that takes days, what came of it */
    attempt(intent: PaymentIntent, card: Card, settled: (isPaid: boolean) => void): 'paid' | 'failed' | 'processing' {
      if (card === 'declined') {
        events.emit('charge.failed', charge(intent, 'failed'))
        events.emit('payment_intent.payment_failed', intent)
        return 'failed'
      }
      if (card === 'takes_days') {
        intent.status = 'processing'
        charge(intent, 'pending')
        events.emit('payment_intent.processing', intent)
        whenSettled.set(intent.id, settled)
        return 'processing'
      }
      charge(intent, 'succeeded')
      succeed(intent)
      return 'paid'
    },

    /** What a card that takes days comes to. */
    settle(id: string, isPaid: boolean): void {
      const intent = objects.get<PaymentIntent>('payment_intent', id)
      const made = chargeOf(intent)
      made.status = isPaid ? 'succeeded' : 'failed'
      made.paid = isPaid
      if (isPaid) succeed(intent)
      else {
        intent.status = 'requires_payment_method'
        events.emit('charge.failed', made)
        events.emit('payment_intent.payment_failed', intent)
      }
      whenSettled.get(id)?.(isPaid)
      whenSettled.delete(id)
    },

    /** Gives money back; all that is left, without an amount. */
    refund(id: string, amount?: number): Refund {
      const intent = objects.get<PaymentIntent>('payment_intent', id)
      const of = chargeOf(intent)
      const left = of.amount - of.amount_refunded
      const back = amount ?? left
      if (back <= 0 || back > left)
        throw new Error(`Refund amount (${back}) is greater than unrefunded amount (${left})`)
      const refund = objects.add<Refund>({
        ...{ id: objects.newId('re'), object: 'refund', created: clock.now(), amount: back, currency: of.currency },
        ...{ status: 'succeeded', charge: of.id, payment_intent: id },
      })
      of.amount_refunded += back
      of.refunded = of.amount_refunded === of.amount
      events.emit('refund.created', refund)
      events.emit('charge.refunded', of)
      return refund
    },

    /** The bank does not take the money that was given back. */
    failRefund(id: string): void {
      const refund = objects.get<Refund>('refund', id)
      const of = objects.get<Charge>('charge', refund.charge)
      refund.status = 'failed'
      of.amount_refunded -= refund.amount
      of.refunded = false
      events.emit('refund.failed', refund)
      events.emit('charge.refund.updated', refund)
    },

    /** A bank asks for money back; an inquiry takes none yet. */
    dispute(id: string, kind: 'dispute' | 'inquiry' = 'dispute'): Dispute {
      const of = chargeOf(objects.get<PaymentIntent>('payment_intent', id))
      of.disputed = true
      const dispute = objects.add<Dispute>({
        ...{
          id: objects.newId('dp'),
          object: 'dispute',
          created: clock.now(),
          amount: of.amount,
          currency: of.currency,
        },
        ...{ status: kind === 'inquiry' ? 'warning_needs_response' : 'needs_response', reason: 'fraudulent' },
        ...{ charge: of.id, payment_intent: id },
      })
      events.emit('charge.dispute.created', dispute)
      if (kind === 'dispute') events.emit('charge.dispute.funds_withdrawn', dispute)
      return dispute
    },

    endDispute(id: string, status: 'won' | 'lost' | 'warning_closed'): void {
      const dispute = objects.get<Dispute>('dispute', id)
      dispute.status = status
      if (status === 'won') events.emit('charge.dispute.funds_reinstated', dispute)
      events.emit('charge.dispute.closed', dispute)
    },
  }
}

export type Payments = ReturnType<typeof createPayments>
