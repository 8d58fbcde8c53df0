/** Accounts that their owners have deleted, and what such an account leaves besides its images. */
import { eq, sql } from 'drizzle-orm'
import type { AccountPurges } from '../../core/accounts/own-deletion.js'
import { IS_ABOUT_ACCOUNT, isNameOf } from '../acts-of-name.js'
import { type Database, withTransaction } from '../client.js'
import { isMailTo } from '../mails-to.js'
import { apiKeys as k, unsentMails as m, accountPurges as p, users as u } from '../schema/accounts.js'
import { paymentCustomers as c } from '../schema/billing.js'
import { idempotencyKeys } from '../schema/generations.js'
import { operatorActions as a } from '../schema/operator.js'
import { leases } from '../schema/workers.js'
import { setList, statement } from '../statement.js'

// Longer than most take; another server that begins it too does no harm.
const CLAIM = statement<{ userId: string }>('claim_account_purge')`
  UPDATE ${p} SET ${setList(p, {
    attempts: sql`${p.attempts} + 1`,
    dueAt: sql`now() + interval '5 minutes' * least(${p.attempts} + 1, 12)`,
  })}
   WHERE ${p.userId} = (
           SELECT ${p.userId} FROM ${p} WHERE ${p.dueAt} <= now() ORDER BY ${p.dueAt} LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${p.userId} AS "userId"`

export const accountPurges = ({ orm, pool }: Database): AccountPurges => ({
  async add(userId) {
    await orm.insert(p).values({ userId }).onConflictDoNothing()
  },

  claimDue: async () => (await CLAIM.first(pool))?.userId,

  async finish(userId) {
    await orm.delete(p).where(eq(p.userId, userId))
  },
})

/** Mails to the account that wait for an operator. Before its address is forgotten. */
export const forgetUnsentMails = async ({ orm }: Database, userId: string): Promise<void> => {
  await orm.delete(m).where(isMailTo(sql`${userId}::uuid`))
}

/** Takes the name from a deleted account, its keys, and the log of operators. What is kept of it refers to an ID alone. */
export const takeName = (db: Database, userId: string): Promise<void> =>
  withTransaction(db, async (tx) => {
    const username = sql`'deleted-' || left(replace(${u.id}::text, '-', ''), 16)`
    const id = sql`${userId}::uuid`
    for (const [column, isIt] of [
      ['target', sql`${IS_ABOUT_ACCOUNT} AND ${isNameOf(id, a.target)}`],
      ['actor', isNameOf(id, a.actor)],
    ] as const)
      await tx
        .update(a)
        .set({ [column]: username })
        .from(u)
        .where(sql`${u.id} = ${id} AND ${isIt}`)
    await tx.update(u).set({ username, mailsOff: [], language: null, newImagesPrivate: false }).where(eq(u.id, userId))
    await tx.update(k).set({ name: '', hint: '' }).where(eq(k.userId, userId))
    await tx.update(c).set({ email: null }).where(eq(c.userId, userId))
    await tx.delete(leases).where(eq(leases.name, `export:${userId}`))
    await tx.delete(idempotencyKeys).where(eq(idempotencyKeys.userId, userId))
  })
