import type { Page, PageRequest } from '../../lib/page.js'
import type { ApiKeyKind } from './account.js'

export interface LedgerEntry {
  readonly kind: 'grant' | 'charge' | 'refund'
  /** In credits, like the balance right after it. */
  readonly delta: number
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
/** How much of a prompt tells it from others. */
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
  /** SPENDING_DAYS of them, oldest first: credits of what was submitted that day, without those given back. */
  days(accountId: string): Promise<DaySpending[]>
}
