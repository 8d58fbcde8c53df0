/** Credits that move without a generation: the statement that changes the balance also writes the ledger's row. */
import { sql } from 'drizzle-orm'
import type { LedgerKind } from '../../core/accounts/ledger.js'
import { users as u } from '../schema/accounts.js'
import { creditLedger as l } from '../schema/ledger.js'
import { insertInto, param, type Queryable, setList, statement, typedParams } from '../statement.js'

const DELTA = sql`${param('delta')}::bigint`
/**
 * Of `held`, the row as it was before: never below zero, and never more than the balance, before or after. What pays a debt
 * does not expire, and a release that knows of no credits that expire may have spent some.
 */
const EXPIRING_AFTER = sql`least(
  greatest(least(held.expiring_credits, greatest(held.credits, 0)) + ${param('expiring')}::bigint, 0),
  greatest(held.credits + ${DELTA}, 0))`

const MOVE = statement<{ balance: number }>('move_credits')`
  WITH held AS (
    SELECT * FROM ${u} WHERE ${u.id} = ${param('userId')}::uuid AND ${u.deletedAt} IS NULL FOR NO KEY UPDATE
  ), moved AS (
    UPDATE ${u} SET ${setList(u, { credits: sql`held.credits + ${DELTA}`, expiringCredits: EXPIRING_AFTER })} FROM held
     WHERE ${u.id} = held.id
    RETURNING ${u.id}, ${u.credits}, ${u.expiringCredits}, ${u.expiringCredits} - held.expiring_credits AS expired
  )
  ${insertInto(l, {
    userId: sql`moved.id`,
    ...typedParams(l, 'kind', 'delta', 'note', 'ref'),
    balance: sql`moved.credits`,
    expiringDelta: sql`moved.expired`,
    expiringBalance: sql`moved.expiring_credits`,
  })} FROM moved RETURNING ${l.balance}`

interface Move {
  readonly userId: string
  readonly kind: Exclude<LedgerKind, 'charge' | 'refund'>
  readonly delta: number
  /** How many of them expire at the end of a period; of credits that are taken back, those that do not come first. */
  readonly expiring?: number
  readonly note?: string | undefined
  /** Unique in the account's ledger. */
  readonly ref?: string | undefined
}

/**
 * Resolves to the balance; undefined: the account was deleted.
 * @throws a violation of `users_credits_check` above MAX_SAFE_INTEGER, of `credit_ledger_ref` for a known `ref`
 */
export const moveCredits = async (
  on: Queryable,
  { expiring = 0, note, ref, ...move }: Move,
): Promise<number | undefined> => (await MOVE.first(on, { ...move, expiring, note, ref }))?.balance
