/** Signing in to the website, and what operators do and see. See schema.ts. */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { bytea, int8, time, userId } from './generations.js'

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    tokenHash: bytea('token_hash').notNull().unique('sessions_token_hash_key'),
    userId: userId().notNull(),
    userAgent: text('user_agent'),
    createdAt: time('created_at').notNull().defaultNow(),
    seenAt: time('seen_at').notNull().defaultNow(),
    expiresAt: time('expires_at').notNull(),
  },
  (t) => [index('sessions_user').on(t.userId)],
)

export const signInLinks = pgTable('sign_in_links', {
  tokenHash: bytea('token_hash').primaryKey(),
  userId: userId().notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
  expiresAt: time('expires_at').notNull(),
  email: text('email'),
})

export const identities = pgTable(
  'identities',
  {
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    userId: userId().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.issuer, t.subject] })],
)

export const unsentMails = pgTable('unsent_mails', {
  id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
  recipient: text('recipient').notNull(),
  subject: text('subject').notNull(),
  body: text('body').notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
})

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
