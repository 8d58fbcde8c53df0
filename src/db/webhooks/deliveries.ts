import { type SQL, sql } from 'drizzle-orm'
import type { DeliveryStore, WebhookSubject } from '../../core/webhooks/ports.js'
import type { ClaimedDelivery, DeliveryFault } from '../../core/webhooks/webhook.js'
import { FAILING } from '../../core/webhooks/webhook.js'
import type { Database } from '../client.js'
import { modelVersions as m } from '../schema/catalog.js'
import { generations as g } from '../schema/generations.js'
import { images as i } from '../schema/images.js'
import { webhookDeliveries as d, webhookEndpoints as e, webhookSecrets } from '../schema/webhooks.js'
import { columns, param, selectAs, setList, statement } from '../statement.js'

/** Longer than a try may take. */
const LEASE = sql`interval '20 seconds'`
/** An endpoint where nothing has succeeded for this long may be disabled; deliveries that wait longer are given up. */
const GIVE_UP_AFTER = sql`interval '3 days'`
/** All tries of an event take less, unless they wait for other events or for the receiver's Retry-After. */
const RETRY_WINDOW = sql`interval '2 days'`
const KEPT = sql`interval '30 days'`
const DELIVERIES_PER_PAGE = 1000
/** In one call of `clean`. */
const CLEANED_PAGES = 20
/** What is beyond these pages is retried at its own time. */
const HURRIED_PAGES = 50
/** Over this time the retries of a page are spread. */
const HURRIED_PAGE_SECONDS = 10

/** The secret; for a while after a rotation also the old one. */
const secretsOf = (row: SQL) =>
  sql`array_remove(ARRAY[${row}.secret, CASE WHEN ${row}.old_secret_until > now() THEN ${row}.old_secret END], NULL)`

/** Reads only what is due, however much waits (migrations/0051_notices.sql). */
const CLAIM = statement<ClaimedDelivery | { seq: null }>('claim_webhook_delivery')`
  SELECT (c.delivery).seq, (c.delivery).event_id AS "eventId", (c.delivery).type,
         (c.delivery).generation_id AS "generationId", (c.delivery).data, (c.endpoint).id AS "endpointId",
         (c.endpoint).user_id AS "accountId", (c.endpoint).kind, (c.delivery).url,
         CASE (c.endpoint).kind
           WHEN 'request' THEN (
             SELECT ${secretsOf(sql`${webhookSecrets}`)} FROM ${webhookSecrets}
              WHERE ${webhookSecrets.userId} = (c.endpoint).user_id)
           ELSE ${secretsOf(sql`(c.endpoint)`)} END AS secrets,
         (c.delivery).created_at AS at, (c.delivery).attempts, c.slot, (c.endpoint).failures AS "endpointFailures",
         (SELECT ${g.traceparent} FROM ${g} WHERE ${g.id} = (c.delivery).generation_id) AS traceparent
    FROM claim_webhook(${param('exceptAccounts')}::uuid[], ${LEASE}, ${FAILING}, true) c`

const THIS_TRY = sql`${d.seq} = ${param('seq')} AND ${d.attempts} = ${param('attempts')} AND ${d.status} = 'pending'`
const freed = (slot: 1 | 2) =>
  sql`CASE ${param('slot')}::integer WHEN ${slot} THEN '-infinity' ELSE ${slot === 1 ? e.slot1Until : e.slot2Until} END`
/** Frees the try's slot. The next claim finds out whether more is due. */
const FREED = { dueAt: sql`now()`, slot1Until: freed(1), slot2Until: freed(2) }

const DELIVERED = statement('webhook_delivered')`
  WITH done AS (
    UPDATE ${d} SET ${setList(d, {
      status: 'delivered',
      finishedAt: sql`now()`,
      lastStatus: param('status'),
      lastError: null,
    })}
     WHERE ${THIS_TRY} RETURNING ${d.endpointId}
  )
  UPDATE ${e} SET ${setList(e, {
    failures: 0,
    failingSince: null,
    notBefore: sql`'-infinity'`,
    ...FREED,
  })}
   WHERE ${e.id} = (SELECT endpoint_id FROM done)`

const FAULT = sql`${param('fault')}::text`
/** Until the next try; null: it was the last. */
const RETRY_IN = sql`${param('retryInSeconds')}::float8`
/** Whether the try counts against its endpoint. */
const BLAMED = sql`${param('blamed')}::boolean`

/** For failing long only once an event has had its tries: one failure after a quiet time says little. */
const DISABLED = sql`${e.kind} = 'account' AND ${e.disabledAt} IS NULL
  AND (${FAULT} = 'endpoint_gone' OR ${BLAMED} AND ${e.failingSince} < now() - ${GIVE_UP_AFTER}
       AND (${RETRY_IN} IS NULL OR tried.created_at < now() - ${RETRY_WINDOW}))`

const FAILED = statement<{ disabled: boolean }>('webhook_failed')`
  WITH tried AS (
    UPDATE ${d} SET ${setList(d, {
      status: sql`CASE WHEN ${RETRY_IN} IS NULL THEN 'failed' ELSE 'pending' END`,
      finishedAt: sql`CASE WHEN ${RETRY_IN} IS NULL THEN now() END`,
      nextAt: sql`now() + make_interval(secs => coalesce(${RETRY_IN}, 0))`,
      lastStatus: sql`${param('status')}::integer`,
      lastError: FAULT,
    })}
     WHERE ${THIS_TRY} RETURNING ${d.endpointId}, ${d.createdAt}
  )
  UPDATE ${e} SET ${setList(e, {
    failures: sql`${e.failures} + ${BLAMED}::integer`,
    failingSince: sql`CASE WHEN ${BLAMED} THEN coalesce(${e.failingSince}, now()) ELSE ${e.failingSince} END`,
    notBefore: sql`greatest(${e.notBefore}, now() + make_interval(secs => ${param('pauseSeconds')}::float8))`,
    ...FREED,
    disabledAt: sql`CASE WHEN ${DISABLED} THEN now() ELSE ${e.disabledAt} END`,
    disabledReason: sql`
      CASE WHEN ${DISABLED} THEN
        CASE WHEN ${FAULT} = 'endpoint_gone' THEN 'It answered 410 Gone. A test enables it again.'
             ELSE replace('Nothing could be delivered for 3 days (%). A test enables it again.', '%', ${FAULT}) END
      ELSE ${e.disabledReason} END`,
  })}
    FROM tried WHERE ${e.id} = tried.endpoint_id
  RETURNING ${e.disabledAt} IS NOT NULL AS disabled`

const GIVE_BACK = statement('webhook_given_back')`
  WITH given AS (
    UPDATE ${d} SET ${setList(d, { nextAt: sql`now()`, attempts: sql`${d.attempts} - 1` })}
     WHERE ${THIS_TRY} RETURNING ${d.endpointId}
  )
  UPDATE ${e} SET ${setList(e, FREED)} WHERE ${e.id} = (SELECT endpoint_id FROM given)`

const AFTER_SECONDS = sql`${param('afterSeconds')}::float8`

/**
 * Makes a page of an endpoint's pending deliveries due after `afterSeconds`; earlier pages are due too soon to be found
 * again. Rows that another server locks are skipped; what it has claimed since this statement's `now()`, by
 * `clock_timestamp()`.
 */
const HURRY = statement('hurry_webhooks')`
  UPDATE ${d} SET ${setList(d, {
    nextAt: sql`now() + make_interval(secs => ${AFTER_SECONDS} + random() * ${HURRIED_PAGE_SECONDS})`,
  })}
   WHERE ${d.seq} = ANY (ARRAY(
     SELECT ${d.seq} FROM ${d}
      WHERE ${d.endpointId} = ${param('endpointId')} AND ${d.status} = 'pending'
        AND ${d.nextAt} > now() + make_interval(secs => ${AFTER_SECONDS}) + ${LEASE}
        AND ${d.nextAt} > clock_timestamp() + ${LEASE}
      ORDER BY ${d.nextAt} LIMIT ${DELIVERIES_PER_PAGE} FOR NO KEY UPDATE SKIP LOCKED))`

/** Ends a page of pending deliveries `d` for which `condition` over `d` and its endpoint `e` holds. */
const endStatement = (name: string, condition: SQL, lastError: DeliveryFault) =>
  statement(name)`
    UPDATE ${d} SET ${setList(d, { status: 'failed', finishedAt: sql`now()`, lastError })}
     WHERE ${d.status} = 'pending' AND ${d.seq} = ANY (ARRAY(
       SELECT ${d.seq} FROM ${d} JOIN ${e} ON ${e.id} = ${d.endpointId}
        WHERE ${d.status} = 'pending' AND ${condition} LIMIT ${DELIVERIES_PER_PAGE}))`

/** Deletes endpoints without deliveries. The outer condition spares those that have changed meanwhile. */
const forgetStatement = (name: string, condition: SQL) =>
  statement(name)`
    DELETE FROM ${e} WHERE ${condition} AND ${e.id} = ANY (ARRAY(
      SELECT ${e.id} FROM ${e} WHERE ${condition}
         AND NOT EXISTS (SELECT FROM ${d} WHERE ${d.endpointId} = ${e.id}) LIMIT ${DELIVERIES_PER_PAGE}))`

const END_WAITING = endStatement(
  'end_waiting_webhooks',
  sql`${d.endpointId} = ${param('endpointId')}`,
  'endpoint_ended',
)

const CLEANING = [
  // Worded like the index webhook_endpoints_ended, here and below, so that the planner uses it.
  endStatement(
    'end_webhooks_of_ended',
    sql`(${e.deletedAt} IS NOT NULL OR ${e.disabledAt} IS NOT NULL)`,
    'endpoint_ended',
  ),
  endStatement('end_old_webhooks', sql`${d.createdAt} < now() - ${GIVE_UP_AFTER}`, 'too_old'),
  statement('forget_webhook_deliveries')`
    DELETE FROM ${d} WHERE ${d.seq} = ANY (ARRAY(
      SELECT ${d.seq} FROM ${d}
       WHERE ${d.status} <> 'pending' AND ${d.finishedAt} < now() - ${KEPT} LIMIT ${DELIVERIES_PER_PAGE}))`,
  forgetStatement(
    'forget_webhook_endpoints',
    sql`${e.kind} = 'account' AND ${e.deletedAt} IS NOT NULL
      AND coalesce(${e.deletedAt}, ${e.disabledAt}) < now() - ${KEPT}`,
  ),
  // `createdAt` is when a request last named it: that generation has long ended.
  forgetStatement('forget_webhook_origins', sql`${e.kind} = 'request' AND ${e.createdAt} < now() - ${KEPT}`),
]

export const webhookDeliveryStore = ({ pool }: Database): DeliveryStore => ({
  async claim(exceptAccounts) {
    for (;;) {
      const claimed = await CLAIM.first(pool, { exceptAccounts })
      if (!claimed || claimed.seq !== null) return claimed
    }
  },

  delivered: ({ seq, attempts, slot }, status) => DELIVERED.run(pool, { seq, attempts, slot, status }),

  async failed({ seq, attempts, slot }, { fault, status, retryInSeconds, pauseSeconds }) {
    const blamed = fault !== 'picture_removed'
    const values = { seq, attempts, slot, status, fault, retryInSeconds, blamed }
    const failed = await FAILED.first(pool, { ...values, pauseSeconds: blamed ? pauseSeconds : 0 })
    return { disabled: failed?.disabled ?? false }
  },

  async cancelPending(endpointId) {
    while ((await END_WAITING.count(pool, { endpointId })) === DELIVERIES_PER_PAGE);
  },

  releaseClaim: ({ seq, attempts, slot }) => GIVE_BACK.run(pool, { seq, attempts, slot }),

  async retryNow(endpointId) {
    for (let page = 0; page < HURRIED_PAGES; page++)
      if ((await HURRY.count(pool, { endpointId, afterSeconds: page * HURRIED_PAGE_SECONDS })) !== DELIVERIES_PER_PAGE)
        return
  },

  async clean() {
    for (const rule of CLEANING)
      for (let pages = 1; pages <= CLEANED_PAGES && (await rule.count(pool)) === DELIVERIES_PER_PAGE; pages++);
  },
})

const FIND_SUBJECT = statement<WebhookSubject>('find_webhook_subject')`
  SELECT ${selectAs({
    ...columns(g, 'id', 'seed', 'error', 'createdAt', 'batchSize', 'prompt', 'width', 'height', 'steps', 'cfgScale'),
    imageId: sql`${g.slugs}[1]`,
    model: sql`coalesce(${m.createImageModel}, ${g.modelName})`,
    slugs: sql`ARRAY(SELECT ${i.slug} FROM ${i}
      WHERE ${i.generationId} = ${g.id} AND ${i.removedAt} IS NULL ORDER BY ${i.idx})`,
  })}
    FROM ${g} LEFT JOIN ${m} ON ${m.id} = ${g.modelVersionId}
   WHERE ${g.id} = ${param('id')}`

export const webhookSubjectStore = ({ pool }: Database) => ({
  find: (id: string) => FIND_SUBJECT.first(pool, { id }),
})
