/** The port to a company that takes money for plans and credit packs, such as Stripe. */

/** IDs of the provider's objects are texts of the provider, such as `cus_…`, `sub_…`, `price_…`. Times are UTC. */
export interface PaymentProvider {
  /** As the ledger's references and the pages call it: `stripe`. */
  readonly name: string

  /**
   * The price of a plan or a credit pack, as the provider has it now; undefined: there is none that can be used, because it
   * is not active or has no fixed amount.
   * @throws PaymentProviderFailure
   */
  price(id: string): Promise<Price | undefined>

  /**
   * Makes a customer for an account, once: the same account gets the same customer, also after a lost answer.
   * @throws PaymentProviderFailure
   */
  createCustomer(account: PayingAccount): Promise<string>

  /**
   * Tells the provider what has changed of an account. What the customer or the provider's owner has set there stays.
   * @returns false: the provider has no such customer. It was deleted, or made in a sandbox or in another account there
   * @throws PaymentProviderFailure
   */
  tellCustomer(customer: string, account: PayingAccount): Promise<boolean>

  /**
   * A page of the provider where the customer pays.
   * @returns its URL, which can be used once
   * @throws PaymentProviderFailure
   */
  checkout(order: CheckoutOrder): Promise<string>

  /**
   * A page of the provider where the customer changes or cancels the subscription, and finds invoices. The plans that can
   * be chosen there are `prices`; a change to a cheaper or shorter one takes effect at the end of what is paid.
   * @returns its URL
   * @throws PaymentProviderFailure
   */
  portal(customer: string, page: PortalPage): Promise<string>

  /** Whether a signature has the right form and is not too old: all that can be said before the body is there. */
  mayBeSigned(signature: string): boolean

  /**
   * Checks the signature and the time stamp of what was posted to the service.
   * @param body exactly the bytes that came
   * @returns undefined: forged, changed on the way, or too old
   */
  event(body: Buffer, signature: string): PaymentEvent | undefined

  /**
   * What the provider knows now. An event only says what to ask for: the answer is the same in whatever order, however
   * often and however late events come.
   * @param plans prices of plans: of a subscription that is for several things the one with such a price counts
   * @param plansOf the same, for the subscription that a payment was for: what was paid for the other things alone is `of` null
   * @returns undefined: there is no such object
   * @throws PaymentProviderFailure
   */
  subscription(id: string, plans?: readonly string[]): Promise<PaidSubscription | undefined>
  payment(id: string, plansOf?: (subscription: string) => Promise<readonly string[]>): Promise<Payment | undefined>

  /**
   * What was bought through `checkout` on pages that were opened since: to be asked for, whether an event has told of it or not.
   * @throws PaymentProviderFailure
   */
  purchasesSince(moment: Date): Promise<readonly Purchase[]>

  /**
   * What is wrong with how events are sent to this address of the service: the end of a sentence. Undefined: nothing, or the
   * provider's pages name no such address, or the key may not ask.
   * @throws PaymentProviderFailure
   */
  endpointProblem(url: string): Promise<string | undefined>

  /** Ends all subscriptions of a customer at once. @throws PaymentProviderFailure */
  cancelAll(customer: string): Promise<void>
}

/**
 * - `away`: it cannot be reached, or answers what it never should: to be tried again
 * - `refused`: an operator has to mend something first
 * - `no_price`: the price cannot be paid any more
 * - `other_currency`: the customer pays in another currency than that of the price
 * - `subscribed`: the customer pays for a subscription already
 */
export type FailureReason = 'away' | 'refused' | 'no_price' | 'other_currency' | 'subscribed'

/** The provider cannot be reached, or refuses. Has the provider's own words. */
export class PaymentProviderFailure extends Error {
  override readonly name = 'PaymentProviderFailure'
  readonly reason: FailureReason

  constructor(message: string, { reason = 'away', cause }: { reason?: FailureReason; cause?: unknown } = {}) {
    super(message, { cause })
    this.reason = reason
  }
}

export interface Price {
  readonly id: string
  /** In the smallest unit of the currency: cents, yen. */
  readonly amount: number
  /** ISO 4217, in small letters. */
  readonly currency: string
  /** Null: paid once; `other`: each week, every three months, … */
  readonly every: 'month' | 'year' | 'other' | null
  /** Tax comes on top of the amount. */
  readonly isNet?: boolean
}

export interface PayingAccount {
  readonly id: string
  /** Null: the account was deleted, and nothing is to be known of it. */
  readonly username: string | null
  readonly email: string | null
  /** A BCP 47 tag, of mails and invoices; null: the account has chosen none. */
  readonly language: string | null
}

export interface CheckoutOrder {
  readonly customer: string
  readonly accountId: string
  readonly item: { readonly plan: string } | { readonly pack: string; readonly credits: number }
  readonly price: string
  /** Absolute URLs of the service. */
  readonly returnTo: string
  readonly cancelTo: string
  /** Of the page, as a BCP 47 tag. */
  readonly language?: string
}

export interface PortalPage {
  /** An absolute URL of the service. */
  readonly returnTo: string
  /** Of the plans that can be chosen. */
  readonly prices: readonly string[]
  /** Of the page, as a BCP 47 tag. */
  readonly language?: string
}

/** What somebody has bought; it may not be paid yet. */
export interface Purchase {
  readonly kind: 'subscription' | 'payment'
  readonly id: string
  readonly customer: string
}

/** What the provider tells of its own accord. */
export interface PaymentEvent {
  /** Unique. */
  readonly id: string
  readonly type: string
  readonly createdAt: Date
  /** What to ask the provider for; null: the event is none that Easel uses. */
  readonly about: { readonly kind: 'subscription' | 'payment'; readonly id: string } | null
  /** Whom it concerns, as far as the event says so. */
  readonly customer: string | null
  /** Without what could be secret; for operators. */
  readonly body: unknown
  /** Why it cannot be used, or not all of it, though the provider has signed it; for operators. */
  readonly problem?: string
}

export interface Customer {
  readonly id: string
  readonly email: string | null
  /** The account that it was made for by `createCustomer`; null: somebody else made it. */
  readonly accountId: string | null
}

export interface PaidSubscription {
  readonly id: string
  readonly customer: Customer
  readonly price: string
  /**
   * - `active`: paid, or on trial
   * - `pending`: the money for the period that runs is on its way, as that of a bank debit is for days
   * - `past_due`: the provider goes on trying to collect the money
   * - `paused`: nothing is collected, nothing is to be given
   * - `unpaid`: not paid at all, or the provider gave up
   * - `ended`
   */
  readonly status: 'active' | 'pending' | 'past_due' | 'paused' | 'unpaid' | 'ended'
  /** Periods are counted from here. */
  readonly startedAt: Date
  /** Until when it is paid; never after `endsAt`. */
  readonly paidUntil: Date
  /** When it ends or has ended; null: it renews. */
  readonly endsAt: Date | null
  /** A change of price that the provider has scheduled. Left out: there is none, or the provider does not tell. */
  readonly next?: { readonly price: string; readonly startsAt: Date }
  /** Its price was changed and is not paid yet: the price and the start that were known before count until it is. */
  readonly changeIsUnpaid?: boolean
  /** Money came for it after it had ended. */
  readonly isPaidLate?: boolean
}

/** Money that was taken once: for a credit pack, or for a period of a subscription. */
export interface Payment {
  readonly id: string
  readonly customer: Customer | null
  /** Whether the money is there; false: not yet, or never. */
  readonly isPaid: boolean
  /** The money is on its way, as that of a bank debit is for days. */
  readonly isPending?: boolean
  readonly paidAt: Date | null
  /** In the smallest unit of the currency. 0 after a coupon for all of it. */
  readonly amount: number
  readonly currency: string
  /** Of `amount`, how much went back: refunds, and disputes unless they were won. */
  readonly returned: number
  /** Null: a payment that Easel did not ask for. */
  readonly of:
    | { readonly pack: string; readonly credits: number; readonly accountId: string }
    | { readonly subscription: string; readonly periodStart: Date }
    | null
}
