import { randomBytes } from 'node:crypto'
import { and, desc, eq, gt, isNotNull, isNull, lt, ne, or, sql } from 'drizzle-orm'
import type { Caller, Role } from '../../core/accounts/account.js'
import type { UnsentMailStore } from '../../core/accounts/account-mails.js'
import { type CredentialStore, LINK_MINUTES, SESSION_DAYS, type SessionStore } from '../../core/accounts/session.js'
import { type Database, withTransaction } from '../client.js'
import { USABLE_KEY } from '../key-conditions.js'
import {
  apiKeys as k,
  signInLinks as l,
  unsentMails as m,
  plans as p,
  subscriptions as s,
  sessions as t,
  users as u,
} from '../schema/accounts.js'
import { violatedConstraint } from '../sql-state.js'
import { columns, insertInto, param, type RowOf, selectAs, setList, statement, typedParams } from '../statement.js'
import { CALLER_COLUMNS, reserveName, toCaller } from './accounts.js'

/** Nobody knows a key with this hash: that of random bytes. */
const UNKNOWN_KEY = () => ({ keyHash: randomBytes(32) })

// The account's website key is made with its first session.
const BEGIN = statement('begin_session')`
  WITH account AS (SELECT ${u.id} FROM ${u} WHERE ${u.id} = ${param('accountId')} AND ${u.deletedAt} IS NULL),
  key AS (
    ${insertInto(k, {
      userId: sql`account.id`,
      kind: 'website',
      name: 'Website',
      hash: sql`${param('keyHash')}::bytea`,
      hint: '',
    })} FROM account ON CONFLICT (user_id) WHERE kind = 'website' DO NOTHING
  )
  ${insertInto(t, {
    userId: sql`account.id`,
    tokenHash: sql`${param('tokenHash')}::bytea`,
    userAgent: sql`${param('userAgent')}::text`,
    expiresAt: sql`now() + ${SESSION_DAYS} * interval '1 day'`,
  })} FROM account`

const SIGNED_IN = {
  ...CALLER_COLUMNS,
  sessionId: t.id,
  role: sql<Role>`${u.role}`,
  email: sql<string | null>`${u.email}`,
  language: sql<string | null>`${u.language}`,
  newImagesPrivate: sql<boolean>`${u.newImagesPrivate}`,
  seenIsOld: sql<boolean>`(${t.seenAt} < now() - interval '1 minute')`,
}

// Every page runs it.
const FIND = statement<RowOf<typeof SIGNED_IN>>('find_session')`
  SELECT ${selectAs(SIGNED_IN)} FROM ${t} JOIN ${u} ON ${u.id} = ${t.userId}
    JOIN ${k} ON ${k.userId} = ${u.id} AND ${k.kind} = 'website' LEFT JOIN ${s} ON ${s.userId} = ${u.id}
    LEFT JOIN ${p} ON ${p.name} = ${s.plan}
   WHERE ${t.tokenHash} = ${param('tokenHash')} AND ${t.expiresAt} > now() AND ${u.deletedAt} IS NULL`

const WEBSITE_CALLER = statement<RowOf<typeof CALLER_COLUMNS>>('find_website_caller')`
  SELECT ${selectAs(CALLER_COLUMNS)} FROM ${u}
    JOIN ${k} ON ${k.userId} = ${u.id} AND ${k.kind} = 'website' LEFT JOIN ${s} ON ${s.userId} = ${u.id}
    LEFT JOIN ${p} ON ${p.name} = ${s.plan}
   WHERE ${u.id} = ${param('accountId')}::uuid AND ${USABLE_KEY} AND ${u.deletedAt} IS NULL`

/** What an account calls as when nobody is there; undefined: it was deleted, or nobody has ever signed in to it. */
export const websiteCaller =
  ({ pool }: Database) =>
  async (accountId: string): Promise<Caller | undefined> => {
    const row = await WEBSITE_CALLER.first(pool, { accountId })
    return row && toCaller(row)
  }

const NOTE_SEEN = statement('note_session_seen')`
  WITH seen AS (UPDATE ${t} SET ${setList(t, { seenAt: sql`now()` })} WHERE ${t.id} = ${param('id')})
  DELETE FROM ${t} WHERE ${t.userId} = ${param('accountId')} AND ${t.expiresAt} < now()`

export const sessionStore = ({ orm, pool }: Database): SessionStore => ({
  begin: async (accountId, tokenHash, userAgent) =>
    (await BEGIN.count(pool, { ...UNKNOWN_KEY(), accountId, tokenHash, userAgent })) === 1,

  async find(tokenHash) {
    const row = await FIND.first(pool, { tokenHash })
    if (!row) return undefined
    const { sessionId, role, email, language, newImagesPrivate, seenIsOld } = row
    const caller = toCaller(row)
    // Only for display: not awaited, and a failure is ignored.
    if (seenIsOld) NOTE_SEEN.run(pool, { id: sessionId, accountId: caller.account.id }).catch(() => undefined)
    return { sessionId, role, email, language, newImagesPrivate, caller }
  },

  async setLanguage(accountId, language) {
    await orm.update(u).set({ language }).where(eq(u.id, accountId))
  },

  list: (accountId) =>
    orm
      .select(columns(t, 'id', 'userAgent', 'createdAt', 'seenAt'))
      .from(t)
      .where(and(eq(t.userId, accountId), gt(t.expiresAt, sql`now()`)))
      .orderBy(desc(t.seenAt)),

  async end(accountId, sessionId) {
    await orm.delete(t).where(and(eq(t.userId, accountId), eq(t.id, sessionId)))
  },

  async endAll(accountId) {
    // First, so that none begins one more.
    await orm.delete(l).where(eq(l.userId, accountId))
    await orm.delete(t).where(eq(t.userId, accountId))
  },
})

const IS_VALID = sql<boolean>`${l.expiresAt} > now()`

const ADD_LINK = statement<{ expiresAt: Date }>('add_sign_in_link')`
  ${insertInto(l, {
    tokenHash: sql`${param('tokenHash')}::bytea`,
    userId: sql`${param('accountId')}::uuid`,
    email: sql`${param('email')}::text`,
    expiresAt: sql`now() + ${param('minutes')}::int * interval '1 minute'`,
  })} RETURNING ${selectAs(columns(l, 'expiresAt'))}`

const REGISTER = statement<{ id: string }>('register_account')`
  ${insertInto(u, typedParams(u, 'username', 'passwordHash'))} ON CONFLICT DO NOTHING RETURNING ${u.id}`

export const credentialStore = (db: Database): CredentialStore => {
  const { orm, pool } = db
  return {
    async find(nameOrEmail) {
      const [found] = await orm
        .select({ accountId: u.id, ...columns(u, 'username', 'email', 'language', 'passwordHash') })
        .from(u)
        .where(
          and(
            isNull(u.deletedAt),
            or(
              eq(sql`lower(${u.username})`, sql`lower(${nameOrEmail})`),
              eq(sql`lower(${u.email})`, sql`lower(${nameOrEmail})`),
            ),
          ),
        )
        // A name may look like somebody else's address.
        .orderBy(desc(eq(sql`lower(${u.username})`, sql`lower(${nameOrEmail})`)))
        .limit(1)
      return found
    },

    register: (username, passwordHash) =>
      withTransaction(db, async (tx, client) => {
        if (!(await reserveName(tx, username))) return undefined
        return (await REGISTER.first(client, { username, passwordHash }))?.id
      }),

    async setPassword(accountId, passwordHash, except) {
      await withTransaction(db, async (tx) => {
        await tx.update(u).set({ passwordHash }).where(eq(u.id, accountId))
        await tx.delete(t).where(and(eq(t.userId, accountId), except === undefined ? undefined : ne(t.id, except)))
        await tx.delete(l).where(eq(l.userId, accountId))
      })
    },

    async addLink(accountId, tokenHash, email, minutes = LINK_MINUTES) {
      const added = await ADD_LINK.first(pool, { accountId, tokenHash, minutes, email })
      if (!added) throw new Error('Postgres did not return the new link: try again.')
      return added.expiresAt
    },

    async findLink(tokenHash) {
      const [found] = await orm
        .select(columns(u, 'username'))
        .from(l)
        .innerJoin(u, eq(u.id, l.userId))
        .where(and(eq(l.tokenHash, tokenHash), isNull(l.email), IS_VALID, isNull(u.deletedAt)))
      return found?.username
    },

    async spendLink(tokenHash) {
      const [link] = await orm
        .delete(l)
        .where(and(eq(l.tokenHash, tokenHash), isNull(l.email)))
        .returning({ accountId: l.userId, isValid: IS_VALID })
      return link?.isValid ? link.accountId : undefined
    },

    async pendingEmail(accountId) {
      const [pending] = await orm
        .select({ email: sql<string>`${l.email}`, expiresAt: l.expiresAt })
        .from(l)
        .where(and(eq(l.userId, accountId), isNotNull(l.email), IS_VALID))
        .orderBy(desc(l.createdAt))
        .limit(1)
      return pending
    },

    async cancelEmail(accountId) {
      await orm.delete(l).where(and(eq(l.userId, accountId), isNotNull(l.email)))
    },

    async confirmEmail(accountId, tokenHash) {
      const isLink = and(eq(l.tokenHash, tokenHash), eq(l.userId, accountId), isNotNull(l.email))
      try {
        return await withTransaction(db, async (tx) => {
          // The account's row first, as the operator and a new password do: they end links after it.
          const account = and(eq(u.id, accountId), isNull(u.deletedAt))
          await tx.select(columns(u, 'id')).from(u).where(account).for('update')
          const [link] = await tx.delete(l).where(isLink).returning({ email: l.email, isValid: IS_VALID })
          if (!link?.isValid) return 'over'
          const { rowCount } = await tx.update(u).set({ email: link.email }).where(account)
          // Those that were sent to the address before, too.
          await tx.delete(l).where(eq(l.userId, accountId))
          return rowCount === 1 ? 'confirmed' : 'over'
        })
      } catch (error) {
        if (violatedConstraint(error) !== 'users_email') throw error
        await orm.delete(l).where(isLink)
        return 'taken'
      }
    },

    async forgetExpired() {
      await orm.delete(l).where(lt(l.expiresAt, sql`now()`))
      await orm.delete(m).where(lt(m.createdAt, sql`now() - interval '23 hours'`))
    },
  }
}

export const unsentMailStore = ({ orm }: Database): UnsentMailStore => ({
  async add({ to, subject, text }) {
    await orm.insert(m).values({ recipient: to, subject, body: text })
  },

  list: () =>
    orm
      .select({ to: m.recipient, subject: m.subject, text: m.body, createdAt: m.createdAt })
      .from(m)
      .where(gt(m.createdAt, sql`now() - interval '1 day'`))
      .orderBy(desc(m.id))
      .limit(200),
})
