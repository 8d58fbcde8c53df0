import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { LedgerStore } from '../../core/accounts/ledger.js'
import { pageOf } from '../../lib/page.js'
import { type Database, withTransaction } from '../client.js'
import { creditLedger as l, users as u } from '../schema/generations.js'
import { violatedConstraint } from '../sql-state.js'
import { columns, insertInto, param, type RowOf, selectAs, setList, statement, typedParams } from '../statement.js'

export const LEDGER_ENTRY = columns(l, 'kind', 'delta', 'balance', 'generationId', 'note', 'createdAt')

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
  /** The reference is that of another grant, of this amount to this user. */
  | { readonly outcome: 'ref_taken'; readonly amount: number; readonly username: string }

const GRANTED = { ...columns(l, 'userId', 'delta'), ...columns(u, 'username', 'credits') }
const USER = sql`${param('userId')}::uuid`
const AMOUNT = sql`${param('amount')}::bigint`

// One grant of a reference at a time, whoever it is for: the unique index knows it only with its user.
const LOCK_REF = statement('lock_credit_ref')`
  SELECT pg_advisory_xact_lock(hashtextextended(${param('ref')}, 0))`

// Earlier releases gave one reference to several users: a repeat is compared with the user's own grant.
const OF_REF = statement<RowOf<typeof GRANTED>>('grant_of_credit_ref')`
  SELECT ${selectAs(GRANTED)} FROM ${l} JOIN ${u} ON ${u.id} = ${l.userId} WHERE ${l.ref} = ${param('ref')}
   ORDER BY ${l.userId} = ${USER} DESC, ${l.id} LIMIT 1`

// The statement that moves the balance also writes the ledger's row.
const GRANT = statement<{ balance: number }>('grant_credits')`
  WITH paid AS (
    UPDATE ${u} SET ${setList(u, { credits: sql`${u.credits} + ${AMOUNT}` })}
     WHERE ${u.id} = ${USER} AND ${u.deletedAt} IS NULL RETURNING ${u.credits}
  )
  ${insertInto(l, {
    userId: USER,
    kind: 'grant',
    delta: AMOUNT,
    balance: sql`paid.credits`,
    ...typedParams(l, 'note', 'ref'),
  })} FROM paid RETURNING ${l.balance}`

export const operatorCreditStore = (db: Database) => ({
  /** The same reference grants once: a repeat of the same amount to the same user changes nothing, any other is refused. */
  async grant(
    userId: string,
    amount: number,
    reason: { readonly note: string | undefined; readonly ref: string | undefined },
  ): Promise<GrantOutcome> {
    const { ref } = reason
    try {
      return await withTransaction(db, async (_tx, client) => {
        if (ref !== undefined) await LOCK_REF.run(client, { ref })
        const first = ref === undefined ? undefined : await OF_REF.first(client, { ref, userId })
        if (first?.userId === userId && first.delta === amount)
          return { outcome: 'granted_before', balance: first.credits }
        if (first) return { outcome: 'ref_taken', amount: first.delta, username: first.username }
        const granted = await GRANT.first(client, { userId, amount, ...reason })
        return granted ? { outcome: 'granted', balance: granted.balance } : { outcome: 'user_deleted' }
      })
    } catch (error) {
      if (violatedConstraint(error) === 'users_credits_check') return { outcome: 'too_many' }
      throw error
    }
  },

  /** Oldest first. */
  history: (userId: string) =>
    db.orm
      .select({ ...LEDGER_ENTRY, ref: l.ref })
      .from(l)
      .where(eq(l.userId, userId))
      .orderBy(l.id),
})
