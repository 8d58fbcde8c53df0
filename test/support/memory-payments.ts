/** A payment provider in memory: what it knows is set by a test, and events say what to ask it for. */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import {
  type Customer,
  type PaidSubscription,
  type PayingAccount,
  type Payment,
  type PaymentEvent,
  type PaymentProvider,
  PaymentProviderFailure,
  type Purchase,
} from '../../src/core/billing/payment-provider.js'

const TOLERANCE_MS = 300_000

export interface MemoryPayments extends PaymentProvider {
  readonly subscriptions: Map<string, PaidSubscription>
  readonly payments: Map<string, Payment>
  /** All that was ever bought. */
  readonly purchases: Purchase[]
  /** Of which accounts it was told, in order. */
  readonly told: { readonly customer: string; readonly account: PayingAccount }[]
  /** Customers whose subscriptions were ended. */
  readonly canceled: string[]
  /** Everything that was asked for, in order. */
  readonly asked: string[]
  /** While true, it answers nothing. */
  isAway: boolean
  /** What a question waits for before it is answered with what was known when it was asked. */
  hold: Promise<unknown> | undefined
  /** An event as it is posted. */
  signed(event: Partial<PaymentEvent>, sentAt?: Date): { readonly body: string; readonly signature: string }
}

export function memoryPayments(secret = 'secret'): MemoryPayments {
  const sign = (text: string) => createHmac('sha256', secret).update(text).digest('hex')
  const answer = async <T>(question: string, found: () => T): Promise<T> => {
    it.asked.push(question)
    if (it.isAway) throw new PaymentProviderFailure('Nobody answers.')
    const answered = found()
    await it.hold
    return answered
  }
  const it: MemoryPayments = {
    name: 'stripe',
    subscriptions: new Map(),
    payments: new Map(),
    purchases: [],
    told: [],
    canceled: [],
    asked: [],
    isAway: false,
    hold: undefined,
    price: async () => undefined,
    createCustomer: async ({ id }) => `cus_${id}`,
    tellCustomer: async (customer, account) => {
      it.told.push({ customer, account })
      return true
    },
    checkout: async () => 'http://stripe.test/pay',
    portal: async () => 'http://stripe.test/portal',
    subscription: (id) => answer(`subscription ${id}`, () => it.subscriptions.get(id)),
    payment: (id) => answer(`payment ${id}`, () => it.payments.get(id)),
    purchasesSince: async () => {
      if (it.isAway) throw new PaymentProviderFailure('Nobody answers.')
      return [...it.purchases]
    },
    endpointProblem: async () => undefined,
    cancelAll: (customer) =>
      answer(`cancel ${customer}`, () => {
        it.canceled.push(customer)
        for (const [id, known] of it.subscriptions)
          if (known.customer.id === customer)
            it.subscriptions.set(id, { ...known, status: 'ended', endsAt: new Date() })
      }),

    mayBeSigned: (signature) => Math.abs(Date.now() - Number(signature.split('.')[0])) <= TOLERANCE_MS,

    event(body, signature) {
      const [at = '', mac = ''] = signature.split('.')
      const expected = sign(`${at}.${body}`)
      const isOurs = mac.length === expected.length && timingSafeEqual(Buffer.from(mac), Buffer.from(expected))
      if (!isOurs || Math.abs(Date.now() - Number(at)) > TOLERANCE_MS) return undefined
      const { createdAt, ...event } = JSON.parse(body.toString())
      return { ...event, createdAt: new Date(createdAt) }
    },

    signed(event, sentAt = new Date()) {
      const whole = {
        id: `evt_${randomUUID()}`,
        type: 'test',
        createdAt: sentAt,
        about: null,
        customer: null,
        body: {},
      }
      const body = JSON.stringify({ ...whole, ...event })
      return { body, signature: `${sentAt.getTime()}.${sign(`${sentAt.getTime()}.${body}`)}` }
    },
  }
  return it
}

/** A customer that was made for an account. */
export const customerOf = (accountId: string | null, more: Partial<Customer> = {}): Customer => ({
  id: `cus_${randomUUID()}`,
  email: null,
  accountId,
  ...more,
})
