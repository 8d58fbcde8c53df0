import type { DeliveryStore } from '../webhooks/ports.js'
import { FAILING } from '../webhooks/retry-schedule.js'
import type { ClaimedDelivery } from '../webhooks/webhook.js'
import type { Database } from './client.js'

/** Longer than a try may take. */
const LEASE = `interval '20 seconds'`
/** An endpoint at which nothing has succeeded for so long may be disabled; what waits for longer is given up. */
const PATIENCE = `interval '3 days'`
/** Longer than all of an event's tries take, unless they wait for others or for as long as the receiver asks. */
const TRIED_ENOUGH = `interval '2 days'`
const KEPT = `interval '30 days'`
const PAGE = 1000
/** At a time; the rest waits for the next time. */
const CLEANED_PAGES = 20
/** What is left then comes when its own wait is over. */
const HURRIED_PAGES = 50
const HURRIED_PAGE_SECONDS = 10

/** Of a row that has been given a new secret: the old one, too, for a while. */
const secretsOf = (row: string) =>
  `array_remove(ARRAY[${row}.secret, CASE WHEN ${row}.old_secret_until > now() THEN ${row}.old_secret END], NULL)`

/** Looks at what is due and nothing else, however much waits (migrations/0015_webhook_due.sql). */
const CLAIM = {
  name: 'claim_webhook_delivery',
  text: `
    SELECT (c.delivery).seq, (c.delivery).event_id AS "eventId", (c.delivery).type,
           (c.delivery).generation_id AS "generationId", (c.endpoint).id AS "endpointId",
           (c.endpoint).user_id AS "accountId", (c.endpoint).kind, (c.delivery).url,
           CASE (c.endpoint).kind
             WHEN 'request' THEN (SELECT ${secretsOf('s')} FROM webhook_secrets s WHERE s.user_id = (c.endpoint).user_id)
             ELSE ${secretsOf('(c.endpoint)')} END AS secrets,
           (c.delivery).created_at AS at, (c.delivery).attempts, c.slot, (c.endpoint).failures AS "endpointFailures"
      FROM claim_webhook_delivery($1::uuid[], ${LEASE}, ${FAILING}) c`,
}

/** $1 to $3: the delivery, its try, its place. The next claim finds out whether more is due. */
const FREED = `due_at = now(), slot_1_until = CASE $3::integer WHEN 1 THEN '-infinity' ELSE slot_1_until END,
  slot_2_until = CASE $3::integer WHEN 2 THEN '-infinity' ELSE slot_2_until END`
const THIS_TRY = `seq = $1 AND attempts = $2 AND status = 'pending'`

const DELIVERED = {
  name: 'webhook_delivered',
  text: `
    WITH done AS (
      UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), last_status = $4, last_error = NULL
       WHERE ${THIS_TRY} RETURNING endpoint_id
    )
    UPDATE webhook_endpoints SET failures = 0, failing_since = NULL, not_before = '-infinity', ${FREED}
     WHERE id = (SELECT endpoint_id FROM done)`,
}

/** For its age only by an event that has had its tries: the one failure after a quiet spell says little. */
const DISABLED = `e.kind = 'account' AND e.disabled_at IS NULL
  AND ($5 = 'endpoint_gone' OR $8::boolean AND e.failing_since < now() - ${PATIENCE}
       AND ($6::float8 IS NULL OR tried.created_at < now() - ${TRIED_ENOUGH}))`

// $4 status, $5 fault, $6 seconds to the next try or null, $7 seconds that the endpoint is left alone, $8 its own fault
const FAILED = {
  name: 'webhook_failed',
  text: `
    WITH tried AS (
      UPDATE webhook_deliveries
         SET status = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END,
             finished_at = CASE WHEN $6::float8 IS NULL THEN now() END,
             next_at = now() + make_interval(secs => coalesce($6::float8, 0)),
             last_status = $4::integer, last_error = $5::text
       WHERE ${THIS_TRY} RETURNING endpoint_id, created_at
    )
    UPDATE webhook_endpoints e
       SET failures = e.failures + $8::boolean::integer,
           failing_since = CASE WHEN $8::boolean THEN coalesce(e.failing_since, now()) ELSE e.failing_since END,
           not_before = greatest(e.not_before, now() + make_interval(secs => $7::float8)), ${FREED},
           disabled_at = CASE WHEN ${DISABLED} THEN now() ELSE e.disabled_at END,
           disabled_reason = CASE WHEN ${DISABLED} THEN
             CASE WHEN $5 = 'endpoint_gone' THEN 'It answered 410 Gone. Create it anew to be told again.'
                  ELSE 'Nothing could be delivered for 3 days (' || $5 || '). Create it anew when it works again.' END
             ELSE e.disabled_reason END
      FROM tried WHERE e.id = tried.endpoint_id
    RETURNING e.disabled_at IS NOT NULL AS disabled`,
}

const GIVE_BACK = `
  WITH given AS (
    UPDATE webhook_deliveries SET next_at = now(), attempts = attempts - 1 WHERE ${THIS_TRY} RETURNING endpoint_id
  )
  UPDATE webhook_endpoints SET ${FREED} WHERE id = (SELECT endpoint_id FROM given)`

/**
 * A page of what waits for $1, which is to come from second $2 on; earlier pages come too soon to be found again. What
 * another server moves is left to it; what it has claimed meanwhile shows by the clock alone, since `now()` is older.
 */
const HURRY = `
  UPDATE webhook_deliveries SET next_at = now() + make_interval(secs => $2::float8 + random() * ${HURRIED_PAGE_SECONDS})
   WHERE seq = ANY (ARRAY(
     SELECT seq FROM webhook_deliveries
      WHERE endpoint_id = $1 AND status = 'pending' AND next_at > now() + make_interval(secs => $2::float8) + ${LEASE}
        AND next_at > clock_timestamp() + ${LEASE}
      ORDER BY next_at LIMIT ${PAGE} FOR NO KEY UPDATE SKIP LOCKED))`

/** Waiting deliveries of which `condition` holds over `d` and its endpoint `e`. */
const end = (condition: string, fault: string) => `
  UPDATE webhook_deliveries SET status = 'failed', finished_at = now(), last_error = '${fault}'
   WHERE status = 'pending' AND seq = ANY (ARRAY(
     SELECT d.seq FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
      WHERE d.status = 'pending' AND ${condition} LIMIT ${PAGE}))`

/** Endpoints of which nothing is left; the condition is asked again of one that has changed meanwhile. */
const forget = (condition: string) => `
  DELETE FROM webhook_endpoints WHERE ${condition} AND id = ANY (ARRAY(
    SELECT id FROM webhook_endpoints e WHERE ${condition}
       AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id) LIMIT ${PAGE}))`

const CLEANING = [
  // In the words of the index webhook_endpoints_ended, which the planner must recognize; also below.
  end(`(e.deleted_at IS NOT NULL OR e.disabled_at IS NOT NULL)`, 'endpoint_ended'),
  end(`d.created_at < now() - ${PATIENCE}`, 'too_old'),
  `DELETE FROM webhook_deliveries WHERE seq = ANY (ARRAY(
     SELECT seq FROM webhook_deliveries WHERE status <> 'pending' AND finished_at < now() - ${KEPT} LIMIT ${PAGE}))`,
  forget(`kind = 'account' AND deleted_at IS NOT NULL AND coalesce(deleted_at, disabled_at) < now() - ${KEPT}`),
  // Long after the last request that named it has ended.
  forget(`kind = 'request' AND created_at < now() - ${KEPT}`),
]

export const webhookDeliveryStore = ({ pool }: Database): DeliveryStore => {
  const thisTry = ({ seq, attempts, slot }: ClaimedDelivery) => [seq, attempts, slot]
  return {
    async claim(exceptAccounts) {
      for (;;) {
        const { rows } = await pool.query<ClaimedDelivery | { seq: null }>({ ...CLAIM, values: [exceptAccounts] })
        const [claimed] = rows
        if (!claimed || claimed.seq !== null) return claimed
      }
    },

    async delivered(delivery, status) {
      await pool.query({ ...DELIVERED, values: [...thisTry(delivery), status] })
    },

    async failed(delivery, { fault, status, retryInSeconds, pauseSeconds }) {
      const blamed = fault !== 'picture_removed'
      const values = [
        ...thisTry(delivery),
        status ?? null,
        fault,
        retryInSeconds ?? null,
        blamed ? pauseSeconds : 0,
        blamed,
      ]
      const { rows } = await pool.query<{ disabled: boolean }>({ ...FAILED, values })
      return { disabled: rows[0]?.disabled ?? false }
    },

    async endWaiting(endpointId) {
      const text = end('d.endpoint_id = $1', 'endpoint_ended')
      while ((await pool.query(text, [endpointId])).rowCount === PAGE);
    },

    async giveBack(delivery) {
      await pool.query(GIVE_BACK, thisTry(delivery))
    },

    async hurry(endpointId) {
      for (let page = 0; page < HURRIED_PAGES; page++)
        if ((await pool.query(HURRY, [endpointId, page * HURRIED_PAGE_SECONDS])).rowCount !== PAGE) return
    },

    async clean() {
      for (const text of CLEANING)
        for (let pages = 1; pages <= CLEANED_PAGES && (await pool.query(text)).rowCount === PAGE; pages++);
    },
  }
}
