/** Who may use the service, and how they sign in. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ApiKeyKind, OperatorScope, Role } from '../../core/accounts/account.js'
import type { Notice, NoticeMail } from '../../core/accounts/notices.js'
import type { Plan } from '../../core/accounts/plan.js'
import { DRAWN_ALIKE, READ_AS } from '../../core/accounts/username.js'
import { bytea, int8, time } from './columns.js'

/** The same for names that people take for each other, as in core/accounts/username.ts. */
export const readingOf = (name: SQLWrapper): SQL =>
  sql`replace(replace(translate(lower(${name}), ${sql.raw(`'${DRAWN_ALIKE}', '${READ_AS}'`)}), 'rn', 'm'), 'vv', 'w')`

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
    expiringCredits: int8('expiring_credits').notNull().default(0),
    /** Whether the role came from a group of the identity provider. */
    roleFromGroup: boolean('role_from_group').notNull().default(false),
    /** When the credits fall below it, a notice is due; null: none is until credits come in. */
    noticeBelow: int8('notice_below'),
    /** Of the website; null: as the browser says. */
    language: text('language'),
    /** What it makes on the website is private from the start. */
    newImagesPrivate: boolean('new_images_private').notNull().default(false),
    mailsOff: text('mails_off').array().$type<readonly NoticeMail[]>().notNull().default([]),
  },
  (t) => [
    check('users_username_check', sql`${t.username} ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$'`),
    check('users_credits_check', sql`${t.credits} BETWEEN -9007199254740991 AND 9007199254740991`),
    check('users_role_check', sql`${t.role} IN ('subscriber', 'operator')`),
    check('users_language_check', sql`length(${t.language}) BETWEEN 2 AND 35`),
    check('users_email_check', sql`length(${t.email}) BETWEEN 3 AND 254`),
    uniqueIndex('users_username').on(sql`lower(${t.username})`).where(sql`${t.deletedAt} IS NULL`),
    uniqueIndex('users_email').on(sql`lower(${t.email})`).where(sql`${t.deletedAt} IS NULL`),
    index('users_lookalike').on(readingOf(t.username)).where(sql`${t.deletedAt} IS NULL`),
  ],
)

export const userId = () => uuid('user_id').references(() => users.id)

export const plans = pgTable(
  'plans',
  {
    name: text('name').primaryKey(),
    credits: int8('credits').notNull(),
    period: text('period').$type<Plan['period']>().notNull(),
    carryOver: int8('carry_over'),
    signUpCredits: int8('sign_up_credits').notNull().default(0),
    models: bigint('models', { mode: 'number' }).array(),
    rateLimit: integer('rate_limit'),
    forSale: boolean('for_sale').notNull().default(false),
    retiredAt: time('retired_at'),
    /** Of the payment provider. */
    price: text('price'),
    createdAt: time('created_at').notNull().defaultNow(),
    /** 0: for ever; null: as the installation says. */
    retainPromptsDays: integer('retain_prompts_days'),
    retainImagesDays: integer('retain_images_days'),
  },
  (t) => [
    check('plans_retain_prompts_days_check', sql`${t.retainPromptsDays} >= 0`),
    check('plans_retain_images_days_check', sql`${t.retainImagesDays} >= 0`),
    check('plans_name_check', sql`length(${t.name}) BETWEEN 1 AND 100`),
    check('plans_credits_check', sql`${t.credits} >= 0 AND ${t.signUpCredits} >= 0 AND ${t.carryOver} >= 0`),
    check('plans_period_check', sql`${t.period} IN ('month', 'year')`),
    check('plans_rate_limit_check', sql`${t.rateLimit} > 0`),
  ],
)

export const subscriptions = pgTable(
  'subscriptions',
  {
    userId: userId().primaryKey(),
    status: text('status').notNull(),
    /** A name; there need not be a plan of this name. */
    plan: text('plan').notNull(),
    endDate: time('end_date').notNull(),
    /** From here periods are counted. */
    startedAt: time('started_at').notNull().defaultNow(),
    periodStart: time('period_start'),
    periodEnd: time('period_end'),
    /** The plan, and how many credits it has granted in the period that runs. */
    periodPlan: text('period_plan'),
    periodCredits: int8('period_credits'),
    /** When the reconciler looks at it next; null: not at all. */
    checkAt: time('check_at').defaultNow(),
    /** Until when it is paid at a provider; null: it is paid to none. */
    paidUntil: time('paid_until'),
    /** When it is over, until that is noticed. */
    noticeAt: time('notice_at'),
  },
  (t) => [
    index('subscriptions_notice').on(t.noticeAt).where(sql`${t.noticeAt} IS NOT NULL`),
    index('subscriptions_check').on(t.checkAt).where(sql`${t.checkAt} IS NOT NULL`),
    index('subscriptions_plan').on(t.plan),
  ],
)

/** Of each kind the period that a plan granted last: what it granted counts until its end, also without a subscription. */
export const grantedPeriods = pgTable(
  'granted_periods',
  {
    userId: userId().notNull(),
    kind: text('kind').$type<Plan['period']>().notNull(),
    /** Not paid at a provider. */
    byHand: boolean('by_hand').notNull(),
    startedAt: time('started_at').notNull(),
    start: time('period_start').notNull(),
    end: time('period_end').notNull(),
    credits: int8('credits').notNull(),
    /** Of a year: for months of it that have not begun. */
    left: int8('credits_left').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.userId, t.kind, t.byHand] }),
    check('granted_periods_kind_check', sql`${t.kind} IN ('month', 'year')`),
    check('granted_periods_credits_check', sql`${t.credits} >= 0 AND ${t.left} >= 0`),
  ],
)

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
    expiresAt: time('expires_at'),
    monthlyLimit: int8('monthly_limit'),
    models: bigint('models', { mode: 'number' }).array(),
    /** Of operator keys. */
    scope: text('scope').$type<OperatorScope>(),
  },
  (t) => [
    check('api_keys_kind_check', sql`${t.kind} IN ('personal', 'developer', 'website', 'operator')`),
    check('api_keys_scope_check', sql`${t.scope} IN ('read', 'accounts', 'models', 'all')`),
    check('api_keys_hash_check', sql`length(${t.hash}) = 32`),
    check('api_keys_concurrency_check', sql`${t.concurrency} > 0`),
    index('api_keys_user').on(t.userId),
    uniqueIndex('api_keys_website').on(t.userId).where(sql`${t.kind} = 'website'`),
  ],
)

export const apiKeyId = () => uuid('api_key_id').references(() => apiKeys.id)

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
    /** The verified address that the provider named last. */
    email: text('email'),
  },
  (t) => [primaryKey({ columns: [t.issuer, t.subject] })],
)

export const notices = pgTable(
  'notices',
  {
    id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
    userId: userId().notNull(),
    kind: text('kind').$type<Notice['kind']>().notNull(),
    data: jsonb('data').$type<Notice['data']>().notNull(),
    /** When its mail is tried next; null: it is sent, or there is none. */
    mailAt: time('mail_at').defaultNow(),
    tries: integer('tries').notNull().default(0),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [index('notices_mail').on(t.mailAt).where(sql`${t.mailAt} IS NOT NULL`), index('notices_old').on(t.createdAt)],
)

/** Accounts that their owners have deleted, while what is theirs is still to be wiped. */
export const accountPurges = pgTable('account_purges', {
  userId: userId().primaryKey(),
  attempts: integer('attempts').notNull().default(0),
  dueAt: time('due_at').notNull().defaultNow(),
})

export const unsentMails = pgTable('unsent_mails', {
  id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
  recipient: text('recipient').notNull(),
  subject: text('subject').notNull(),
  body: text('body').notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
})
