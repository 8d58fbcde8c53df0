/** The checks of Postgres's rows. */
import { CANCELED, IMAGE_REFUSED } from '../../core/generations/failure-reason.js'
import { MAX_SEED, SIZE_STEP } from '../../core/generations/generation.js'
import { MAX_DEATHS, MAX_TRIES } from '../../core/generations/run/times.js'
import { FAILING } from '../../core/webhooks/webhook.js'
import { NEWER_THAN_MOVED, NOT_ENDED, type Slice } from './audit-database.js'

/** Over everything, or over one slice: one row per violation, with one column that names it. */
type Query = string | ((slice: Slice) => string)

const repeated = ({ ledger, tables }: Slice, kind: 'charge' | 'refund') => `
  SELECT e.generation_id FROM ${ledger} e
    JOIN ${tables.ledger} o ON o.generation_id = e.generation_id AND o.kind = e.kind AND o.id <> e.id
   WHERE e.kind = '${kind}'`

/** Longer reasons begin with `CANCELED`. */
const WAS_CANCELED = `g.error LIKE '${CANCELED.replace('.', '')}%'`

/** IMAGE_MODERATION_REFUND, which may have changed since, says whether these are given back. */
const WAS_REFUSED = `g.error = '${IMAGE_REFUSED}'`

/** Of a ledger entry `e`. */
const IS_NOT_ARCHIVED = 'NOT EXISTS (SELECT FROM archived a WHERE a.name = e.generation_id)'

const ACTIVE_SQL = `g.status IN ('queued', 'processing')`
/** A definition may scale its images, and the server rounds each side by a step at most, scaled. */
const OUT_OF_SHAPE = `abs(i.width::bigint * g.height - i.height::bigint * g.width)
                      > ${SIZE_STEP} * greatest(g.width + g.height, i.width + i.height)`
/** The reconciler passes every half second: what is this late was missed. */
const LATE = `interval '30 seconds'`
/** now() is a statement's start, which may be slightly before the start of the statement whose row it sees. */
const CLOCK = `interval '1 second'`
/** The time limit of statements (db/client.ts). A violation in the history is never repaired, so it must be certain. */
const LONGEST_STATEMENT = `interval '5 seconds'`
/** What PAYMENT_GRACE_DAYS may be; it may have changed since. */
const GRACES = `ARRAY(SELECT make_interval(days => n) FROM generate_series(0, 30) n)`
/** Servers poll every two seconds. */
const OVERDUE = `interval '5 minutes'`

/**
 * Of the newest entry that is `which`; 0: there is none. Only where `table` does not surely have that one are all months looked
 * through, for to do so for each entry would take long.
 */
const last = (column: 'balance' | 'expiring_balance', which: string, table: string, isSure: string) => {
  const newestOf = (from: string, and: string) => `(
    SELECT l.${column} FROM ${from} l WHERE ${which} AND l.${column} IS NOT NULL ${and} ORDER BY l.id DESC LIMIT 1)`
  return `coalesce(${newestOf(table, `AND ${isSure}`)}, ${newestOf('all_credit_ledger', '')}, 0)`
}
const lastOfUser = (column: 'balance' | 'expiring_balance') =>
  last(column, 'l.user_id = u.id', 'credit_ledger', NEWER_THAN_MOVED)
const lastBefore = (column: 'balance' | 'expiring_balance', { near, isNearest }: Slice['tables']) =>
  last(column, 'l.user_id = e.user_id AND l.id < e.id', near, isNearest)

/** @param refundFailed whether a failed generation needs a refund, as a canceled one always does */
export const tableChecks = (refundFailed: boolean): Readonly<Record<string, Query>> => ({
  // Money: every user's balance follows from the ledger, and the ledger follows from the generations.

  // The last entry has the sum, because the balances add up (next check).
  'balance-is-sum-of-ledger': `
    SELECT u.username FROM users u
     WHERE u.credits <> ${lastOfUser('balance')}`,
  'ledger-balances-add-up': ({ ledger, tables }) => `
    SELECT 'ledger entry ' || e.id FROM ${ledger} e
     WHERE e.balance <> e.delta + ${lastBefore('balance', tables)}`,
  // Only an operator's correction, or a payment that was taken back, may leave an account with less than nothing.
  'no-negative-balance': ({ ledger }) => `
    SELECT 'ledger entry ' || e.id FROM ${ledger} e
     WHERE e.balance < 0 AND e.delta < 0 AND e.kind <> 'adjustment'
    UNION ALL SELECT u.username FROM users u
     WHERE u.credits < 0
       AND NOT EXISTS (SELECT FROM credit_ledger l WHERE l.user_id = u.id AND l.kind = 'adjustment')`,
  // Entries of a release that knows of no credits that expire have no such balance.
  'expiring-credits-add-up': ({ ledger, tables }) => `
    SELECT 'ledger entry ' || e.id FROM ${ledger} e
     WHERE e.expiring_balance < 0 OR e.expiring_balance <> e.expiring_delta + ${lastBefore('expiring_balance', tables)}
    UNION ALL SELECT u.username FROM users u
     WHERE u.expiring_credits <> ${lastOfUser('expiring_balance')}`,
  // The reference names the period, and what was granted in it so far.
  'periods-are-granted-once': ({ ledger }) => `
    SELECT 'ledger entry ' || e.id FROM ${ledger} e
     WHERE e.ref IS NOT NULL AND EXISTS (
       SELECT FROM credit_ledger o WHERE o.user_id = e.user_id AND o.ref = e.ref AND o.id <> e.id)`,
  'periods-are-settled-in-time': `
    SELECT u.username FROM subscriptions s JOIN users u ON u.id = s.user_id
     WHERE s.check_at < now() - ${OVERDUE} AND u.deleted_at IS NULL`,
  // The ledger has one purchase for each payment, and took back as much as the payment says.
  'payments-are-granted-once': `
    SELECT m.id FROM payments m LEFT JOIN LATERAL (
      SELECT sum(l.delta) FILTER (WHERE l.ref = 'payment:' || m.id) AS bought,
             -sum(l.delta) FILTER (WHERE l.ref <> 'payment:' || m.id) AS taken_back
        FROM credit_ledger l WHERE l.user_id = m.user_id
         AND (l.ref = 'payment:' || m.id OR starts_with(l.ref, 'payment:' || m.id || ':'))) l ON true
     WHERE m.taken_back NOT BETWEEN 0 AND m.credits OR m.taken_back <> coalesce(l.taken_back, 0)
        OR m.pack IS NOT NULL AND m.credits <> coalesce(l.bought, 0)
        OR m.pack IS NULL AND l.bought IS NOT NULL`,
  'purchases-belong-to-payments': ({ ledger }) => `
    SELECT 'ledger entry ' || e.id FROM ${ledger} e
     WHERE e.kind = 'purchase' AND NOT EXISTS (
       SELECT FROM payments m WHERE e.ref = 'payment:' || m.id AND m.user_id = e.user_id AND m.credits = e.delta)`,
  // What is paid until a time may be used for the days of grace beyond it, or until the end that was agreed.
  'paid-subscriptions-end-as-paid': `
    SELECT u.username FROM subscriptions s JOIN users u ON u.id = s.user_id
     WHERE s.paid_until IS NOT NULL AND u.deleted_at IS NULL
       AND NOT EXISTS (
         SELECT FROM paid_subscriptions p JOIN payment_customers c ON c.id = p.customer
          WHERE c.user_id = s.user_id AND p.started_at = s.started_at AND s.paid_until = least(p.paid_until, p.ends_at)
            AND (s.end_date IN (s.paid_until, p.ends_at) OR s.end_date - s.paid_until = ANY (${GRACES})))
       AND NOT EXISTS (
         SELECT FROM payment_objects o JOIN payment_customers c ON c.id = o.customer
          WHERE c.user_id = s.user_id AND o.problem IS NOT NULL)`,
  // What the provider told is worked off, or operators are shown why not.
  'payment-events-are-worked-off': `
    SELECT e.id FROM payment_events e LEFT JOIN payment_objects o ON o.kind = e.kind AND o.id = e.object_id
     WHERE e.kind IS NOT NULL AND e.worked_off_at IS NULL AND e.received_at < now() - interval '1 hour'
       AND (o.id IS NULL OR o.problem IS NULL AND o.failures = 0)`,
  'charged-exactly-once': (slice) => `
    SELECT g.id FROM ${slice.generations} g
     WHERE NOT g.metered
       AND NOT EXISTS (SELECT FROM ${slice.tables.ledger} e WHERE e.generation_id = g.id AND e.kind = 'charge')
    UNION SELECT e.generation_id FROM ${slice.ledger} e LEFT JOIN ${slice.tables.generations} g ON g.id = e.generation_id
     WHERE e.kind = 'charge' AND CASE WHEN g.id IS NULL THEN ${IS_NOT_ARCHIVED}
                                      ELSE g.metered OR e.delta <> -g.cost OR e.user_id <> g.user_id END
    UNION ${repeated(slice, 'charge')}`,
  'refunded-exactly-once': (slice) => `
    SELECT g.id FROM ${slice.generations} g
      LEFT JOIN ${slice.tables.ledger} e ON e.generation_id = g.id AND e.kind = 'refund'
     WHERE CASE WHEN e.id IS NULL THEN g.status = 'failed' AND NOT g.metered AND (${refundFailed} AND NOT ${WAS_REFUSED} OR ${WAS_CANCELED})
                ELSE g.status <> 'failed' END
    UNION SELECT e.generation_id FROM ${slice.ledger} e LEFT JOIN ${slice.tables.generations} g ON g.id = e.generation_id
     WHERE e.kind = 'refund'
       AND CASE WHEN g.id IS NULL THEN ${IS_NOT_ARCHIVED}
                ELSE g.metered OR g.status <> 'failed' OR e.delta <> g.cost OR e.user_id <> g.user_id END
    UNION ${repeated(slice, 'refund')}`,

  // Generations: one at a time, in time, in order.
  'idempotency-keys-stay-with-their-user': `
    SELECT k.generation_id FROM idempotency_keys k JOIN generations g ON g.id = k.generation_id
     WHERE g.user_id <> k.user_id`,
  // The statement that stores a generation marks its key. Older versions set no mark, so an unmarked key is a
  // violation only if it is younger than its generation.
  'idempotency-keys-lead-to-their-own-job': `
    SELECT k.generation_id FROM idempotency_keys k JOIN generations g ON g.id = k.generation_id
     WHERE NOT k.stored AND k.created_at > g.created_at + ${CLOCK}
    UNION SELECT k.generation_id FROM idempotency_keys k
     WHERE k.stored AND NOT EXISTS (SELECT FROM generations g WHERE g.id = k.generation_id)
       AND NOT EXISTS (SELECT FROM all_generations g WHERE g.id = k.generation_id)
       AND NOT EXISTS (SELECT FROM archived a WHERE a.name = k.generation_id)
    UNION SELECT generation_id FROM idempotency_keys GROUP BY generation_id HAVING count(*) > 1
    UNION SELECT min(generation_id) FROM idempotency_keys GROUP BY user_id, key HAVING count(*) > 1`,
  'one-active-charged-job-per-user': `
    SELECT u.username FROM generations g JOIN users u ON u.id = g.user_id
     WHERE ${ACTIVE_SQL} AND NOT g.metered GROUP BY u.id, u.username HAVING count(*) > 1`,
  // Each generation with the one before it, in the order of generations_history.
  'charged-jobs-never-overlapped': ({ generations, tables }) => `
    SELECT g.id FROM ${generations} g
     WHERE NOT g.metered AND g.created_at + ${LONGEST_STATEMENT} < (
       SELECT coalesce(b.finished_at, 'infinity') FROM ${tables.generations} b
        WHERE b.user_id = g.user_id AND b.created_at < g.created_at + ${LONGEST_STATEMENT} AND b.seq < g.seq
          AND NOT b.metered ORDER BY b.created_at DESC, b.seq DESC LIMIT 1)`,
  'metered-jobs-keep-to-their-keys-limit': `
    SELECT 'key ' || k.id FROM generations g JOIN api_keys k ON k.id = g.api_key_id
     WHERE ${ACTIVE_SQL} AND g.metered GROUP BY k.id, k.concurrency HAVING count(*) > k.concurrency`,
  'jobs-end-by-their-deadline': `SELECT id FROM generations g WHERE ${NOT_ENDED} AND deadline_at < now() - ${LATE}`,
  'running-jobs-have-a-worker': `
    SELECT id FROM generations WHERE status = 'processing' AND lease_until < now() - ${LATE}`,
  'job-states-are-consistent': ({ generations }) => `
    SELECT id FROM ${generations} g
     WHERE started_at < created_at - ${CLOCK} OR finished_at < created_at - ${CLOCK}
        OR finished_at < started_at - ${CLOCK} OR tries >= ${MAX_TRIES} OR deaths >= ${MAX_DEATHS}
        OR tries + deaths >= attempt
        OR CASE status
             WHEN 'queued' THEN lease_until IS NOT NULL OR worker IS NOT NULL
             WHEN 'processing' THEN lease_until IS NULL OR worker IS NULL OR started_at IS NULL
             WHEN 'succeeded' THEN lease_until IS NOT NULL OR worker IS NULL OR started_at IS NULL
             ELSE lease_until IS NOT NULL END`,
  // The statement that submits or ends a job writes them: another time means that it was submitted or ended twice.
  'records-share-their-jobs-times': ({ generations, tables }) => `
    SELECT g.id FROM ${tables.ledger} l JOIN ${generations} g ON g.id = l.generation_id
     WHERE l.created_at IS DISTINCT FROM CASE l.kind WHEN 'charge' THEN g.created_at ELSE g.finished_at END
    UNION SELECT g.id FROM ${tables.images} i JOIN ${generations} g ON g.id = i.generation_id
     WHERE i.created_at IS DISTINCT FROM g.finished_at
    UNION SELECT g.id FROM ${tables.usage} u JOIN ${generations} g ON g.id = u.generation_id
     WHERE u.created_at IS DISTINCT FROM g.finished_at`,

  // Images: every succeeded job has the images it asked for, counted where they are billed.
  'succeeded-jobs-have-their-images': ({ generations, tables }) => `
    SELECT g.id FROM ${generations} g
     WHERE (SELECT array_agg(i.slug ORDER BY i.idx) FROM ${tables.images} i WHERE i.generation_id = g.id)
           IS DISTINCT FROM CASE g.status WHEN 'succeeded' THEN g.slugs END
        OR EXISTS (SELECT FROM ${tables.images} i WHERE i.generation_id = g.id AND i.idx >= g.batch_size)`,
  'images-are-as-ordered': ({ generations, tables }) => `
    SELECT i.slug FROM ${tables.images} i JOIN ${generations} g ON g.id = i.generation_id
     WHERE i.seed <> (g.seed + i.idx) % ${MAX_SEED + 1}
        OR CASE WHEN i.made_with -> 'definition' IS NULL THEN i.width <> g.width OR i.height <> g.height
                ELSE i.made_with #>> '{definition,name}' <> g.filename OR ${OUT_OF_SHAPE} END`,
  // Includes failed jobs of the slice, whose files are removed.
  'slugs-are-used-once': ({ generations, tables }) => `
    SELECT slug FROM ${generations} g, unnest(slugs) AS slug GROUP BY slug HAVING count(*) > 1
    UNION SELECT i.slug FROM ${generations} g, unnest(g.slugs) AS s (slug)
      JOIN ${tables.images} i ON i.slug = s.slug WHERE i.generation_id <> g.id`,
  'metered-images-are-counted-once': ({ generations, tables }) => `
    SELECT g.id FROM ${generations} g
      LEFT JOIN LATERAL (SELECT api_key_id, user_id, model_version_id, count(*) AS n
                           FROM ${tables.usage} c WHERE generation_id = g.id GROUP BY 1, 2, 3) u ON true
     WHERE coalesce(u.n, 0) <> CASE WHEN g.metered AND g.status = 'succeeded' THEN g.batch_size ELSE 0 END
        OR (u.api_key_id, u.user_id, u.model_version_id) <> (g.api_key_id, g.user_id, g.model_version_id)
     GROUP BY g.id`,

  // An endpoint that keeps failing is paused on purpose, and a slow one is busy.
  'webhooks-are-sent-in-time': `
    SELECT d.event_id FROM webhook_deliveries d
      JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN users u ON u.id = e.user_id
     WHERE d.status = 'pending' AND d.next_at < now() - ${OVERDUE} AND e.not_before < now() - ${OVERDUE}
       AND greatest(e.slot_1_until, e.slot_2_until) < now() AND e.failures < ${FAILING}
       AND e.deleted_at IS NULL AND e.disabled_at IS NULL AND u.deleted_at IS NULL`,
  // Unless it is paused, somebody looks at it again, whatever happens to the generation that it waits for.
  'ideas-are-submitted-in-time': `
    SELECT u.username FROM up_next n JOIN users u ON u.id = n.user_id
     WHERE n.paused IS NULL AND (n.due_at IS NULL OR n.due_at < now() - ${OVERDUE}) AND u.deleted_at IS NULL
       AND EXISTS (SELECT FROM up_next_ideas i WHERE i.user_id = n.user_id)`,
})

/** How soon the service repairs a violation by itself, even after an outage of Postgres. */
export const REPAIRED_WITHIN_MS: Readonly<Record<string, number>> = {
  'jobs-end-by-their-deadline': 8000,
  'running-jobs-have-a-worker': 8000,
  'webhooks-are-sent-in-time': 4000,
  'ideas-are-submitted-in-time': 4000,
}
