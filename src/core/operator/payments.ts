import { isStorable } from '../../lib/text.js'
import type { AskedKind, Problem } from '../billing/ports.js'
import { AppError } from '../errors.js'
import { type AccountStores, requireAccount } from './accounts.js'
import type { Acting } from './acting.js'

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

/** What went wrong between the service and the provider, and was not repaired by itself. */
export interface ListedFault {
  /** Says what to do. */
  readonly sentence: string
  readonly times: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** Each of the changes makes due what it concerns; the servers do the rest. */
export interface OperatorPayments {
  /** Newest first. */
  list(limit: number): Promise<readonly ListedPayment[]>
  /** Oldest first. */
  unmatched(limit: number): Promise<readonly UnmatchedPayment[]>
  /** Those of the last 30 days, the one met last first. */
  faults(limit: number): Promise<readonly ListedFault[]>
  /** Says whose a customer is, once. */
  match(customer: string, accountId: string): Promise<'matched' | 'matched before' | 'unknown'>
  /** Asks again at once, for all or for one. Resolves to how many. */
  retry(id?: string): Promise<number>
  /** Takes one from the list: nothing more is to be done. False: it is not in it. */
  dismiss(id: string): Promise<boolean>
}

export type PaymentStores = AccountStores & { readonly payments: OperatorPayments }

/** Says whose a customer is. Resolves to the account's name. @throws not_found, invalid_request */
export async function matchCustomer(acting: Acting<PaymentStores>, customer: string, name: string): Promise<string> {
  const { id, username } = await requireAccount(acting.stores, name)
  const outcome = await acting.recorded(
    async ({ payments }) => (isStorable(customer) ? payments.match(customer, id) : 'unknown'),
    (it) => (it === 'matched' ? [`matched customer ${customer}`, username] : undefined),
  )
  if (outcome === 'unknown')
    throw new AppError('not_found', `No customer "${customer}".`, { parameter: 'unmatched_id' })
  if (outcome === 'matched before')
    throw new AppError('invalid_request', `Customer "${customer}" has an account already, which it keeps.`)
  return username
}

/** For all that is unmatched, or for one. Resolves to how many are asked for again. @throws not_found */
export async function retryPayments(acting: Acting<PaymentStores>, id?: string): Promise<number> {
  const due = await acting.recorded(
    async ({ payments }) => (isStorable(id ?? '') ? payments.retry(id) : 0),
    (count) => (count > 0 ? ['asked for payments again', id ?? ''] : undefined),
  )
  if (due === 0 && id !== undefined) throw notUnmatched(id)
  return due
}

/** @throws not_found */
export async function dismissPayment(acting: Acting<PaymentStores>, id: string): Promise<void> {
  const isDismissed = await acting.recorded(
    async ({ payments }) => isStorable(id) && payments.dismiss(id),
    (done) => (done ? ['dismissed payment', id] : undefined),
  )
  if (!isDismissed) throw notUnmatched(id)
}

const notUnmatched = (id: string) =>
  new AppError('not_found', `"${id}" is not unmatched.`, { parameter: 'unmatched_id' })
