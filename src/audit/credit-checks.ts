/** Money: what every user holds follows from the ledger, and the ledger follows from the generations. */
import type { SqlCheck } from './check.js'

/** A generation's entries of one kind; whose they are, as the lowest and highest user. */
const entriesOf = (kind: 'charge' | 'refund') => `
  SELECT generation_id, count(*) AS n, sum(delta) AS total, min(user_id::text) AS low, max(user_id::text) AS high
    FROM credit_ledger WHERE kind = '${kind}' GROUP BY generation_id`

const ANOTHER_USERS = `e.low <> g.user_id::text OR e.high <> g.user_id::text`

/** @param refundFailed whether a failed generation without a refund counts as one */
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
    query: `
      SELECT 'ledger entry ' || id FROM (
        SELECT id, delta, balance, lag(balance, 1, 0::bigint) OVER (PARTITION BY user_id ORDER BY id) AS before
          FROM credit_ledger) l
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
        FULL JOIN (${entriesOf('charge')}) e ON e.generation_id = g.id
       WHERE CASE WHEN g.id IS NULL OR g.metered THEN e.n IS NOT NULL
                  ELSE e.n IS DISTINCT FROM 1 OR e.total <> -g.cost OR ${ANOTHER_USERS} END`,
  },
  {
    name: 'refunded-exactly-once',
    query: `
      SELECT coalesce(g.id, e.generation_id) FROM generations g
        FULL JOIN (${entriesOf('refund')}) e ON e.generation_id = g.id
       WHERE CASE WHEN e.n IS NULL THEN ${refundFailed} AND g.status = 'failed' AND NOT g.metered
                  ELSE g.id IS NULL OR g.metered OR g.status <> 'failed' OR e.n <> 1 OR e.total <> g.cost
                       OR ${ANOTHER_USERS} END`,
  },
]
