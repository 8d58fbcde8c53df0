/** Credits of any account, as operators give and correct them. */
import type { Page, PageRequest } from '../../lib/page.js'
import type { LedgerEntry } from '../accounts/ledger.js'
import { AppError, invalidParameter } from '../errors.js'
import { type AccountStores, accountDeleted, requireAccount } from './accounts.js'
import type { Acting } from './acting.js'

export type GrantOutcome =
  | { readonly outcome: 'granted' | 'granted_before'; readonly balance: number }
  | { readonly outcome: 'too_many' }
  | { readonly outcome: 'user_deleted' }
  /** The reference is that of another grant, of this amount to this user. */
  | { readonly outcome: 'ref_taken'; readonly amount: number; readonly username: string }

export type AdjustOutcome =
  | { readonly outcome: 'adjusted'; readonly delta: number; readonly balance: number }
  | { readonly outcome: 'nothing_to_take'; readonly balance: number }
  /** The reference is that of an entry of this account. */
  | { readonly outcome: 'adjusted_before'; readonly balance: number }
  | { readonly outcome: 'too_many' }
  | { readonly outcome: 'user_deleted' }

/** With the operator's reference. */
export type ReferencedEntry = LedgerEntry & { readonly ref: string | null }

export interface OperatorCredits {
  /** The same reference grants once: a repeat of the same amount to the same user changes nothing, any other is refused. */
  grant(
    accountId: string,
    amount: number,
    reason: { readonly note?: string | undefined; readonly ref?: string | undefined },
  ): Promise<GrantOutcome>
  /** Down to 0, or below it with `belowZero`. The same reference corrects once. */
  adjust(
    accountId: string,
    amount: number,
    how: { readonly note: string; readonly belowZero: boolean; readonly ref?: string | undefined },
  ): Promise<AdjustOutcome>
  /** Oldest first. */
  history(accountId: string): Promise<readonly ReferencedEntry[]>
  /** Newest first. */
  entries(accountId: string, page: PageRequest): Promise<Page<ReferencedEntry>>
}

export type CreditStores = AccountStores & { readonly credits: OperatorCredits }

/** More credits at once than this are likely a slip: whoever gives them confirms it. */
export const LARGE_GRANT = 1_000_000
export const MAX_CREDITS = Number.MAX_SAFE_INTEGER

/** @throws not_found, invalid_request */
export async function grantCredits(
  acting: Acting<CreditStores>,
  name: string,
  amount: number,
  given: { readonly note?: string | undefined; readonly ref?: string | undefined },
) {
  const { id, username } = await requireAccount(acting.stores, name)
  const granted = await acting.recorded(
    ({ credits }) => credits.grant(id, amount, given),
    ({ outcome }) => (outcome === 'granted' ? [`granted ${counted(amount)}`, username] : undefined),
  )
  if (granted.outcome === 'user_deleted') throw accountDeleted(username)
  if (granted.outcome === 'too_many')
    throw new AppError(
      'invalid_request',
      `User "${username}" would hold more than ${MAX_CREDITS} credits: grant fewer.`,
    )
  if (granted.outcome === 'ref_taken')
    throw invalidParameter(
      'ref',
      `"${given.ref}" is the reference of ${counted(granted.amount)} granted to ${granted.username} before, so nothing was granted: give another ref.`,
    )
  return { username, credits: granted.balance, granted: granted.outcome === 'granted' }
}

/** `adjusted`: by how much; 0: it was corrected with this reference before. @throws not_found, invalid_request */
export async function adjustCredits(
  acting: Acting<CreditStores>,
  name: string,
  amount: number,
  how: { readonly note: string; readonly belowZero: boolean; readonly ref?: string | undefined },
) {
  const { id, username } = await requireAccount(acting.stores, name)
  const done = await acting.recorded(
    ({ credits }) => credits.adjust(id, amount, how),
    (it) => (it.outcome === 'adjusted' ? [`corrected the credits by ${it.delta}`, username] : undefined),
  )
  if (done.outcome === 'user_deleted') throw accountDeleted(username)
  if (done.outcome === 'too_many')
    throw new AppError(
      'invalid_request',
      `User "${username}" would hold more than ${MAX_CREDITS} credits, or owe as many: correct by fewer.`,
    )
  if (done.outcome === 'nothing_to_take')
    throw invalidParameter(
      'below_zero',
      `User "${username}" holds ${done.balance} credits, so nothing was taken: below_zero lets the balance fall below 0.`,
    )
  return { username, credits: done.balance, adjusted: done.outcome === 'adjusted' ? done.delta : 0 }
}

const counted = (credits: number) => `${credits} credit${credits === 1 ? '' : 's'}`
