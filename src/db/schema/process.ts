/** What the running processes tell each other through Postgres. See schema.ts. */
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import type { AuditResult } from '../../core/operator/overview.js'
import { bytea, int8, time } from './generations.js'

export const queueTurn = pgTable(
  'queue_turn',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    createImageStreak: integer('create_image_streak').notNull().default(0),
  },
  (t) => [check('queue_turn_only_row_check', sql`${t.onlyRow}`)],
)

export const backends = pgTable(
  'backends',
  {
    worker: text('worker').notNull(),
    name: text('name').notNull(),
    up: boolean('up').notNull(),
    models: text('models').array(),
    samplers: text('samplers').array().notNull().default([]),
    maxSeed: int8('max_seed').notNull().default(4294967295),
    sizeMultiple: integer('size_multiple').notNull().default(8),
    maxCfgScale: doublePrecision('max_cfg_scale'),
    loaded: text('loaded'),
    error: text('error'),
    errorAt: time('error_at'),
    failing: boolean('failing').notNull().default(false),
    changedAt: time('changed_at').notNull().defaultNow(),
    seenAt: time('seen_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.worker, t.name] })],
)

export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  holder: text('holder').notNull(),
  until: time('until').notNull(),
})

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

export const auditProgress = pgTable(
  'audit_progress',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    seq: int8('seq').notNull().default(0),
    ledgerId: int8('ledger_id').notNull().default(0),
  },
  (t) => [check('audit_progress_only_row_check', sql`${t.onlyRow}`)],
)

export const lastAudit = pgTable(
  'last_audit',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    finishedAt: time('finished_at').notNull().defaultNow(),
    tookMs: integer('took_ms').notNull(),
    checks: jsonb('checks').$type<AuditResult['checks']>().notNull(),
  },
  (t) => [check('last_audit_only_row_check', sql`${t.onlyRow}`)],
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
