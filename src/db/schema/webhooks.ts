/** Endpoints of webhooks and their deliveries. */
import { sql } from 'drizzle-orm'
import { check, index, integer, jsonb, pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import type { ClaimedDelivery, DeliveryRecord, WebhookEvent } from '../../core/webhooks/webhook.js'
import { userId } from './accounts.js'
import { int8, time } from './columns.js'

const never = sql`'-infinity'`

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text('id').primaryKey(),
    userId: userId().notNull(),
    kind: text('kind').$type<ClaimedDelivery['kind']>().notNull(),
    url: text('url').notNull(),
    description: text('description').notNull().default(''),
    events: text('events').array().$type<readonly WebhookEvent[]>().notNull(),
    secret: text('secret'),
    oldSecret: text('old_secret'),
    oldSecretUntil: time('old_secret_until'),
    failures: integer('failures').notNull().default(0),
    failingSince: time('failing_since'),
    notBefore: time('not_before').notNull().default(never),
    slot1Until: time('slot_1_until').notNull().default(never),
    slot2Until: time('slot_2_until').notNull().default(never),
    dueAt: time('due_at').notNull().default(sql`'infinity'`),
    createdAt: time('created_at').notNull().defaultNow(),
    disabledAt: time('disabled_at'),
    disabledReason: text('disabled_reason'),
    deletedAt: time('deleted_at'),
  },
  (t) => [
    check('webhook_endpoints_kind_check', sql`${t.kind} IN ('account', 'request')`),
    check('webhook_endpoints_check', sql`(${t.kind} = 'account') = (${t.secret} IS NOT NULL)`),
    check('webhook_endpoints_check1', sql`(${t.disabledAt} IS NULL) = (${t.disabledReason} IS NULL)`),
    index('webhook_endpoints_account')
      .on(t.userId, t.createdAt)
      .where(sql`${t.kind} = 'account' AND ${t.deletedAt} IS NULL`),
    uniqueIndex('webhook_endpoints_request').on(t.userId, t.url).where(sql`${t.kind} = 'request'`),
    index('webhook_endpoints_named').on(t.createdAt).where(sql`${t.kind} = 'request'`),
    index('webhook_endpoints_ended')
      .on(sql`coalesce(${t.deletedAt}, ${t.disabledAt})`)
      .where(sql`${t.deletedAt} IS NOT NULL OR ${t.disabledAt} IS NOT NULL`),
    index('webhook_endpoints_due').on(t.dueAt).where(sql`${t.disabledAt} IS NULL AND ${t.deletedAt} IS NULL`),
  ],
)

export const webhookSecrets = pgTable('webhook_secrets', {
  userId: userId().primaryKey(),
  secret: text('secret').notNull(),
  oldSecret: text('old_secret'),
  oldSecretUntil: time('old_secret_until'),
  createdAt: time('created_at').notNull().defaultNow(),
})

export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    seq: int8('seq').primaryKey().generatedAlwaysAsIdentity(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id),
    eventId: text('event_id').notNull(),
    type: text('type').$type<ClaimedDelivery['type']>().notNull(),
    generationId: text('generation_id'),
    /** Of an event that is about no generation; null: of a generation, or a test. */
    data: jsonb('data').$type<NonNullable<ClaimedDelivery['data']>>(),
    url: text('url').notNull(),
    status: text('status').$type<DeliveryRecord['status']>().notNull().default('pending'),
    attempts: integer('attempts').notNull().default(0),
    nextAt: time('next_at').notNull().defaultNow(),
    lastStatus: integer('last_status'),
    lastError: text('last_error').$type<NonNullable<DeliveryRecord['lastError']>>(),
    createdAt: time('created_at').notNull().defaultNow(),
    finishedAt: time('finished_at'),
  },
  (t) => [
    check('webhook_deliveries_status_check', sql`${t.status} IN ('pending', 'delivered', 'failed')`),
    check('webhook_deliveries_check', sql`(${t.status} = 'pending') = (${t.finishedAt} IS NULL)`),
    unique('webhook_deliveries_endpoint_id_event_id_key').on(t.endpointId, t.eventId),
    index('webhook_deliveries_due').on(t.endpointId, t.nextAt).where(sql`${t.status} = 'pending'`),
    index('webhook_deliveries_waiting').on(t.createdAt).where(sql`${t.status} = 'pending'`),
    index('webhook_deliveries_log').on(t.endpointId, t.seq.desc().nullsFirst()),
    index('webhook_deliveries_old').on(t.finishedAt).where(sql`${t.status} <> 'pending'`),
  ],
)
