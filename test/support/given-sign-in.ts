/** People who can sign in, or have. */
import { scryptSync } from 'node:crypto'
import { hashToken, newToken } from '../../src/core/accounts/session.js'
import { credentialStore, sessionStore } from '../../src/db/accounts/sessions.js'
import type { Database } from '../../src/db/client.js'
import { type GivenUser, givenUser } from './givens.js'

export const PASSWORD = 'correct horse battery'

/** At the least cost, which what is stored names: each check of a real one takes a sixth of a second of a core. */
const [N, SALT] = [2, Buffer.alloc(16)]
const CHEAP = ['scrypt', N, 1, 1, SALT.toString('base64'), hashed(PASSWORD).toString('base64')].join('$')

function hashed(password: string): Buffer {
  return scryptSync(password, SALT, 32, { N, r: 1, p: 1 })
}

/** Lets them sign in with PASSWORD. */
export const givenPassword = (db: Database, { id }: Pick<GivenUser, 'id'>): Promise<void> =>
  credentialStore(db).setPassword(id, CHEAP, undefined)

/** A session cookie, as a browser has it that signed in. */
export async function givenSession(db: Database, { id }: { readonly id: string }): Promise<string> {
  const token = newToken()
  if (!(await sessionStore(db).begin(id, hashToken(token), 'test'))) throw new Error('the account was deleted')
  return `easel=${token}`
}

/** An operator in a browser. */
export async function givenOperator(db: Database): Promise<GivenUser & { readonly cookie: string }> {
  const operator = await givenUser(db)
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [operator.id])
  return { ...operator, cookie: await givenSession(db, operator) }
}
