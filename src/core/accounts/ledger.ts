import type { Page, PageRequest } from '../../lib/page.js'
import type { ApiKeyKind } from './account.js'

/**
 * `grant`: given by a plan or an operator; `purchase`: bought; `adjustment`: corrected by an operator, or taken back;
 * `expire`: what a plan granted and its period left.
 */
export type LedgerKind = 'grant' | 'charge' | 'refund' | 'adjustment' | 'expire' | 'purchase'

export interface LedgerEntry {
  readonly kind: LedgerKind
  /** In credits; negative where the account has fewer than before. */
  readonly delta: number
  /** The account's credits right after it. */
  readonly balance: number
  /** How many of `delta` are credits that expire at the end of a period. */
  readonly expiringDelta: number
  /** Of charges and refunds; null for the other kinds, which may have a note. */
  readonly generationId: string | null
  readonly note: string | null
  readonly createdAt: Date
}

export interface LedgerStore {
  entries(accountId: string, page: PageRequest): Promise<Page<LedgerEntry>>
}

/** Today and the days before it, in UTC. */
export const SPENDING_DAYS = 30
/** How many characters of a prompt are shown. */
export const PROMPT_BEGINNING = 120

/** An entry, and the generation that it is about; all of it null unless it is a charge or a refund. */
export interface SpendingEntry extends LedgerEntry {
  /** The first PROMPT_BEGINNING characters. */
  readonly prompt: string | null
  /** Why the generation failed. */
  readonly error: string | null
  /** What moved it, where no generation did. */
  readonly source: 'plan' | 'payment' | 'operator'
  readonly keyKind: ApiKeyKind | null
  readonly keyName: string | null
  readonly keyHint: string | null
  /** Its first image that was not removed. */
  readonly slug: string | null
}

export interface DaySpending {
  /** Such as `2026-11-20`. */
  readonly day: string
  readonly spent: number
}

export interface SpendingStore {
  /** Newest first. */
  entries(accountId: string, page: PageRequest): Promise<Page<SpendingEntry>>
  /** Of SPENDING_DAYS, oldest first: what the generations submitted that day cost, less their refunds. */
  days(accountId: string): Promise<DaySpending[]>
}
