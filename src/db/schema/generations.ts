/**
 * Every table of the service, as migrations/ leave it (test/db/schema/schema.test.ts) and explain it. Webhooks are in
 * webhook-schema.ts, signing in and the operators' own tables in website-schema.ts, what processes tell each other in
 * process-schema.ts. Statements import a table under one letter, like
 * `generations as g`.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  customType,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ApiKeyKind, Role } from '../../core/accounts/account.js'
import type { GenerationStatus, Lane, Sampler } from '../../core/generations/generation.js'
import type { MadeWith } from '../../core/generations/run/backend.js'
import type { PutBackReason } from '../../core/generations/run/ports.js'
import { readingOf } from './name-reading.js'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const int8 = (name: string) => bigint(name, { mode: 'number' })
export const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    username: text('username').notNull(),
    credits: int8('credits').notNull().default(0),
    createdAt: time('created_at').notNull().defaultNow(),
    deletedAt: time('deleted_at'),
    email: text('email'),
    passwordHash: text('password_hash'),
    role: text('role').$type<Role>().notNull().default('subscriber'),
  },
  (t) => [
    check('users_username_check', sql`${t.username} ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$'`),
    check('users_credits_check', sql`${t.credits} BETWEEN 0 AND 9007199254740991`),
    check('users_role_check', sql`${t.role} IN ('subscriber', 'operator')`),
    check('users_email_check', sql`length(${t.email}) BETWEEN 3 AND 254`),
    uniqueIndex('users_username').on(sql`lower(${t.username})`).where(sql`${t.deletedAt} IS NULL`),
    uniqueIndex('users_email').on(sql`lower(${t.email})`).where(sql`${t.deletedAt} IS NULL`),
    index('users_lookalike').on(readingOf(t.username)).where(sql`${t.deletedAt} IS NULL`),
  ],
)
export const userId = () => uuid('user_id').references(() => users.id)

export const subscriptions = pgTable('subscriptions', {
  userId: userId().primaryKey(),
  status: text('status').notNull(),
  plan: text('plan').notNull(),
  endDate: time('end_date').notNull(),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    userId: userId().notNull(),
    kind: text('kind').$type<ApiKeyKind>().notNull(),
    name: text('name').notNull().default(''),
    hash: bytea('hash').notNull().unique('api_keys_hash_key'),
    hint: text('hint').notNull(),
    concurrency: integer('concurrency').notNull().default(4),
    createdAt: time('created_at').notNull().defaultNow(),
    lastUsedAt: time('last_used_at'),
    revokedAt: time('revoked_at'),
  },
  (t) => [
    check('api_keys_kind_check', sql`${t.kind} IN ('personal', 'developer', 'website')`),
    check('api_keys_hash_check', sql`length(${t.hash}) = 32`),
    check('api_keys_concurrency_check', sql`${t.concurrency} > 0`),
    index('api_keys_user').on(t.userId),
    uniqueIndex('api_keys_website').on(t.userId).where(sql`${t.kind} = 'website'`),
  ],
)

export const modelVersions = pgTable(
  'model_versions',
  {
    id: int8('id').primaryKey(),
    name: text('name').notNull(),
    modelName: text('model_name').notNull(),
    baseModel: text('base_model').notNull(),
    type: text('type').notNull(),
    filename: text('filename').notNull(),
    coverImage: text('cover_image'),
    nsfw: boolean('nsfw').notNull().default(false),
    enabled: boolean('enabled').notNull().default(true),
    creditsPerImage: int8('credits_per_image').notNull().default(1),
    createImageModel: text('create_image_model').unique('model_versions_create_image_model_key'),
  },
  (t) => [
    check('model_versions_id_check', sql`${t.id} > 0`),
    check('model_versions_credits_per_image_check', sql`${t.creditsPerImage} BETWEEN 0 AND 1000000`),
  ],
)
export const catalogRevision = pgTable(
  'catalog_revision',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    revision: uuid('revision').notNull(),
  },
  (t) => [check('catalog_revision_only_row_check', sql`${t.onlyRow}`)],
)
const apiKeyId = () => uuid('api_key_id').references(() => apiKeys.id)
const modelVersionId = () => int8('model_version_id').references(() => modelVersions.id)

export const generations = pgTable(
  'generations',
  {
    id: text('id').primaryKey(),
    seq: int8('seq').notNull().generatedAlwaysAsIdentity(),
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
  },
  (t) => {
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
      index('generations_processing').on(t.seq).where(sql`${t.status} = 'processing'`),
      index('generations_newest_succeeded').on(t.seq).where(sql`${t.status} = 'succeeded'`),
      index('generations_newest_failed').on(t.seq).where(sql`${t.status} = 'failed'`),
      index('generations_deadline').on(t.deadlineAt).where(sql`${t.finishedAt} IS NULL`),
      index('generations_wasted').on(t.finishedAt).where(sql`${t.status} = 'failed' AND ${t.startedAt} IS NOT NULL`),
      index('generations_durations')
        .on(t.filename, t.finishedAt.desc().nullsFirst())
        .where(sql`${t.status} = 'succeeded' AND ${t.attempt} = 1`),
      index('generations_history').on(t.userId, ...newest()),
      index('generations_history_of_status').on(t.userId, t.status, ...newest()),
      index('generations_history_of_model').on(t.userId, t.modelVersionId, ...newest()),
    ]
  },
)
export const generationId = () => text('generation_id').references(() => generations.id)

/** The latest attempt is in its generation's row. */
export const putBackAttempts = pgTable(
  'put_back_attempts',
  {
    generationId: text('generation_id').notNull(),
    attempt: integer('attempt').notNull(),
    worker: text('worker'),
    backend: text('backend'),
    claimedAt: time('claimed_at'),
    putBackAt: time('put_back_at').notNull().defaultNow(),
    reason: text('reason').$type<PutBackReason>().notNull(),
    counted: boolean('counted').notNull(),
  },
  (t) => [primaryKey({ columns: [t.generationId, t.attempt] })],
)

export const images = pgTable(
  'images',
  {
    slug: text('slug').primaryKey(),
    generationId: generationId().notNull(),
    idx: integer('idx').notNull(),
    seed: int8('seed').notNull(),
    width: integer('width').notNull(),
    height: integer('height').notNull(),
    bytes: int8('bytes').notNull(),
    sha256: text('sha256').notNull(),
    madeWith: jsonb('made_with').$type<MadeWith>(),
    createdAt: time('created_at').notNull().defaultNow(),
    removedAt: time('removed_at'),
    removedReason: text('removed_reason'),
    hasThumbnail: boolean('has_thumbnail').notNull().default(false),
  },
  (t) => [
    check('images_idx_check', sql`${t.idx} BETWEEN 0 AND 3`),
    unique('images_generation_id_idx_key').on(t.generationId, t.idx),
    index('images_removed').on(t.slug).where(sql`${t.removedAt} IS NOT NULL`),
  ],
)

export const takedowns = pgTable(
  'takedowns',
  {
    slug: text('slug')
      .primaryKey()
      .references(() => images.slug),
    attempts: integer('attempts').notNull().default(0),
    dueAt: time('due_at').notNull().defaultNow(),
  },
  (t) => [index('takedowns_due').on(t.dueAt)],
)

export const usage = pgTable(
  'usage',
  {
    generationId: generationId().notNull(),
    idx: integer('idx').notNull(),
    apiKeyId: apiKeyId().notNull(),
    userId: userId().notNull(),
    modelVersionId: modelVersionId().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.generationId, t.idx] }), index('usage_user').on(t.userId, t.createdAt)],
)

export const creditLedger = pgTable(
  'credit_ledger',
  {
    id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
    userId: userId().notNull(),
    kind: text('kind').$type<'grant' | 'charge' | 'refund'>().notNull(),
    delta: int8('delta').notNull(),
    balance: int8('balance').notNull(),
    generationId: generationId(),
    note: text('note'),
    ref: text('ref'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [
    check('credit_ledger_kind_check', sql`${t.kind} IN ('grant', 'charge', 'refund')`),
    check('credit_ledger_check', sql`(${t.kind} = 'grant') = (${t.generationId} IS NULL)`),
    check('credit_ledger_check1', sql`${t.kind} <> 'charge' OR ${t.delta} <= 0`),
    check('credit_ledger_check2', sql`${t.kind} <> 'refund' OR ${t.delta} >= 0`),
    unique('credit_ledger_generation_id_kind_key').on(t.generationId, t.kind),
    uniqueIndex('credit_ledger_ref').on(t.userId, t.ref).where(sql`${t.ref} IS NOT NULL`),
    index('credit_ledger_user').on(t.userId, t.id),
  ],
)

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
