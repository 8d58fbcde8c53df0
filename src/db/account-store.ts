import { desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Account, AccountStore, ApiKeyKind, Caller, Subscription } from '../account/account.js'
import { type Database, violatedConstraint } from './client.js'
import { apiKeys, creditLedger, subscriptions, users } from './schema.js'
import { assign, insertInto, named, param, pick, type Statement, statement } from './statement.js'

const k = alias(apiKeys, 'k')
const s = alias(subscriptions, 's')
const u = alias(users, 'u')

/** What a subscription is now, whatever a process's own clock says; null without one. */
const STATUS_NOW = sql<string>`CASE WHEN ${s.endDate} <= now() THEN 'expired' ELSE ${s.status} END`

interface CallerRow extends Omit<Account, 'subscription'> {
  readonly hash: Buffer
  readonly keyId: string
  readonly keyKind: ApiKeyKind
  readonly concurrency: number
  /** The key's last use was noted over a minute ago. */
  readonly stale: boolean
  readonly status: string | null
  readonly plan: string | null
  readonly endDate: Date | null
}

const callerStatement = (name: string, which: SQL): Statement<CallerRow> =>
  statement<CallerRow>(name)`
    SELECT ${named({
      ...pick(k, 'hash', 'concurrency'),
      keyId: k.id,
      keyKind: k.kind,
      stale: sql`(${k.lastUsedAt} IS NULL OR ${k.lastUsedAt} < now() - interval '1 minute')`,
      ...pick(u, 'id', 'username', 'credits'),
      deleted: sql`${u.deletedAt} IS NOT NULL`,
      status: STATUS_NOW,
      ...pick(s, 'plan', 'endDate'),
    })}
      FROM ${apiKeys} ${k} JOIN ${users} ${u} ON ${u.id} = ${k.userId}
      LEFT JOIN ${subscriptions} ${s} ON ${s.userId} = ${u.id}
     WHERE ${k.revokedAt} IS NULL AND ${which}`

// The hottest statement of all.
const FIND_CALLER = callerStatement('find_caller', sql`${k.hash} = ${param('hash')}`)
const FIND_CALLERS = callerStatement('find_callers', sql`${k.hash} = ANY (${param('hashes')}::bytea[])`)
const NOTE_USE = statement('note_key_use')`
  UPDATE ${apiKeys} ${k} SET ${assign(k, { lastUsedAt: sql`now()` })} WHERE ${k.id} = ANY (${param('ids')})`

/** Keys are looked up anew on every request: what is revoked is refused at once, on every replica. */
export const accountStore = ({ pool }: Database): AccountStore => {
  const noted = (rows: CallerRow[]): CallerRow[] => {
    const ids = rows.filter(({ stale }) => stale).map(({ keyId }) => keyId)
    // Only for display: nobody waits for it and its failure changes nothing.
    if (ids.length > 0) NOTE_USE.count(pool, { ids }).catch(() => undefined)
    return rows
  }
  return {
    async findCaller(hash) {
      const [row] = noted(await FIND_CALLER.rows(pool, { hash }))
      return row && toCaller(row)
    },
    async findCallers(hashes) {
      const rows = noted(await FIND_CALLERS.rows(pool, { hashes }))
      const callers = new Map(rows.map((row) => [row.hash.toString('hex'), toCaller(row)]))
      return hashes.map((hash) => callers.get(hash.toString('hex')))
    },
  }
}

function toCaller({ keyId, keyKind, concurrency, ...row }: CallerRow): Caller {
  const { id, username, credits, deleted, status, plan, endDate } = row
  const subscription = status !== null && plan !== null && endDate ? { status, plan, endDate } : null
  return { account: { id, username, credits, subscription, deleted }, keyId, keyKind, concurrency }
}

/** An account as the operator sees it: deleted ones too. */
export interface OperatorUser {
  readonly id: string
  readonly username: string
  readonly credits: number
  readonly subscription: Subscription | null
  readonly createdAt: Date
  readonly deletedAt: Date | null
}

// User, subscription and the ledger row of the first credits: all or nothing.
const CREATE = statement<{ id: string }>('create_user')`
  WITH created AS (
    ${insertInto(users, { username: param('username'), credits: sql`${param('credits')}::bigint` })}
    RETURNING ${users.id}, ${users.credits}
  ), subscribed AS (
    ${insertInto(subscriptions, {
      userId: sql`created.id`,
      status: 'active',
      plan: sql`${param('plan')}::text`,
      endDate: sql`${param('endDate')}::timestamptz`,
    })} FROM created WHERE ${param('plan')}::text IS NOT NULL
  ), entered AS (
    ${insertInto(creditLedger, {
      userId: sql`created.id`,
      kind: 'grant',
      delta: sql`created.credits`,
      balance: sql`created.credits`,
      note: 'Credits at the start',
    })} FROM created WHERE created.credits > 0
  )
  SELECT id FROM created`

export const operatorUserStore = ({ orm, pool }: Database) => {
  const select = (where: SQL | undefined) =>
    orm
      .select({ user: users, held: s, status: STATUS_NOW })
      .from(users)
      .leftJoin(s, eq(s.userId, users.id))
      .where(where)
  type Selected = Awaited<ReturnType<typeof select>>[number]
  const toUser = ({ user, held, status }: Selected): OperatorUser => ({
    ...user,
    subscription: held && { status, plan: held.plan, endDate: held.endDate },
  })

  return {
    /** Resolves to the new user's id, or undefined when a user of that name exists. */
    async create(
      username: string,
      credits: number,
      subscription: { readonly plan: string; readonly endDate: Date } | undefined,
    ): Promise<string | undefined> {
      try {
        const { plan, endDate } = subscription ?? {}
        return (await CREATE.first(pool, { username, credits, plan, endDate }))?.id
      } catch (error) {
        if (violatedConstraint(error) === 'users_username') return undefined
        throw error
      }
    },

    /** By name, whatever its case: the user who has it now, else the one deleted last. */
    async find(username: string): Promise<OperatorUser | undefined> {
      const [row] = await select(sql`lower(${users.username}) = lower(${username})`)
        .orderBy(sql`${users.deletedAt} DESC NULLS FIRST`)
        .limit(1)
      return row && toUser(row)
    },

    /** By name, the deleted ones after the others. */
    async list(): Promise<OperatorUser[]> {
      const byName = sql`lower(${users.username}) COLLATE "C"`
      return (await select(undefined).orderBy(desc(isNull(users.deletedAt)), byName, users.createdAt)).map(toUser)
    },

    /** Marks the user as deleted; nothing of theirs goes away. Resolves to when it was deleted first. */
    async delete(id: string): Promise<Date | undefined> {
      const deletedAt = sql`coalesce(${users.deletedAt}, now())`
      const [row] = await orm
        .update(users)
        .set({ deletedAt })
        .where(eq(users.id, id))
        .returning(pick(users, 'deletedAt'))
      return row?.deletedAt ?? undefined
    },
  }
}

interface SubscriptionChange {
  readonly plan: string | undefined
  readonly status: string | undefined
  readonly endDate: Date | undefined
}

const SUBSCRIPTION = named({ status: STATUS_NOW, ...pick(s, 'plan', 'endDate') })
const STATUS = sql`${param('status')}::text`
const END_DATE = sql`${param('endDate')}::timestamptz`

const CHANGE = statement<Subscription>('change_subscription')`
  UPDATE ${subscriptions} ${s} SET ${assign(s, {
    plan: sql`coalesce(${param('plan')}, ${s.plan})`,
    status: sql`coalesce(${STATUS}, ${s.status})`,
    endDate: sql`coalesce(${END_DATE}, ${s.endDate})`,
  })}
   WHERE ${s.userId} = ${param('userId')} RETURNING ${SUBSCRIPTION}`

const BEGIN = statement<Subscription>('begin_subscription')`
  INSERT INTO ${subscriptions} AS s (user_id, plan, status, end_date)
  VALUES (${param('userId')}, ${param('plan')}, coalesce(${STATUS}, 'active'),
          coalesce(${END_DATE}, ${param('defaultEnd')}::timestamptz))
  ON CONFLICT (user_id) DO UPDATE SET ${assign(s, {
    plan: sql`excluded.plan`,
    status: sql`coalesce(${STATUS}, ${s.status})`,
    endDate: sql`coalesce(${END_DATE}, ${s.endDate})`,
  })}
  RETURNING ${SUBSCRIPTION}`

export const operatorSubscriptionStore = ({ orm, pool }: Database) => ({
  /**
   * Changes what is given and keeps the rest. A first subscription is active until `defaultEnd` unless told otherwise;
   * without a plan there is none to begin, and the answer is undefined.
   */
  async set(userId: string, change: SubscriptionChange, defaultEnd: Date): Promise<Subscription | undefined> {
    const changed = await CHANGE.first(pool, { ...change, userId })
    if (changed || change.plan === undefined) return changed
    return BEGIN.first(pool, { ...change, userId, defaultEnd })
  },

  async remove(userId: string): Promise<void> {
    await orm.delete(subscriptions).where(eq(subscriptions.userId, userId))
  },
})
