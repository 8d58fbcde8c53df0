import type { Page, PageRequest } from '../../lib/page.js'
import type { ApiKeyKind } from './account.js'

export interface LedgerEntry {
  readonly kind: 'grant' | 'charge' | 'refund'
  /** In credits; negative for a charge. */
  readonly delta: number
  /** The account's credits right after it. */
  readonly balance: number
  /** Null for a grant, which may have a note. */
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

/** An entry, and the generation that it is about; all of it null for a grant. */
export interface SpendingEntry extends LedgerEntry {
  /** The first PROMPT_BEGINNING characters. */
  readonly prompt: string | null
  /** Why the generation failed. */
  readonly error: string | null
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
