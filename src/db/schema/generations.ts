/**
 * The generations, and what servers and workers tell each other about them. The tables are as `migrations/` leave and explain
 * them (test/db/schema/schema.test.ts). Statements import a table under one letter, like `generations as g`.
 */
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  date,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  real,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { GenerationStatus, Lane, Sampler } from '../../core/generations/generation.js'
import { CREATE_IMAGE_RUN } from '../../core/generations/queue-order.js'
import type { PutBackReason } from '../../core/generations/run/ports.js'
import { apiKeyId, userId } from './accounts.js'
import { modelVersionId } from './catalog.js'
import { bytea, int8, month, time } from './columns.js'

const generationColumns = () => ({
  id: text('id').primaryKey(),
  seq: int8('seq').notNull().default(sql`nextval('generations_seq_seq'::regclass)`),
  userId: userId().notNull(),
  apiKeyId: apiKeyId().notNull(),
  lane: text('lane').$type<Lane>().notNull(),
  metered: boolean('metered').notNull(),
  status: text('status').$type<GenerationStatus>().notNull().default('queued'),
  modelVersionId: modelVersionId().notNull(),
  modelName: text('model_name').notNull(),
  filename: text('filename').notNull(),
  prompt: text('prompt').notNull(),
  negativePrompt: text('negative_prompt').notNull(),
  width: integer('width').notNull(),
  height: integer('height').notNull(),
  batchSize: integer('batch_size').notNull(),
  steps: integer('steps').notNull(),
  cfgScale: doublePrecision('cfg_scale').notNull(),
  sampler: text('sampler').$type<Sampler>().notNull(),
  seed: int8('seed').notNull(),
  slugs: text('slugs').array().notNull(),
  cost: int8('cost').notNull(),
  webhookUrl: text('webhook_url'),
  requestId: text('request_id'),
  traceparent: text('traceparent'),
  attempt: integer('attempt').notNull().default(1),
  tries: integer('tries').notNull().default(0),
  deaths: integer('deaths').notNull().default(0),
  notBefore: time('not_before').notNull().defaultNow(),
  passedOverAt: time('passed_over_at'),
  leaseUntil: time('lease_until'),
  worker: text('worker'),
  backend: text('backend'),
  claimedAt: time('claimed_at'),
  error: text('error'),
  createdAt: time('created_at').notNull().defaultNow(),
  startedAt: time('started_at'),
  finishedAt: time('finished_at'),
  deadlineAt: time('deadline_at').notNull(),
  month: month(),
})

/** The live table: what has not ended, and what has not moved to its month. */
export const generations = pgTable('generations', generationColumns(), (t) => {
  const active = sql`${t.status} IN ('queued', 'processing')`
  const needs = sql`generation_needs(${t.seed}, ${t.batchSize}, ${t.width}, ${t.height}, ${t.cfgScale})`
  // Drizzle's columns forget their order once an index has taken them.
  const newest = () => [t.createdAt.desc().nullsFirst(), t.seq.desc().nullsFirst()] as const
  return [
    check('generations_lane_check', sql`${t.lane} IN ('personal', 'create_image')`),
    check('generations_status_check', sql`${t.status} IN ('queued', 'processing', 'succeeded', 'failed')`),
    check('generations_batch_size_check', sql`${t.batchSize} BETWEEN 1 AND 4`),
    check('generations_seed_check', sql`${t.seed} BETWEEN 0 AND 4294967295`),
    check('generations_cost_check', sql`${t.cost} >= 0`),
    check('generations_check', sql`(${t.status} = 'failed') = (${t.error} IS NOT NULL)`),
    check('generations_check1', sql`(${t.status} IN ('succeeded', 'failed')) = (${t.finishedAt} IS NOT NULL)`),
    check('generations_check2', sql`array_length(${t.slugs}, 1) = ${t.batchSize}`),
    check('generations_check3', sql`NOT ${t.metered} OR ${t.cost} = 0`),
    uniqueIndex('generations_one_active').on(t.userId).where(sql`${active} AND NOT ${t.metered}`),
    index('generations_metered').on(t.apiKeyId).where(sql`${active} AND ${t.metered}`),
    index('generations_queue').on(t.lane, t.seq).where(sql`${t.status} = 'queued'`),
    index('generations_queue_of_kind')
      .on(t.lane, t.filename, t.sampler, needs, t.seq, t.deadlineAt)
      .where(sql`${t.status} NOT IN ('processing', 'succeeded', 'failed') AND ${t.error} IS NULL`),
    index('generations_queue_of_model')
      .on(t.lane, t.filename, t.seq)
      .where(sql`${t.worker} IS NULL AND ${t.error} IS NULL`),
    index('generations_processing').on(t.seq).where(sql`${t.status} = 'processing'`),
    index('generations_newest_succeeded').on(t.seq).where(sql`${t.status} = 'succeeded'`),
    index('generations_newest_failed').on(t.seq).where(sql`${t.status} = 'failed'`),
    index('generations_deadline').on(t.deadlineAt).where(sql`${t.finishedAt} IS NULL`),
    index('generations_wasted').on(t.finishedAt).where(sql`${t.status} = 'failed' AND ${t.startedAt} IS NOT NULL`),
    index('generations_durations')
      .on(t.filename, t.finishedAt.desc().nullsFirst())
      .where(sql`${t.status} = 'succeeded' AND ${t.attempt} = 1`),
    index('generations_history').on(t.userId, ...newest()),
    // Drizzle has no INCLUDE of its own.
    index('generations_usage')
      .on(t.userId, t.createdAt)
      .with({ include: [t.apiKeyId, t.modelVersionId, t.status, t.batchSize, t.cost] })
      .where(sql`${t.cost} >= 0`),
    index('generations_history_of_status').on(t.userId, t.status, ...newest()),
    index('generations_history_of_model').on(t.userId, t.modelVersionId, ...newest()),
  ]
})

/** The live table and all months. What has not ended is in the live table. */
export const allGenerations = pgTable('all_generations', generationColumns())

export const months = pgTable(
  'months',
  { month: date('month').primaryKey(), addedAt: time('added_at').notNull().defaultNow() },
  (t) => [check('months_month_check', sql`${t.month} = date_trunc('month', ${t.month})`)],
)

const putBackColumns = () => ({
  generationId: text('generation_id').notNull(),
  attempt: integer('attempt').notNull(),
  worker: text('worker'),
  backend: text('backend'),
  claimedAt: time('claimed_at'),
  putBackAt: time('put_back_at').notNull().defaultNow(),
  reason: text('reason').$type<PutBackReason>().notNull(),
  counted: boolean('counted').notNull(),
  month: month(),
})

/** The latest attempt is in its generation's row. */
export const putBackAttempts = pgTable('put_back_attempts', putBackColumns(), (t) => [
  primaryKey({ columns: [t.generationId, t.attempt] }),
])

export const allPutBackAttempts = pgTable('all_put_back_attempts', putBackColumns())

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    userId: userId().notNull(),
    key: text('key').notNull(),
    bodyHash: bytea('body_hash').notNull(),
    generationId: text('generation_id').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    stored: boolean('stored').notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.userId, t.key] }), index('idempotency_keys_age').on(t.createdAt)],
)

export const unansweredRequests = pgTable(
  'unanswered_requests',
  {
    generationId: text('generation_id').primaryKey(),
    apiKeyId: uuid('api_key_id').notNull(),
    requestHash: bytea('request_hash').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [index('unanswered_requests_alike').on(t.apiKeyId, t.requestHash)],
)

const ofAttempt = () => ({ generationId: text('generation_id').primaryKey(), attempt: integer('attempt').notNull() })

/** Unlogged: deliveries that are not known to have reached the queue. */
export const unenqueued = pgTable('unenqueued', ofAttempt())

/** Unlogged, like the previews: one-machine mode's live boards. */
export const generationProgress = pgTable('generation_progress', {
  ...ofAttempt(),
  progress: real('progress').notNull(),
  updatedAt: time('updated_at').notNull().defaultNow(),
})

export const generationPreviews = pgTable(
  'generation_previews',
  {
    ...ofAttempt(),
    image: bytea('image').notNull(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  (t) => [check('generation_previews_image_check', sql`length(${t.image}) <= 32768`)],
)

/** The sequence that counts the Create Image starts since the last personal one. */
export const CREATE_IMAGE_STREAK = 'create_image_streak'
/** What it counts, as SQL: no more than a full run, while claims are at it. */
export const streakSoFar = sql<number>`(SELECT least(last_value, ${sql.raw(String(CREATE_IMAGE_RUN))})::integer FROM ${sql.identifier(CREATE_IMAGE_STREAK)})`

/** Only workers of the release before count there. */
export const queueTurn = pgTable(
  'queue_turn',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    createImageStreak: integer('create_image_streak').notNull().default(0),
  },
  (t) => [check('queue_turn_only_row_check', sql`${t.onlyRow}`)],
)
