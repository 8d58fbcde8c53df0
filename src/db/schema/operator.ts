/** What operators do and see. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { AuditResult } from '../../core/operator/overview.js'
import { apiKeyId, userId } from './accounts.js'
import { bytea, int8, time } from './columns.js'

export const operatorActions = pgTable('operator_actions', {
  id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
  at: time('at').notNull().defaultNow(),
  actor: text('actor').notNull(),
  action: text('action').notNull(),
  target: text('target').notNull().default(''),
  reason: text('reason').notNull().default(''),
})

export const refusedPrompts = pgTable(
  'refused_prompts',
  {
    id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
    at: time('at').notNull().defaultNow(),
    userId: userId().notNull(),
    parameter: text('parameter').notNull(),
    category: text('category').notNull(),
    matched: text('matched').array().notNull(),
    prompt: text('prompt').notNull(),
    wrongAt: time('wrong_at'),
    wrongBy: text('wrong_by'),
  },
  (t) => [index('refused_prompts_user').on(t.userId, t.id)],
)

export const pauses = pgTable(
  'pauses',
  {
    scope: text('scope').$type<'all' | 'model' | 'backend'>().notNull(),
    target: text('target').notNull().default(''),
    reason: text('reason').notNull(),
    pausedAt: time('paused_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.scope, t.target] }),
    check('pauses_scope_check', sql`${t.scope} IN ('all', 'model', 'backend')`),
  ],
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

export const adminRequests = pgTable(
  'admin_requests',
  {
    apiKeyId: apiKeyId().notNull(),
    key: text('key').notNull(),
    requestHash: bytea('request_hash').notNull(),
    status: integer('status').notNull(),
    answer: jsonb('answer').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.apiKeyId, t.key] }), index('admin_requests_age').on(t.createdAt)],
)
