import { desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Subscription } from '../account/account.js'
import { type Database, violatedConstraint } from './client.js'
import { STATUS_NOW } from './operator-subscription-store.js'
import { subscriptions, users } from './schema.js'

/** A user as the operator sees it: deleted ones too. */
export interface OperatorUser {
  readonly id: string
  readonly username: string
  readonly credits: number
  readonly subscription: Subscription | null
  readonly createdAt: Date
  readonly deletedAt: Date | null
}

// User, subscription and the ledger row of the first credits: all or nothing.
const CREATE = `
  WITH created AS (
    INSERT INTO users (username, credits) VALUES ($1, $2) RETURNING id, credits
  ), subscribed AS (
    INSERT INTO subscriptions (user_id, status, plan, end_date)
    SELECT id, 'active', $3::text, $4::timestamptz FROM created WHERE $3::text IS NOT NULL
  ), entered AS (
    INSERT INTO credit_ledger (user_id, kind, delta, balance, note)
    SELECT id, 'grant', credits, credits, 'Credits at the start' FROM created WHERE credits > 0
  )
  SELECT id FROM created`

const held = alias(subscriptions, 's')

export const operatorUserStore = ({ orm, pool }: Database) => {
  const select = (where: SQL | undefined) =>
    orm
      .select({ user: users, held, status: sql<string>`${sql.raw(STATUS_NOW)}` })
      .from(users)
      .leftJoin(held, eq(held.userId, users.id))
      .where(where)
  const named = (username: string) => sql`lower(${users.username}) = lower(${username})`

  return {
    /** Resolves to the new user's id, or undefined when a user of that name exists. */
    async create(
      username: string,
      credits: number,
      subscription: { readonly plan: string; readonly endDate: Date } | undefined,
    ): Promise<string | undefined> {
      try {
        const values = [username, credits, subscription?.plan ?? null, subscription?.endDate ?? null]
        return (await pool.query<{ id: string }>(CREATE, values)).rows[0]?.id
      } catch (error) {
        if (violatedConstraint(error) === 'users_username') return undefined
        throw error
      }
    },

    /** By name, whatever its case: the user who has it now, else the one deleted last. */
    async find(username: string): Promise<OperatorUser | undefined> {
      const [row] = await select(named(username)).orderBy(sql`${users.deletedAt} DESC NULLS FIRST`).limit(1)
      return row && toUser(row)
    },

    /** By name, the deleted ones after the others. */
    async list(): Promise<OperatorUser[]> {
      const rows = await select(undefined).orderBy(
        desc(isNull(users.deletedAt)),
        sql`lower(${users.username}) COLLATE "C"`,
        users.createdAt,
      )
      return rows.map(toUser)
    },

    /** Marks the user as deleted; nothing of theirs goes away. Resolves to when it was deleted first. */
    async delete(id: string): Promise<Date | undefined> {
      const { rows } = await pool.query<{ at: Date }>(
        'UPDATE users SET deleted_at = coalesce(deleted_at, now()) WHERE id = $1 RETURNING deleted_at AS at',
        [id],
      )
      return rows[0]?.at
    },
  }
}

function toUser({
  user,
  held,
  status,
}: {
  user: typeof users.$inferSelect
  held: typeof subscriptions.$inferSelect | null
  status: string
}): OperatorUser {
  return { ...user, subscription: held && { status, plan: held.plan, endDate: held.endDate } }
}
