/** Credits that moved, and what the keys of developers have used. */
import { sql } from 'drizzle-orm'
import { check, foreignKey, index, integer, pgTable, primaryKey, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import type { LedgerKind } from '../../core/accounts/ledger.js'
import { apiKeyId, userId } from './accounts.js'
import { modelVersionId } from './catalog.js'
import { int8, month, time } from './columns.js'
import { generations } from './generations.js'

const ledgerColumns = () => ({
  id: int8('id').primaryKey().default(sql`nextval('credit_ledger_id_seq'::regclass)`),
  userId: userId().notNull(),
  kind: text('kind').$type<LedgerKind>().notNull(),
  delta: int8('delta').notNull(),
  balance: int8('balance').notNull(),
  generationId: text('generation_id'),
  note: text('note'),
  ref: text('ref'),
  createdAt: time('created_at').notNull().defaultNow(),
  expiringDelta: int8('expiring_delta').notNull().default(0),
  /** Null: written by a release that knows of no credits that expire, and left them as they were. */
  expiringBalance: int8('expiring_balance'),
  month: month(),
})

/** The live table: what belongs to no generation, or to one that has not moved to its month. */
export const creditLedger = pgTable('credit_ledger', ledgerColumns(), (t) => [
  foreignKey({ columns: [t.generationId], foreignColumns: [generations.id] }),
  check(
    'credit_ledger_kind_check',
    sql`${t.kind} IN ('grant', 'charge', 'refund', 'adjustment', 'expire', 'purchase')`,
  ),
  check(
    'credit_ledger_check',
    sql`(${t.kind} IN ('charge', 'refund')) = (${t.generationId} IS NOT NULL)
        AND (${t.balance} >= 0 OR ${t.delta} >= 0 OR ${t.kind} = 'adjustment')`,
  ),
  check('credit_ledger_check1', sql`${t.kind} <> 'charge' OR ${t.delta} <= 0`),
  check('credit_ledger_check2', sql`${t.kind} <> 'refund' OR ${t.delta} >= 0`),
  unique('credit_ledger_generation_id_kind_key').on(t.generationId, t.kind),
  uniqueIndex('credit_ledger_ref').on(t.userId, t.ref).where(sql`${t.ref} IS NOT NULL`),
  index('credit_ledger_user').on(t.userId, t.id),
  index('credit_ledger_moved').on(t.createdAt).where(sql`${t.generationId} IS NULL`),
])

/** The live table and all months. */
export const allCreditLedger = pgTable('all_credit_ledger', ledgerColumns())

const usageColumns = () => ({
  generationId: text('generation_id').notNull(),
  idx: integer('idx').notNull(),
  apiKeyId: apiKeyId().notNull(),
  userId: userId().notNull(),
  modelVersionId: modelVersionId().notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
  month: month(),
})

export const usage = pgTable('usage', usageColumns(), (t) => [
  foreignKey({ columns: [t.generationId], foreignColumns: [generations.id] }),
  primaryKey({ columns: [t.generationId, t.idx] }),
  index('usage_user').on(t.userId, t.createdAt),
])

export const allUsage = pgTable('all_usage', usageColumns())
