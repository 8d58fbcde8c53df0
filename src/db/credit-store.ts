import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { LedgerStore } from '../generation/library/history.js'
import { pageOf } from '../page.js'
import { type Database, violatedConstraint } from './client.js'
import { creditLedger, users } from './schema.js'
import { assign, insertInto, param, pick, statement } from './statement.js'

const ENTRY = pick(creditLedger, 'kind', 'delta', 'balance', 'generationId', 'note', 'createdAt')

/** An account's ledger; the operator's references in it are not the account's to see. */
export const ledgerStore = ({ orm }: Database): LedgerStore => ({
  async entries(accountId, { limit, after }) {
    const before = after?.[0]
    const rows = await orm
      .select({ ...ENTRY, id: creditLedger.id })
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

type GrantOutcome =
  | { readonly outcome: 'granted' | 'granted_before'; readonly balance: number }
  | { readonly outcome: 'too_many' | 'user_deleted' }

const u = alias(users, 'u')
const USER = sql`${param('userId')}::uuid`
const AMOUNT = sql`${param('amount')}::bigint`

// The balance moves only in the statement that writes the ledger's row.
const GRANT = statement<{ balance: number }>('grant_credits')`
  WITH paid AS (
    UPDATE ${users} ${u} SET ${assign(u, { credits: sql`${u.credits} + ${AMOUNT}` })}
     WHERE ${u.id} = ${USER} AND ${u.deletedAt} IS NULL RETURNING ${u.credits}
  )
  ${insertInto(creditLedger, {
    userId: USER,
    kind: 'grant',
    delta: AMOUNT,
    balance: sql`paid.credits`,
    note: sql`${param('note')}::text`,
    ref: sql`${param('ref')}::text`,
  })} FROM paid RETURNING ${creditLedger.balance}`

export const operatorCreditStore = ({ orm, pool }: Database) => ({
  /** The same reference grants once: a repeat changes nothing. */
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
      const [user] = await orm.select(pick(users, 'credits')).from(users).where(eq(users.id, userId))
      return { outcome: 'granted_before', balance: user?.credits ?? 0 }
    }
  },

  /** Oldest first. */
  history: (userId: string) =>
    orm
      .select({ ...ENTRY, ref: creditLedger.ref })
      .from(creditLedger)
      .where(eq(creditLedger.userId, userId))
      .orderBy(creditLedger.id),
})
