import type { AskedKind, Problem } from '../billing/ports.js'

/** A payment, and what it brought. */
export interface ListedPayment {
  readonly id: string
  /** Whose it is; null: nobody's that is known. */
  readonly username: string | null
  /** In the smallest unit of the currency; `returned` of it went back. */
  readonly amount: number
  readonly returned: number
  readonly currency: string
  readonly paidAt: Date | null
  /** What was paid for: a pack, or a period of a subscription; neither: nothing that Easel asked for. */
  readonly pack: string | null
  readonly subscription: string | null
  readonly credits: number
  readonly takenBack: number
}

/** What could not be applied, or not be asked for. */
export interface UnmatchedPayment {
  readonly kind: AskedKind
  readonly id: string
  readonly customer: string | null
  /** As the customer gave it to the provider. */
  readonly email: string | null
  readonly createdAt: Date
  /** Null: the provider cannot be asked. */
  readonly problem: Problem | null
  /** In a row. */
  readonly failures: number
  /** Of the last one, in the provider's words. */
  readonly failure: string | null
  readonly failingSince: Date | null
  /** Of a payment, in the smallest unit of the currency. */
  readonly amount: number | null
  readonly currency: string | null
  /** Of a subscription. */
  readonly price: string | null
}

/** Each of the changes makes due what it concerns; the servers do the rest. */
export interface OperatorPayments {
  /** Newest first. */
  list(limit: number): Promise<readonly ListedPayment[]>
  /** Oldest first. */
  unmatched(limit: number): Promise<readonly UnmatchedPayment[]>
  /** Says whose a customer is, once. */
  match(customer: string, accountId: string): Promise<'matched' | 'matched before' | 'unknown'>
  /** Asks again at once, for all or for one. Resolves to how many. */
  retry(id?: string): Promise<number>
  /** Takes one from the list: nothing more is to be done. False: it is not in it. */
  dismiss(id: string): Promise<boolean>
}
