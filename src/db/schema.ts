/** The tables as Drizzle sees them; what they mean and guard is told in migrations/. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ApiKeyKind } from '../account/account.js'
import type { GenerationStatus, Lane } from '../generation/generation.js'
import type { MadeWith } from '../generation/run/backend.js'
import type { Sampler } from '../generation/sampler.js'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const int8 = (name: string) => bigint(name, { mode: 'number' })
const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })
const now = sql`now()`

export const users = pgTable('users', {
  id: uuid('id').primaryKey().defaultRandom(),
  username: text('username').notNull(),
  credits: int8('credits').notNull().default(0),
  createdAt: time('created_at').notNull().default(now),
  deletedAt: time('deleted_at'),
})

export const subscriptions = pgTable('subscriptions', {
  userId: uuid('user_id').primaryKey(),
  status: text('status').notNull(),
  plan: text('plan').notNull(),
  endDate: time('end_date').notNull(),
})

export const apiKeys = pgTable('api_keys', {
  id: uuid('id').primaryKey().defaultRandom(),
  userId: uuid('user_id').notNull(),
  kind: text('kind').$type<ApiKeyKind>().notNull(),
  name: text('name').notNull().default(''),
  hash: bytea('hash').notNull(),
  hint: text('hint').notNull(),
  concurrency: integer('concurrency').notNull().default(4),
  createdAt: time('created_at').notNull().default(now),
  lastUsedAt: time('last_used_at'),
  revokedAt: time('revoked_at'),
})

export const modelVersions = pgTable('model_versions', {
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
  createImageModel: text('create_image_model'),
})

export const generations = pgTable('generations', {
  id: text('id').primaryKey(),
  seq: int8('seq').notNull().generatedAlwaysAsIdentity(),
  userId: uuid('user_id').notNull(),
  apiKeyId: uuid('api_key_id').notNull(),
  lane: text('lane').$type<Lane>().notNull(),
  metered: boolean('metered').notNull(),
  status: text('status').$type<GenerationStatus>().notNull().default('queued'),
  modelVersionId: int8('model_version_id').notNull(),
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
  attempt: integer('attempt').notNull().default(1),
  tries: integer('tries').notNull().default(0),
  deaths: integer('deaths').notNull().default(0),
  notBefore: time('not_before').notNull().default(now),
  passedOverAt: time('passed_over_at'),
  leaseUntil: time('lease_until'),
  worker: text('worker'),
  backend: text('backend'),
  error: text('error'),
  createdAt: time('created_at').notNull().default(now),
  startedAt: time('started_at'),
  finishedAt: time('finished_at'),
  deadlineAt: time('deadline_at').notNull(),
})

export const images = pgTable('images', {
  slug: text('slug').primaryKey(),
  generationId: text('generation_id').notNull(),
  idx: integer('idx').notNull(),
  seed: int8('seed').notNull(),
  width: integer('width').notNull(),
  height: integer('height').notNull(),
  bytes: int8('bytes').notNull(),
  sha256: text('sha256').notNull(),
  madeWith: jsonb('made_with').$type<MadeWith>(),
  createdAt: time('created_at').notNull().default(now),
  removedAt: time('removed_at'),
  removedReason: text('removed_reason'),
})

export const usage = pgTable(
  'usage',
  {
    generationId: text('generation_id').notNull(),
    idx: integer('idx').notNull(),
    apiKeyId: uuid('api_key_id').notNull(),
    userId: uuid('user_id').notNull(),
    modelVersionId: int8('model_version_id').notNull(),
    createdAt: time('created_at').notNull().default(now),
  },
  (t) => [primaryKey({ columns: [t.generationId, t.idx] })],
)

export const creditLedger = pgTable('credit_ledger', {
  id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
  userId: uuid('user_id').notNull(),
  kind: text('kind').$type<'grant' | 'charge' | 'refund'>().notNull(),
  delta: int8('delta').notNull(),
  balance: int8('balance').notNull(),
  generationId: text('generation_id'),
  note: text('note'),
  ref: text('ref'),
  createdAt: time('created_at').notNull().default(now),
})

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    userId: uuid('user_id').notNull(),
    key: text('key').notNull(),
    bodyHash: bytea('body_hash').notNull(),
    generationId: text('generation_id').notNull(),
    createdAt: time('created_at').notNull().default(now),
    stored: boolean('stored').notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.userId, t.key] })],
)

export const backends = pgTable(
  'backends',
  {
    worker: text('worker').notNull(),
    name: text('name').notNull(),
    up: boolean('up').notNull(),
    models: text('models').array(),
    samplers: text('samplers').array().notNull(),
    maxSeed: int8('max_seed').notNull(),
    changedAt: time('changed_at').notNull().default(now),
    seenAt: time('seen_at').notNull().default(now),
  },
  (t) => [primaryKey({ columns: [t.worker, t.name] })],
)

export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  holder: text('holder').notNull(),
  until: time('until').notNull(),
})

export const generationProgress = pgTable('generation_progress', {
  generationId: text('generation_id').primaryKey(),
  attempt: integer('attempt').notNull(),
  progress: real('progress').notNull(),
  updatedAt: time('updated_at').notNull().default(now),
})

export const generationPreviews = pgTable('generation_previews', {
  generationId: text('generation_id').primaryKey(),
  attempt: integer('attempt').notNull(),
  image: bytea('image').notNull(),
  updatedAt: time('updated_at').notNull().default(now),
})
