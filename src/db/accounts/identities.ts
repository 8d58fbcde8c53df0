import { and, eq, isNull, notExists, sql } from 'drizzle-orm'
import type { IdentityStore } from '../../core/accounts/identity.js'
import { type Database, withTransaction } from '../client.js'
import { reserveName } from '../new-name.js'
import { users as u } from '../schema/generations.js'
import { identities as i } from '../schema/website.js'
import { violatedConstraint } from '../sql-state.js'
import { pick } from '../statement.js'

export const identityStore = (db: Database): IdentityStore => {
  const { orm } = db
  const link = { target: [i.issuer, i.subject], set: { userId: sql`excluded.user_id` } }
  return {
    async find({ issuer, subject }) {
      const [found] = await orm
        .select(pick(u, 'id'))
        .from(i)
        .innerJoin(u, eq(u.id, i.userId))
        .where(and(eq(i.issuer, issuer), eq(i.subject, subject), isNull(u.deletedAt)))
      return found?.id
    },

    async linkByEmail({ issuer, subject }, email) {
      const [owner] = await orm
        .select(pick(u, 'id'))
        .from(u)
        .where(
          and(
            eq(sql`lower(${u.email})`, sql`lower(${email})`),
            isNull(u.deletedAt),
            notExists(
              orm
                .select()
                .from(i)
                .where(and(eq(i.userId, u.id), eq(i.issuer, issuer))),
            ),
          ),
        )
      if (!owner) return undefined
      // The identity's own row, if any, is of a deleted account.
      await orm.insert(i).values({ issuer, subject, userId: owner.id }).onConflictDoUpdate(link)
      return owner.id
    },

    async register({ issuer, subject }, username, email) {
      const attempt = (address: string | undefined) =>
        withTransaction(db, async (tx) => {
          if (!(await reserveName(tx, username))) return undefined
          const [made] = await tx.insert(u).values({ username, email: address }).returning(pick(u, 'id'))
          if (!made) throw new Error('Postgres did not return the new account: try again.')
          await tx.insert(i).values({ issuer, subject, userId: made.id }).onConflictDoUpdate(link)
          return made.id
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
