import type { Page, PageRequest } from '../../lib/page.js'

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
