import type { Subscription } from '../account/account.js'
import { type OperatorUser, operatorUserStore } from '../db/account-store.js'
import type { Database } from '../db/client.js'
import { OperatorError } from './operator-error.js'
import type { Cell } from './output.js'

/** @throws OperatorError when nobody has the name now */
export async function requireUser(db: Database, username: string): Promise<OperatorUser> {
  const user = await requireUserOrDeleted(db, username)
  if (user.deletedAt) throw new OperatorError(`User "${user.username}" was deleted.`)
  return user
}

/** @throws OperatorError when nobody ever had the name */
export async function requireUserOrDeleted(db: Database, username: string): Promise<OperatorUser> {
  const user = await operatorUserStore(db).find(username)
  if (!user) throw new OperatorError(`No user "${username}": "easel user list" shows all.`)
  return user
}

/** As the account endpoint shows it. */
export const subscriptionJson = (subscription: Subscription | null) =>
  subscription && {
    status: subscription.status,
    plan: subscription.plan,
    endDate: subscription.endDate.toISOString(),
  }

export const userJson = ({ id, username, credits, subscription }: OperatorUser) => ({
  id,
  username,
  credits,
  subscription: subscriptionJson(subscription),
})

export const subscriptionCells = (subscription: Subscription | null): readonly [plan: Cell, status: Cell, end: Cell] =>
  subscription ? [subscription.plan, subscription.status, subscription.endDate] : [null, null, null]
