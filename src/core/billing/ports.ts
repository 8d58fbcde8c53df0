import type { PaidSubscription, Payment, PaymentEvent, Purchase } from './payment-provider.js'

/** What the provider is asked for; `cancellation`: all subscriptions of the customer of this ID are to end. */
export type AskedKind = 'subscription' | 'payment' | 'cancellation'

/** Why what the provider answered could not be applied. core/billing/problems.ts has a sentence for each. */
export type Problem =
  | 'no_account'
  | 'account_deleted'
  | 'no_plan'
  | 'superfluous'
  | 'paid_late'
  | 'not_asked_for'
  | 'gone'

/** One of what is due, claimed for a while by one process. */
export interface Asked {
  readonly kind: AskedKind
  readonly id: string
  /** Raised by each claim: what a later one has found is not overwritten by an earlier one's answer. */
  readonly version: number
  /** The last event that was known of it when it was claimed. */
  readonly lastEvent: number
  /** How often in a row it could not be asked for. */
  readonly failures: number
  /** When it was first heard of. */
  readonly createdAt: Date
}

/** What a claimed one was found to be; of a subscription and a payment undefined: the provider has none of this ID. */
export type Answer =
  | { readonly kind: 'subscription'; readonly found: PaidSubscription | undefined }
  | { readonly kind: 'payment'; readonly found: Payment | undefined }
  | { readonly kind: 'cancellation' }

/** `stale`: another process has asked since. */
export type Applied = { readonly problem: Problem | null } | 'stale'

/** Where events are kept. */
export interface PaymentEvents {
  /** Keeps an event, and makes due what it is about. A repeat changes nothing. */
  store(event: PaymentEvent): Promise<'stored' | 'repeated'>
}

/** What went wrong between the service and the provider, and only an operator can mend. */
export interface PaymentFault {
  /** The same for what is the same fault. */
  readonly key: string
  /** For operators. */
  readonly sentence: string
}

/** Where faults are kept for operators, for a while after they were met last. */
export interface PaymentFaults {
  note(fault: PaymentFault): Promise<void>
}

/** What is to be asked, and what becomes of the answers. All of it is in Postgres. */
export interface PaymentQueue {
  /** What has been due for longest, for so many seconds; undefined: nothing is due. */
  claim(seconds: number): Promise<Asked | undefined>
  /** Makes due what of this nothing is known of yet, of customers that accounts have. Resolves to how many. */
  add(purchases: readonly Purchase[]): Promise<number>
  /** The prices of plans, and that which this subscription had. */
  planPrices(subscription: string): Promise<readonly string[]>
  /** Does in one transaction what follows from an answer, unless there is a later one. */
  apply(asked: Asked, answer: Answer): Promise<Applied>
  /** It could not be asked for, or the answer not be applied: it is asked for again after so long. */
  failed(asked: Asked, failure: string, retryInSeconds: number): Promise<void>
  /** Gives the claim back, because this process stops. */
  release(asked: Asked): Promise<void>
  /** Makes due what could not be applied and may be now: there is an account or a plan that it lacked, or the other subscription
   * is another one now. */
  retryProblems(): Promise<number>
  /** Deletes a page of old events and faults. Resolves to how many. */
  clean(): Promise<number>
}
