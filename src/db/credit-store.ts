import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { LedgerStore } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import { type Database, violatedConstraint } from './client.js'
import { creditLedger as l, users as u } from './schema.js'
import { assign, given, insertInto, param, pick, statement } from './statement.js'

export const LEDGER_ENTRY = pick(l, 'kind', 'delta', 'balance', 'generationId', 'note', 'createdAt')

/** An account's ledger, without the operator's references. */
export const ledgerStore = ({ orm }: Database): LedgerStore => ({
  async entries(accountId, { limit, after: [before] = [] }) {
    const rows = await orm
      .select({ ...LEDGER_ENTRY, id: l.id })
      .from(l)
      .where(and(eq(l.userId, accountId), before === undefined ? undefined : lt(l.id, before)))
      .orderBy(desc(l.id))
      .limit(limit + 1)
    const toEntry = ({ id: _, ...entry }: (typeof rows)[number]) => entry
    return pageOf(rows, limit, toEntry, ({ id }) => [id])
  },
})

type GrantOutcome =
  | { readonly outcome: 'granted' | 'granted_before'; readonly balance: number }
  | { readonly outcome: 'too_many' }
  | { readonly outcome: 'user_deleted' }
  /** The reference is that of another grant to this user, of this amount. */
  | { readonly outcome: 'ref_taken'; readonly amount: number }

const USER = sql`${param('userId')}::uuid`
const AMOUNT = sql`${param('amount')}::bigint`

// The statement that moves the balance also writes the ledger's row.
const GRANT = statement<{ balance: number }>('grant_credits')`
  WITH paid AS (
    UPDATE ${u} SET ${assign(u, { credits: sql`${u.credits} + ${AMOUNT}` })}
     WHERE ${u.id} = ${USER} AND ${u.deletedAt} IS NULL RETURNING ${u.credits}
  )
  ${insertInto(l, {
    userId: USER,
    kind: 'grant',
    delta: AMOUNT,
    balance: sql`paid.credits`,
    ...given(l, 'note', 'ref'),
  })} FROM paid RETURNING ${l.balance}`

export const operatorCreditStore = ({ orm, pool }: Database) => ({
  /** The same reference grants once: a repeat of the same amount to the same user changes nothing. */
  async grant(
    userId: string,
    amount: number,
    reason: { readonly note: string | undefined; readonly ref: string | undefined },
  ): Promise<GrantOutcome> {
    try {
      const granted = await GRANT.first(pool, { userId, amount, ...reason })
      return granted ? { outcome: 'granted', balance: granted.balance } : { outcome: 'user_deleted' }
    } catch (error) {
      const constraint = violatedConstraint(error)
      if (constraint === 'users_credits_check') return { outcome: 'too_many' }
      if (constraint !== 'credit_ledger_ref') throw error
      const [first] = await orm
        .select({ amount: l.delta, ...pick(u, 'credits') })
        .from(l)
        .innerJoin(u, eq(u.id, l.userId))
        .where(and(eq(l.userId, userId), eq(l.ref, reason.ref as string)))
      if (!first) throw error
      if (first.amount === amount) return { outcome: 'granted_before', balance: first.credits }
      return { outcome: 'ref_taken', amount: first.amount }
    }
  },

  /** Oldest first. */
  history: (userId: string) =>
    orm
      .select({ ...LEDGER_ENTRY, ref: l.ref })
      .from(l)
      .where(eq(l.userId, userId))
      .orderBy(l.id),
})
