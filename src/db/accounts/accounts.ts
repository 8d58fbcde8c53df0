import { setTimeout as delay } from 'node:timers/promises'
import { and, desc, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { AccountStore, Caller, OperatorScope, Role, Subscription } from '../../core/accounts/account.js'
import type { NewAccount } from '../../core/operator/accounts.js'
import { batched, joined } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { USABLE_KEY } from '../key-conditions.js'
import { PAYMENT_DUE } from '../notifications.js'
import { apiKeys as k, plans as p, readingOf, subscriptions as s, signInLinks, users as u } from '../schema/accounts.js'
import { paymentCustomers as c, paymentObjects as o } from '../schema/billing.js'
import { catalogRevision } from '../schema/catalog.js'
import { creditLedger } from '../schema/ledger.js'
import { savedSettings } from '../schema/saved-settings.js'
import { upNext } from '../schema/up-next.js'
import { leases } from '../schema/workers.js'
import { violatedConstraint } from '../sql-state.js'
import {
  columns,
  eachOf,
  insertInto,
  param,
  type RowOf,
  selectAs,
  setList,
  statement,
  typedParams,
} from '../statement.js'
import { STATUS_NOW, SUBSCRIPTION } from './subscriptions.js'

/** What `toCaller` reads, of a key, its user, their subscription and its plan. */
export const CALLER_COLUMNS = {
  keyId: k.id,
  keyKind: k.kind,
  keyName: k.name,
  operatorScope: sql<OperatorScope | null>`CASE WHEN ${u.role} = 'operator' THEN ${k.scope} END`,
  keyModels: k.models,
  keyMonthlyLimit: k.monthlyLimit,
  ...columns(u, 'id', 'username', 'credits'),
  deleted: sql<boolean>`${u.deletedAt} IS NOT NULL`,
  // Null, like the other columns of a subscription, where there is none.
  status: sql<string | null>`${STATUS_NOW}`,
  ...columns(s, 'plan', 'endDate'),
  planModels: p.models,
  planRateLimit: p.rateLimit,
  catalogRevision: sql<string | null>`(SELECT ${catalogRevision.revision} FROM ${catalogRevision})`,
}
const CALLER = {
  ...CALLER_COLUMNS,
  lastUseIsOld: sql<boolean>`(${k.lastUsedAt} IS NULL OR ${k.lastUsedAt} < now() - interval '1 minute')`,
}
type CallerRow = RowOf<typeof CALLER>

// Every request runs it.
const FIND_CALLERS = eachOf<CallerRow, 'hash'>(
  'find_callers',
  { hash: 'bytea' },
  sql`SELECT ${selectAs(CALLER)} FROM ${k} JOIN ${u} ON ${u.id} = ${k.userId} LEFT JOIN ${s} ON ${s.userId} = ${u.id}
         LEFT JOIN ${p} ON ${p.name} = ${s.plan}
       WHERE ${USABLE_KEY} AND ${k.hash} = item.hash`,
)
// Leaves out keys that another transaction has locked: waiting for one while it holds others could be a deadlock.
const NOTE_USE = statement('note_key_use')`
  UPDATE ${k} SET ${setList(k, { lastUsedAt: sql`now()` })} WHERE ${k.id} = ANY (ARRAY(
    SELECT ${k.id} FROM ${k} WHERE ${k.id} = ANY (${param('ids')}::uuid[]) FOR NO KEY UPDATE SKIP LOCKED))`

/** How long uses are collected: a submit needs its key's row right after the look-up. */
const NOTE_AFTER_MS = 50

/** Reads the key on every request: a revoked one is refused immediately, on every replica. */
export const accountStore = ({ pool }: Database): AccountStore => {
  const noteUse = joined(
    (ids: readonly string[]) => NOTE_USE.run(pool, { ids }),
    () => delay(NOTE_AFTER_MS),
  )
  const findCallers = async (hashes: readonly Buffer[]) => {
    const rows = await FIND_CALLERS(
      pool,
      hashes.map((hash) => ({ hash })),
    )
    // Only for display: not awaited, and a failure is ignored.
    for (const row of rows) if (row?.lastUseIsOld) noteUse(row.keyId).catch(() => undefined)
    return rows.map((row) => row && toCaller(row))
  }
  return { findCaller: batched(findCallers), findCallers }
}

export function toCaller({
  keyId,
  keyKind,
  keyName,
  operatorScope,
  keyModels,
  keyMonthlyLimit,
  catalogRevision,
  ...row
}: RowOf<typeof CALLER_COLUMNS>): Caller {
  const { id, username, credits, deleted, status, plan, endDate, planModels: models, planRateLimit: rateLimit } = row
  const subscription = status === null ? null : { status, plan, endDate }
  const isCharged = keyKind === 'personal' || keyKind === 'website'
  const isLimited = status === 'active' && isCharged && (models !== null || rateLimit !== null)
  const planLimits = isLimited ? { name: plan, models, rateLimit } : null
  return {
    account: { id, username, credits, subscription, deleted },
    keyId,
    keyKind,
    keyName,
    operatorScope,
    keyModels,
    keyMonthlyLimit,
    planLimits,
    catalogRevision,
  }
}

/** An account as the operator sees it: deleted ones too. */
export type OperatorUser = typeof u.$inferSelect & { readonly subscription: Subscription | null }

// All or nothing; the credits with their row in the ledger.
const CREATE = statement<{ id: string }>('create_user')`
  WITH created AS (
    ${insertInto(u, typedParams(u, 'username', 'credits', 'email', 'role'))} RETURNING ${u.id}, ${u.credits}
  ), subscribed AS (
    ${insertInto(s, { userId: sql`created.id`, status: 'active', ...typedParams(s, 'plan', 'endDate') })}
      FROM created WHERE ${param('plan')}::text IS NOT NULL
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

const DELETE = statement<{ deletedAt: Date | null }>('delete_user')`
  WITH deleted AS (
    UPDATE ${u} SET ${setList(u, { deletedAt: sql`coalesce(${u.deletedAt}, now())` })} WHERE ${u.id} = ${param('id')}::uuid
    RETURNING ${u.id}, ${u.deletedAt}
  ), canceled AS (
    INSERT INTO ${o} (kind, id, customer)
    SELECT 'cancellation', ${c.id}, ${c.id} FROM ${c} JOIN deleted ON deleted.id = ${c.userId}
    ON CONFLICT (kind, id) DO UPDATE SET due_at = least(payment_objects.due_at, now())
    RETURNING pg_notify(${PAYMENT_DUE}, '')
  ), forgotten AS (
    DELETE FROM ${upNext} USING deleted WHERE ${upNext.userId} = deleted.id
  ), unsaved AS (
    DELETE FROM ${savedSettings} USING deleted WHERE ${savedSettings.userId} = deleted.id
  ), unexported AS (
    DELETE FROM ${leases} USING deleted WHERE ${leases.name} = 'export:' || deleted.id
  )
  SELECT deleted_at AS "deletedAt" FROM deleted`

export const operatorUserStore = ({ orm, pool }: Database) => {
  const accountColumns = { ...getTableColumns(u), subscription: SUBSCRIPTION }
  const select = (where: SQL | undefined) =>
    orm.select(accountColumns).from(u).leftJoin(s, eq(s.userId, u.id)).where(where)

  return {
    async create({ subscription, ...account }: NewAccount): Promise<{ id: string } | { taken: 'username' | 'email' }> {
      try {
        const { plan, endDate } = subscription ?? {}
        const created = await CREATE.first(pool, { ...account, plan, endDate })
        if (!created) throw new Error('Postgres did not return the ID of the new account: try again.')
        return created
      } catch (error) {
        if (violatedConstraint(error) === 'users_username') return { taken: 'username' }
        if (violatedConstraint(error) === 'users_email') return { taken: 'email' }
        throw error
      }
    },

    /** By name, ignoring case: the user who has it now, else the one deleted last. `id`: this one of them. */
    async find(username: string, id?: string): Promise<OperatorUser | undefined> {
      const [row] = await select(and(sql`lower(${u.username}) = lower(${username})`, id ? eq(u.id, id) : undefined))
        .orderBy(sql`${u.deletedAt} DESC NULLS FIRST`)
        .limit(1)
      return row
    },

    /** By name, the deleted ones after the others. */
    async list(): Promise<OperatorUser[]> {
      const byName = sql`lower(${u.username}) COLLATE "C"`
      return select(undefined).orderBy(desc(isNull(u.deletedAt)), byName, u.createdAt)
    },

    /** Links that were sent to the address before no longer work. False if another user has it. */
    async setEmail(id: string, email: string | null): Promise<boolean> {
      try {
        await orm.update(u).set({ email }).where(eq(u.id, id))
      } catch (error) {
        if (violatedConstraint(error) === 'users_email') return false
        throw error
      }
      await orm.delete(signInLinks).where(eq(signInLinks.userId, id))
      return true
    },

    async setRole(id: string, role: Role): Promise<void> {
      await orm.update(u).set({ role, roleFromGroup: false }).where(eq(u.id, id))
      // Who made them may do less than an operator.
      if (role === 'operator') await orm.delete(signInLinks).where(eq(signInLinks.userId, id))
    },

    /**
     * Makes an operator of a subscriber who is in the group, and a subscriber of an operator who was made one so and is not
     * in it any more. Resolves to the name of an account that changed.
     */
    async setRoleFromGroup(id: string, isInGroup: boolean): Promise<string | undefined> {
      const hasOther = isInGroup ? eq(u.role, 'subscriber') : and(eq(u.role, 'operator'), u.roleFromGroup)
      const [changed] = await orm
        .update(u)
        .set({ role: isInGroup ? 'operator' : 'subscriber', roleFromGroup: isInGroup })
        .where(and(eq(u.id, id), isNull(u.deletedAt), hasOther))
        .returning(columns(u, 'username'))
      if (changed && isInGroup) await orm.delete(signInLinks).where(eq(signInLinks.userId, id))
      return changed?.username
    },

    /** Marks the user as deleted and keeps what they have; what they pay for is to be canceled. Resolves to the time of the first deletion. */
    delete: async (id: string): Promise<Date | undefined> => (await DELETE.first(pool, { id }))?.deletedAt ?? undefined,
  }
}

/** Whether nobody has a name that reads like this one; until the transaction ends nobody else gets one that does. */
export async function reserveName(tx: Pick<NodePgDatabase, 'select' | 'execute'>, username: string): Promise<boolean> {
  const reading = readingOf(sql`${username}::text`)
  // No unique index: operators may give such names. In a statement of its own: the next one sees what was made meanwhile.
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${reading}, 0))`)
  const isAlike = and(eq(readingOf(u.username), reading), isNull(u.deletedAt))
  return (await tx.select(columns(u, 'id')).from(u).where(isAlike).limit(1)).length === 0
}
