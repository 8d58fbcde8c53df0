import { type OperatorUser, operatorUserStore } from '../db/account-store.js'
import type { Database } from '../db/client.js'
import { OperatorError } from './operator-error.js'

/** @throws OperatorError when no user has the name now */
export async function requireUser(db: Database, username: string): Promise<OperatorUser> {
  const user = await requireUserOrDeleted(db, username)
  if (user.deletedAt) throw new OperatorError(`User "${user.username}" was deleted.`)
  return user
}

/** @throws OperatorError when no user ever had the name */
export async function requireUserOrDeleted(db: Database, username: string): Promise<OperatorUser> {
  const user = await operatorUserStore(db).find(username)
  if (!user) throw new OperatorError(`No user "${username}": "easel user list" shows all.`)
  return user
}
