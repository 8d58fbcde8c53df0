import { and, eq, isNull, type SQLWrapper, sql } from 'drizzle-orm'
import type { EndpointStore } from '../../core/webhooks/ports.js'
import type { DeliveryRecord, WebhookEndpoint } from '../../core/webhooks/webhook.js'
import { FAILING } from '../../core/webhooks/webhook.js'
import { pageOf } from '../../lib/page.js'
import { type Database, withTransaction } from '../client.js'
import { users } from '../schema/accounts.js'
import { webhookDeliveries as d, webhookEndpoints as e, webhookSecrets as s } from '../schema/webhooks.js'
import { columns, insertInto, param, type RowOf, selectAs, setList, statement, typedParams } from '../statement.js'

const VIEW = selectAs({
  ...columns(e, 'id', 'url', 'description', 'events', 'createdAt', 'disabledReason'),
  pausedUntil: sql`CASE WHEN ${e.notBefore} > now() AND ${e.disabledAt} IS NULL THEN ${e.notBefore} END`,
})
const ACCOUNT = sql`${param('accountId')}::uuid`
const OF_ACCOUNT = sql`${e.userId} = ${ACCOUNT} AND ${e.kind} = 'account' AND ${e.deletedAt} IS NULL`
const OWNED = sql`${OF_ACCOUNT} AND ${e.id} = ${param('id')}`
const rotated = (secret: SQLWrapper) => ({
  oldSecret: secret,
  oldSecretUntil: sql`now() + make_interval(hours => ${param('oldForHours')})`,
  secret: param('secret'),
})

// The user's row is the lock: two requests count one after the other.
const LOCK_USER = statement('lock_user_for_endpoints')`
  SELECT FROM ${users} WHERE ${users.id} = ${param('accountId')} AND ${users.deletedAt} IS NULL FOR NO KEY UPDATE`

const COUNT = statement<{ endpoints: number }>('count_webhook_endpoints')`
  SELECT count(*) AS endpoints FROM ${e} WHERE ${OF_ACCOUNT}`

const CREATE = statement<WebhookEndpoint>('create_webhook_endpoint')`
  ${insertInto(e, { userId: ACCOUNT, kind: 'account', ...typedParams(e, 'id', 'url', 'description', 'events', 'secret') })}
  RETURNING ${VIEW}`

const LIST = statement<WebhookEndpoint>('list_webhook_endpoints')`
  SELECT ${VIEW} FROM ${e} WHERE ${OF_ACCOUNT} ORDER BY ${e.createdAt}, ${e.id}`

const FIND = statement<WebhookEndpoint>('find_webhook_endpoint')`
  SELECT ${VIEW} FROM ${e} WHERE ${OWNED}`

const REMOVE = statement('remove_webhook_endpoint')`
  UPDATE ${e} SET ${setList(e, { deletedAt: sql`now()` })} WHERE ${OWNED}`

const ROTATE = statement<WebhookEndpoint>('rotate_webhook_secret')`
  UPDATE ${e} SET ${setList(e, rotated(e.secret))} WHERE ${OWNED} RETURNING ${VIEW}`

// Enables an endpoint that is disabled, as if it had never failed: the test says whether it works again. Also asks for a job, as the
// trigger of generations does for its deliveries.
const ADD_TEST = statement('add_test_webhook')`
  WITH enabled AS (
    UPDATE ${e} SET ${setList(e, {
      disabledAt: sql`NULL`,
      disabledReason: sql`NULL`,
      failures: sql`0`,
      failingSince: sql`NULL`,
      notBefore: sql`'-infinity'`,
    })} WHERE ${OWNED} AND ${e.disabledAt} IS NOT NULL
  ), stored AS (
    ${insertInto(d, {
      endpointId: e.id,
      eventId: param('eventId'),
      type: 'test',
      url: e.url,
    })} FROM ${e} WHERE ${OWNED}
    RETURNING ${d.seq}
  )
  SELECT pg_notify('webhook_due', seq::text) FROM stored`

/** As the claim has it (migrations/0016_webhook_due.sql): one of its two places must be free, or both while it fails. */
const PLACE_FREE = sql`CASE WHEN ${e.failures} < ${FAILING} THEN least(${e.slot1Until}, ${e.slot2Until})
  ELSE greatest(${e.slot1Until}, ${e.slot2Until}) END`
/** What is due now is tried within about a second. */
const NEXT_AT = sql<Date | null>`CASE WHEN ${d.status} = 'pending' AND ${e.disabledAt} IS NULL
  THEN greatest(${d.nextAt}, ${e.notBefore}, ${PLACE_FREE}, now() + interval '1 second') END`

const LOGGED = {
  nextAt: NEXT_AT,
  ...columns(d, 'seq', 'eventId', 'type', 'generationId', 'status', 'attempts', 'lastStatus', 'lastError'),
  ...columns(d, 'createdAt', 'finishedAt'),
}
type Logged = RowOf<typeof LOGGED>

const LOG = statement<Logged>('log_of_webhook_endpoint')`
  SELECT ${selectAs(LOGGED)} FROM ${d} JOIN ${e} ON ${e.id} = ${d.endpointId}
   WHERE ${d.endpointId} = ${param('id')} AND ${d.seq} < coalesce(${param('before')}::bigint, 9223372036854775807)
   ORDER BY ${d.seq} DESC LIMIT ${param('limit')}`

const toRecord = ({ seq: _, finishedAt, ...record }: Logged): DeliveryRecord => ({
  ...record,
  deliveredAt: record.status === 'delivered' ? finishedAt : null,
})

const ORIGIN = sql`${e.userId} = ${ACCOUNT} AND ${e.kind} = 'request'`

// A known origin becomes new again, so that it is not forgotten soon. In races a few too many may be admitted.
const ADMIT_ORIGIN = statement('admit_webhook_origin')`
  ${insertInto(e, { id: param('id'), userId: ACCOUNT, kind: 'request', url: param('origin'), events: sql`'{}'` })}
   WHERE EXISTS (SELECT FROM ${e} WHERE ${ORIGIN} AND ${e.url} = ${param('origin')})
      OR (SELECT count(*) FROM ${e} WHERE ${ORIGIN}) < ${param('limit')}
  ON CONFLICT (user_id, url) WHERE kind = 'request' DO UPDATE SET created_at = now()`

const REQUEST_SECRET = statement<{ secret: string }>('secret_of_webhook_urls')`
  WITH made AS (
    INSERT INTO ${s} (user_id, secret) VALUES (${param('accountId')}, ${param('secret')})
    ON CONFLICT (user_id) DO NOTHING RETURNING secret
  )
  SELECT secret FROM made
  UNION ALL SELECT ${s.secret} FROM ${s} WHERE ${s.userId} = ${param('accountId')}`

export const webhookEndpointStore = (
  db: Database,
  newId: () => string,
  endWaiting: (endpointId: string) => Promise<void>,
): EndpointStore => {
  const { pool } = db
  return {
    create: (accountId, endpoint, limit) =>
      withTransaction(db, async (_tx, client) => {
        if ((await LOCK_USER.count(client, { accountId })) === 0) return undefined
        const held = await COUNT.first(client, { accountId })
        if (!held || held.endpoints >= limit) return undefined
        return CREATE.first(client, { accountId, ...endpoint })
      }),

    list: (accountId) => LIST.rows(pool, { accountId }),
    find: (accountId, id) => FIND.first(pool, { accountId, id }),

    async remove(accountId, id) {
      if ((await REMOVE.count(pool, { accountId, id })) === 0) return false
      await endWaiting(id)
      return true
    },

    rotateSecret: (accountId, id, secret, oldForHours) => ROTATE.first(pool, { accountId, id, secret, oldForHours }),
    addTest: async (accountId, id, eventId) => (await ADD_TEST.count(pool, { accountId, id, eventId })) === 1,

    async deliveries(id, { limit, after }) {
      const rows = await LOG.rows(pool, { id, before: after?.[0], limit: limit + 1 })
      return pageOf(rows, limit, toRecord, ({ seq }) => [seq])
    },

    async admitOrigin(accountId, origin, secret, limit) {
      if ((await ADMIT_ORIGIN.count(pool, { accountId, id: newId(), origin, limit })) === 0) return undefined
      for (;;) {
        // Neither made nor found: another request has just made it.
        const made = await REQUEST_SECRET.first(pool, { accountId, secret })
        if (made) return made.secret
      }
    },
  }
}

/** Small enough for one statement's time limit, however many deliveries an endpoint has. */
const URLS_PER_PAGE = 1000

/** Returns the end of the page; null after the last one. */
const WIPE_URLS = statement<{ last: number | null }>('wipe_webhook_urls')`
  WITH page AS (
    SELECT ${d.seq} FROM ${d}
     WHERE ${d.endpointId} = ${param('id')} AND ${d.seq} > ${param('after')} ORDER BY ${d.seq} LIMIT ${URLS_PER_PAGE}
  ), wiped AS (
    UPDATE ${d} SET ${setList(d, { url: '', data: null })}
     WHERE ${d.seq} = ANY (ARRAY(SELECT seq FROM page)) AND (${d.url} <> '' OR ${d.data} IS NOT NULL)
  )
  SELECT max(seq) AS last FROM page`

const ROTATE_REQUEST_SECRET = statement<{ until: Date }>('rotate_secret_of_webhook_urls')`
  UPDATE ${s} SET ${setList(s, rotated(s.secret))}
   WHERE ${s.userId} = ${param('accountId')} RETURNING ${s.oldSecretUntil} AS until`

export const operatorWebhookStore = ({ orm, pool }: Database) => ({
  /** Ends all endpoints of the account; the servers give up what waits for them. */
  async endAllOf(accountId: string): Promise<void> {
    const ended = { deletedAt: sql`now()`, secret: sql`CASE ${e.kind} WHEN 'account' THEN '' END`, oldSecret: null }
    await orm
      .update(e)
      .set(ended)
      .where(and(eq(e.userId, accountId), isNull(e.deletedAt)))
    await orm.delete(s).where(eq(s.userId, accountId))
  },

  /** Wipes the URLs, which may name the account or hold a token, and what was told of it. After `endAllOf`; can be repeated. */
  async forgetAllOf(accountId: string): Promise<void> {
    const ofAccount = eq(e.userId, accountId)
    for (const { id } of await orm.select(columns(e, 'id')).from(e).where(ofAccount)) {
      for (let after: number | null = 0; after !== null; ) {
        const wiped: { last: number | null } | undefined = await WIPE_URLS.first(pool, { id, after })
        after = wiped?.last ?? null
      }
      await orm.update(e).set({ url: id, description: '' }).where(eq(e.id, id))
    }
  },

  /** Of the account's webhook_urls. Resolves to until when the old secret signs, too; undefined if there is none. */
  rotateSecret: async (accountId: string, secret: string, oldForHours: number): Promise<Date | undefined> =>
    (await ROTATE_REQUEST_SECRET.first(pool, { accountId, secret, oldForHours }))?.until,
})
