/** Payment: what the provider told, what it is asked, and what was paid. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { PaidSubscription } from '../../core/billing/payment-provider.js'
import type { AskedKind, Problem } from '../../core/billing/ports.js'
import { userId } from './accounts.js'
import { int8, time } from './columns.js'

export const paymentCustomers = pgTable(
  'payment_customers',
  {
    id: text('id').primaryKey(),
    /** Null: nobody's account that is known. */
    userId: userId(),
    /** As long as the account is not known. */
    email: text('email'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('payment_customers_user').on(t.userId),
    index('payment_customers_email').on(sql`lower(${t.email})`).where(sql`${t.userId} IS NULL`),
  ],
)

export const paymentEvents = pgTable(
  'payment_events',
  {
    id: text('id').primaryKey(),
    seq: int8('seq').notNull().generatedAlwaysAsIdentity(),
    type: text('type').notNull(),
    createdAt: time('created_at').notNull(),
    receivedAt: time('received_at').notNull().defaultNow(),
    kind: text('kind').$type<AskedKind>(),
    objectId: text('object_id'),
    customer: text('customer'),
    body: jsonb('body').notNull(),
    workedOffAt: time('worked_off_at'),
  },
  (t) => [
    index('payment_events_open')
      .on(t.kind, t.objectId, t.seq)
      .where(sql`${t.kind} IS NOT NULL AND ${t.workedOffAt} IS NULL`),
    index('payment_events_received').on(t.receivedAt),
  ],
)

export const paymentObjects = pgTable(
  'payment_objects',
  {
    kind: text('kind').$type<AskedKind>().notNull(),
    id: text('id').notNull(),
    customer: text('customer'),
    createdAt: time('created_at').notNull().defaultNow(),
    /** When it is asked for next; null: not unless an event comes. */
    dueAt: time('due_at').defaultNow(),
    /** Until then it is being asked for, or waits after a failure. */
    notBefore: time('not_before').notNull().default(sql`'-infinity'`),
    /** Raised each time that it is asked for: an answer is dropped unless it is still the same. */
    version: int8('version').notNull().default(0),
    askedAt: time('asked_at'),
    failures: integer('failures').notNull().default(0),
    failure: text('failure'),
    failingSince: time('failing_since'),
    problem: text('problem').$type<Problem>(),
    dismissedAt: time('dismissed_at'),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.id] }),
    check('payment_objects_kind_check', sql`${t.kind} IN ('subscription', 'payment', 'cancellation')`),
    index('payment_objects_due').on(sql`greatest(${t.dueAt}, ${t.notBefore})`).where(sql`${t.dueAt} IS NOT NULL`),
    index('payment_objects_unmatched')
      .on(t.createdAt)
      .where(sql`(${t.problem} IS NOT NULL OR ${t.failures} > 0) AND ${t.dismissedAt} IS NULL`),
    index('payment_objects_customer').on(t.customer),
  ],
)

/** Accounts of which the provider is to be told: what it knows of them has changed. A trigger of `users` adds them. */
export const customerChanges = pgTable(
  'customer_changes',
  {
    userId: userId().primaryKey(),
    /** Rises with each change, so that telling it ends only what was told. */
    changes: integer('changes').notNull().default(0),
    attempts: integer('attempts').notNull().default(0),
    /** While a server tells it, the end of its time for that. */
    dueAt: time('due_at').notNull().defaultNow(),
  },
  (t) => [index('customer_changes_due').on(t.dueAt)],
)

/** What went wrong with the provider and only an operator can mend; each fault once, however often it was met. */
export const paymentFaults = pgTable(
  'payment_faults',
  {
    key: text('key').primaryKey(),
    sentence: text('sentence').notNull(),
    times: integer('times').notNull().default(1),
    firstAt: time('first_at').notNull().defaultNow(),
    lastAt: time('last_at').notNull().defaultNow(),
  },
  (t) => [index('payment_faults_last').on(t.lastAt)],
)

export const paidSubscriptions = pgTable(
  'paid_subscriptions',
  {
    id: text('id').primaryKey(),
    customer: text('customer')
      .notNull()
      .references(() => paymentCustomers.id),
    price: text('price').notNull(),
    /** As last matched to its price; null: never. */
    plan: text('plan'),
    status: text('status').$type<PaidSubscription['status']>().notNull(),
    startedAt: time('started_at').notNull(),
    paidUntil: time('paid_until').notNull(),
    endsAt: time('ends_at'),
    /** What it changes to, as scheduled at the provider; null: nothing is, or the provider does not tell. */
    nextPrice: text('next_price'),
    nextAt: time('next_at'),
  },
  (t) => [index('paid_subscriptions_customer').on(t.customer), index('paid_subscriptions_price').on(t.price)],
)

export const payments = pgTable(
  'payments',
  {
    id: text('id').primaryKey(),
    customer: text('customer'),
    /** Who got something for it; null: nobody yet. */
    userId: userId(),
    amount: int8('amount').notNull(),
    currency: text('currency').notNull(),
    returned: int8('returned').notNull(),
    paidAt: time('paid_at'),
    /** The money is on its way, as that of a bank debit is for days. */
    isPending: boolean('is_pending').notNull().default(false),
    pack: text('pack'),
    subscription: text('subscription'),
    periodStart: time('period_start'),
    /** Credits that it brought, and how many of them were taken back. */
    credits: int8('credits').notNull().default(0),
    takenBack: int8('taken_back').notNull().default(0),
    /** How often credits were taken back or given again: numbers the entries of the ledger. */
    moves: integer('moves').notNull().default(0),
  },
  (t) => [
    check('payments_check', sql`${t.takenBack} BETWEEN 0 AND ${t.credits}`),
    index('payments_user').on(t.userId),
    index('payments_pending').on(t.customer).where(sql`${t.isPending}`),
  ],
)

export const creditPacks = pgTable(
  'credit_packs',
  {
    name: text('name').primaryKey(),
    credits: int8('credits').notNull(),
    /** Of the payment provider. */
    price: text('price').notNull(),
    retiredAt: time('retired_at'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [
    check('credit_packs_name_check', sql`length(${t.name}) BETWEEN 1 AND 100`),
    check('credit_packs_credits_check', sql`${t.credits} > 0`),
  ],
)
