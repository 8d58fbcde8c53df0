/** Money: what every user holds follows from the ledger, and the ledger follows from the generations. */
import { CANCELED } from '../generation/failure.js'
import type { SqlCheck } from './check.js'

const entries = (kind: 'charge' | 'refund') => `SELECT * FROM credit_ledger WHERE kind = '${kind}'`
const repeated = (kind: 'charge' | 'refund') =>
  `SELECT generation_id FROM credit_ledger WHERE kind = '${kind}' GROUP BY generation_id HAVING count(*) > 1`

/** Also the longer reasons begin so. */
const WAS_CANCELED = `g.error LIKE '${CANCELED.replace('.', '')}%'`

/** @param refundFailed whether a failed generation without a refund counts as one, as a canceled one always does */
export const creditChecks = (refundFailed: boolean): readonly SqlCheck[] => [
  {
    name: 'balance-is-sum-of-ledger',
    query: `
      SELECT u.username FROM users u
        LEFT JOIN (SELECT user_id, sum(delta) AS total FROM credit_ledger GROUP BY user_id) l ON l.user_id = u.id
       WHERE u.credits <> coalesce(l.total, 0)`,
  },
  {
    name: 'ledger-balances-add-up',
    // Sorting the rows is much faster than fetching them one by one in the order of an index, hence MATERIALIZED.
    query: `
      WITH e AS MATERIALIZED (SELECT id, user_id, delta, balance FROM credit_ledger)
      SELECT 'ledger entry ' || id FROM (
        SELECT id, delta, balance, lag(balance, 1, 0::bigint) OVER (PARTITION BY user_id ORDER BY id) AS before
          FROM e) l
       WHERE balance <> before + delta`,
  },
  {
    name: 'no-negative-balance',
    query: `
      SELECT username FROM users WHERE credits < 0
      UNION ALL SELECT 'ledger entry ' || id FROM credit_ledger WHERE balance < 0`,
  },
  {
    name: 'charged-exactly-once',
    query: `
      SELECT coalesce(g.id, e.generation_id) FROM generations g
        FULL JOIN (${entries('charge')}) e ON e.generation_id = g.id
       WHERE CASE WHEN g.id IS NULL OR g.metered THEN e.id IS NOT NULL
                  ELSE e.id IS NULL OR e.delta <> -g.cost OR e.user_id <> g.user_id END
      UNION ${repeated('charge')}`,
  },
  {
    name: 'refunded-exactly-once',
    query: `
      SELECT coalesce(g.id, e.generation_id) FROM generations g
        FULL JOIN (${entries('refund')}) e ON e.generation_id = g.id
       WHERE CASE WHEN e.id IS NULL THEN g.status = 'failed' AND NOT g.metered AND (${refundFailed} OR ${WAS_CANCELED})
                  ELSE g.id IS NULL OR g.metered OR g.status <> 'failed' OR e.delta <> g.cost
                       OR e.user_id <> g.user_id END
      UNION ${repeated('refund')}`,
  },
]
