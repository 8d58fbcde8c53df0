import { and, desc, eq, lt } from 'drizzle-orm'
import type { LedgerStore } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import type { Database } from './client.js'
import { creditLedger } from './schema.js'

/** An account's ledger; the operator's references in it are not the account's to see. */
export const ledgerStore = ({ orm }: Database): LedgerStore => ({
  async entries(accountId, { limit, after }) {
    const before = after?.[0]
    const rows = await orm
      .select({
        id: creditLedger.id,
        kind: creditLedger.kind,
        delta: creditLedger.delta,
        balance: creditLedger.balance,
        generationId: creditLedger.generationId,
        note: creditLedger.note,
        createdAt: creditLedger.createdAt,
      })
      .from(creditLedger)
      .where(and(eq(creditLedger.userId, accountId), before === undefined ? undefined : lt(creditLedger.id, before)))
      .orderBy(desc(creditLedger.id))
      .limit(limit + 1)
    return pageOf(
      rows,
      limit,
      ({ id: _, ...entry }) => entry,
      ({ id }) => [id],
    )
  },
})
