import { eq } from 'drizzle-orm'
import { type Database, violatedConstraint } from './client.js'
import { creditLedger } from './schema.js'

export type GrantOutcome =
  | { readonly outcome: 'granted' | 'granted_before'; readonly balance: number }
  | { readonly outcome: 'too_many' | 'user_deleted' }

// The balance moves only in the statement that writes the ledger's row.
const GRANT = `
  WITH paid AS (
    UPDATE users SET credits = credits + $2::bigint WHERE id = $1::uuid AND deleted_at IS NULL RETURNING credits
  )
  INSERT INTO credit_ledger (user_id, kind, delta, balance, note, ref)
  SELECT $1::uuid, 'grant', $2::bigint, paid.credits, $3::text, $4::text FROM paid
  RETURNING balance`

export const operatorCreditStore = ({ orm, pool }: Database) => ({
  /** The same reference grants once: a repeat changes nothing. */
  async grant(
    userId: string,
    amount: number,
    { note, ref }: { readonly note: string | undefined; readonly ref: string | undefined },
  ): Promise<GrantOutcome> {
    try {
      const { rows } = await pool.query<{ balance: number }>(GRANT, [userId, amount, note ?? null, ref ?? null])
      return rows[0] ? { outcome: 'granted', balance: rows[0].balance } : { outcome: 'user_deleted' }
    } catch (error) {
      const constraint = violatedConstraint(error)
      if (constraint === 'users_credits_check') return { outcome: 'too_many' }
      if (constraint !== 'credit_ledger_ref') throw error
      const { rows } = await pool.query<{ credits: number }>('SELECT credits FROM users WHERE id = $1', [userId])
      return { outcome: 'granted_before', balance: rows[0]?.credits ?? 0 }
    }
  },

  /** Oldest first. */
  history: (userId: string) =>
    orm
      .select({
        kind: creditLedger.kind,
        delta: creditLedger.delta,
        balance: creditLedger.balance,
        generationId: creditLedger.generationId,
        note: creditLedger.note,
        ref: creditLedger.ref,
        createdAt: creditLedger.createdAt,
      })
      .from(creditLedger)
      .where(eq(creditLedger.userId, userId))
      .orderBy(creditLedger.id),
})
