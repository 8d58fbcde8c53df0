import { and, eq, isNull, notExists, sql } from 'drizzle-orm'
import type { Identity, IdentityStore } from '../../core/accounts/identity.js'
import { type Database, withTransaction } from '../client.js'
import { identities as i, signInLinks as l, users as u } from '../schema/accounts.js'
import { violatedConstraint } from '../sql-state.js'
import { columns } from '../statement.js'
import { reserveName } from './accounts.js'

type Orm = Pick<Database['orm'], 'select' | 'insert' | 'execute'>

export const identityStore = (db: Database): IdentityStore => {
  const find = async (orm: Orm, { issuer, subject }: Identity) => {
    const [found] = await orm
      .select(columns(u, 'id'))
      .from(i)
      .innerJoin(u, eq(u.id, i.userId))
      .where(and(eq(i.issuer, issuer), eq(i.subject, subject), isNull(u.deletedAt)))
    return found?.id
  }

  // The identity's own row, if any, is of a deleted account.
  const link = async (orm: Orm, identity: Identity, userId: string, email: string | undefined) => {
    const set = { userId: sql`excluded.user_id`, email: sql`excluded.email` }
    await orm
      .insert(i)
      .values({ ...identity, userId, email })
      .onConflictDoUpdate({ target: [i.issuer, i.subject], set })
    return userId
  }

  /**
   * The first sign-ins of an issuer go in turn: two at once could make two accounts of one person, or one of two. If the
   * identity has an account by now, it is that one.
   */
  const inTurn = (identity: Identity, work: (tx: Orm) => Promise<string | undefined>) =>
    withTransaction(db, async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${identity.issuer}, 0))`)
      return (await find(tx, identity)) ?? work(tx)
    })

  return {
    find: (identity) => find(db.orm, identity),

    linkByEmail: (identity, email) =>
      inTurn(identity, async (tx) => {
        const [owner] = await tx
          .select(columns(u, 'id'))
          .from(u)
          .where(
            and(
              eq(sql`lower(${u.email})`, sql`lower(${email})`),
              isNull(u.deletedAt),
              notExists(
                tx
                  .select()
                  .from(i)
                  .where(and(eq(i.userId, u.id), eq(i.issuer, identity.issuer))),
              ),
            ),
          )
        return owner && link(tx, identity, owner.id, email)
      }),

    async followEmail({ issuer, subject }, email) {
      const isOne = and(eq(i.issuer, issuer), eq(i.subject, subject))
      const isSame = (one: string | null, other: string | null) => one?.toLowerCase() === other?.toLowerCase()
      const [before] = await db.orm.select(columns(i, 'email')).from(i).where(isOne)
      if (!before || isSame(before.email, email)) return
      await withTransaction(db, async (tx) => {
        // The account's row first, as all do that end links.
        const [account] = await tx
          .select({ id: u.id, email: u.email, named: i.email })
          .from(i)
          .innerJoin(u, eq(u.id, i.userId))
          .where(and(isOne, isNull(u.deletedAt)))
          .for('update', { of: u })
        if (!account) return
        if (account.named !== null && isSame(account.email, account.named)) {
          await tx.update(u).set({ email }).where(eq(u.id, account.id))
          await tx.delete(l).where(eq(l.userId, account.id))
        }
        await tx.update(i).set({ email }).where(isOne)
      }).catch((error) => {
        // Another account has the address; the next sign-in tries again.
        if (violatedConstraint(error) !== 'users_email') throw error
      })
    },

    async register(identity, username, email) {
      const attempt = (address: string | undefined) =>
        inTurn(identity, async (tx) => {
          if (!(await reserveName(tx, username))) return undefined
          const [made] = await tx.insert(u).values({ username, email: address }).returning(columns(u, 'id'))
          if (!made) throw new Error('Postgres did not return the new account: try again.')
          return link(tx, identity, made.id, address)
        })
      try {
        return await attempt(email).catch((error) => {
          if (violatedConstraint(error) === 'users_email') return attempt(undefined)
          throw error
        })
      } catch (error) {
        if (violatedConstraint(error) === 'users_username') return undefined
        throw error
      }
    },
  }
}
