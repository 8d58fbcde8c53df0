/** Money: what every user holds follows from the ledger, and the ledger follows from the generations. */
import { CANCELED } from '../generation/failure-reason.js'
import type { Slice, SqlCheck } from './check.js'

const repeated = ({ ledger }: Slice, kind: 'charge' | 'refund') => `
  SELECT e.generation_id FROM ${ledger} e
    JOIN credit_ledger o ON o.generation_id = e.generation_id AND o.kind = e.kind AND o.id <> e.id
   WHERE e.kind = '${kind}'`

/** Also the longer reasons begin so. */
const WAS_CANCELED = `g.error LIKE '${CANCELED.replace('.', '')}%'`

/** @param refundFailed whether a failed generation without a refund counts as one, as a canceled one always does */
export const creditChecks = (refundFailed: boolean): readonly SqlCheck[] => [
  {
    // Which is the balance in the last entry, since those add up.
    name: 'balance-is-sum-of-ledger',
    query: `
      SELECT u.username FROM users u
       WHERE u.credits <> coalesce(
         (SELECT l.balance FROM credit_ledger l WHERE l.user_id = u.id ORDER BY l.id DESC LIMIT 1), 0)`,
  },
  {
    name: 'ledger-balances-add-up',
    query: ({ ledger }) => `
      SELECT 'ledger entry ' || e.id FROM ${ledger} e
       WHERE e.balance <> e.delta + coalesce(
         (SELECT l.balance FROM credit_ledger l WHERE l.user_id = e.user_id AND l.id < e.id ORDER BY l.id DESC LIMIT 1),
         0)`,
  },
  {
    name: 'no-negative-balance',
    query: ({ ledger }) => `
      SELECT 'ledger entry ' || e.id FROM ${ledger} e WHERE e.balance < 0
      UNION ALL SELECT username FROM users WHERE credits < 0`,
  },
  {
    name: 'charged-exactly-once',
    query: (slice) => `
      SELECT g.id FROM ${slice.generations} g
       WHERE NOT g.metered
         AND NOT EXISTS (SELECT FROM credit_ledger e WHERE e.generation_id = g.id AND e.kind = 'charge')
      UNION SELECT e.generation_id FROM ${slice.ledger} e LEFT JOIN generations g ON g.id = e.generation_id
       WHERE e.kind = 'charge' AND (g.id IS NULL OR g.metered OR e.delta <> -g.cost OR e.user_id <> g.user_id)
      UNION ${repeated(slice, 'charge')}`,
  },
  {
    name: 'refunded-exactly-once',
    query: (slice) => `
      SELECT g.id FROM ${slice.generations} g
        LEFT JOIN credit_ledger e ON e.generation_id = g.id AND e.kind = 'refund'
       WHERE CASE WHEN e.id IS NULL THEN g.status = 'failed' AND NOT g.metered AND (${refundFailed} OR ${WAS_CANCELED})
                  ELSE g.status <> 'failed' END
      UNION SELECT e.generation_id FROM ${slice.ledger} e LEFT JOIN generations g ON g.id = e.generation_id
       WHERE e.kind = 'refund'
         AND (g.id IS NULL OR g.metered OR g.status <> 'failed' OR e.delta <> g.cost OR e.user_id <> g.user_id)
      UNION ${repeated(slice, 'refund')}`,
  },
]
