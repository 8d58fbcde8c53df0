import type { Clock } from './clock.js'
import type { Events } from './events.js'
import type { Invoice, InvoiceLine, InvoicePayment, Objects, PaymentIntent, Price, Subscription } from './objects.js'
import type { Card, Payments } from './payments.js'

export interface Line {
  readonly price: Price
  readonly amount: number
  readonly start: number
  readonly end: number
  readonly isProration?: boolean
}

/** Invoices of subscriptions, and how they are paid. @param cardOf what a customer pays with now */
export function createInvoices(
  { objects, events, clock }: { readonly objects: Objects; readonly events: Events; readonly clock: Clock },
  payments: Payments,
  cardOf: (customer: string) => Card,
) {
  const lineOf = (
    { items, id }: Subscription,
    { price, amount, start, end, isProration = false }: Line,
  ): InvoiceLine => ({
    ...{ id: objects.newId('il'), object: 'line_item', amount, period: { start, end } },
    pricing: { type: 'price_details', price_details: { price: price.id } },
    parent: {
      ...{ type: 'subscription_item_details', invoice_item_details: null },
      subscription_item_details: { subscription: id, subscription_item: items.data[0].id, proration: isProration },
    },
  })

  const intentOf = (invoice: Invoice): PaymentIntent | undefined => {
    const [payment] = objects.list<InvoicePayment>('invoice_payment', ['invoice', invoice.id])
    return payment && objects.get<PaymentIntent>('payment_intent', payment.payment.payment_intent)
  }

  function paid(invoice: Invoice): void {
    invoice.status = 'paid'
    invoice.amount_paid = invoice.amount_due
    invoice.status_transitions.paid_at = clock.now()
    for (const payment of objects.list<InvoicePayment>('invoice_payment', ['invoice', invoice.id])) {
      payment.status = 'paid'
      payment.amount_paid = payment.amount_requested
      events.emit('invoice_payment.paid', payment)
    }
    events.emit('invoice.paid', invoice)
    events.emit('invoice.payment_succeeded', invoice)
  }

  return {
    draft(
      subscription: Subscription,
      reason: Invoice['billing_reason'],
      lines: readonly Line[],
      discount = 0,
    ): Invoice {
      const total = Math.max(0, lines.reduce((sum, { amount }) => sum + amount, 0) - discount)
      const { id, customer, metadata, items } = subscription
      const made = objects.add<Invoice>(
        {
          ...{ id: objects.newId('in'), object: 'invoice', created: clock.now(), customer, status: 'draft' },
          ...{
            billing_reason: reason,
            currency: items.data[0].price.currency,
            total,
            amount_due: total,
            amount_paid: 0,
          },
          // For a renewal, the period that is over.
          ...{ attempt_count: 0, period_start: subscription.start_date, period_end: clock.now() },
          parent: {
            ...{ type: 'subscription_details', quote_details: null },
            subscription_details: { subscription: id, metadata },
          },
          lines: { object: 'list', data: lines.map((line) => lineOf(subscription, line)), has_more: false },
          status_transitions: { paid_at: null, voided_at: null },
        },
        { subscription: id },
      )
      subscription.latest_invoice = made.id
      events.emit('invoice.created', made)
      return made
    },

    /** @param settled is told, for a card that takes days, what came of it */
    attempt(invoice: Invoice, settled: (isPaid: boolean) => void): 'paid' | 'failed' | 'processing' {
      if (invoice.status === 'draft') {
        invoice.status = 'open'
        events.emit('invoice.finalized', invoice)
      }
      if (invoice.amount_due === 0) {
        paid(invoice)
        return 'paid'
      }
      let intent = intentOf(invoice)
      if (!intent) {
        intent = payments.intent({ customer: invoice.customer, amount: invoice.amount_due, currency: invoice.currency })
        objects.add<InvoicePayment>(
          {
            ...{ id: objects.newId('inpay'), object: 'invoice_payment', created: clock.now(), invoice: invoice.id },
            ...{ status: 'open', amount_paid: null, amount_requested: invoice.amount_due },
            payment: { type: 'payment_intent', payment_intent: intent.id },
          },
          { payment_intent: intent.id },
        )
      }
      invoice.attempt_count++
      const outcome = payments.attempt(intent, cardOf(invoice.customer), (isPaid) => {
        if (isPaid) paid(invoice)
        else events.emit('invoice.payment_failed', invoice)
        settled(isPaid)
      })
      if (outcome === 'paid') paid(invoice)
      else if (outcome === 'failed') events.emit('invoice.payment_failed', invoice)
      return outcome
    },

    drop(invoice: Invoice): void {
      invoice.status = 'void'
      invoice.status_transitions.voided_at = clock.now()
      events.emit('invoice.voided', invoice)
    },

    intentOf,
  }
}

export type Invoices = ReturnType<typeof createInvoices>
