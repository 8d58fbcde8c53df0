import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { inOneYear } from '../../core/operator/administration.js'
import { operatorUserStore } from '../accounts/accounts.js'
import { operatorSubscriptionStore } from '../accounts/subscriptions.js'
import type { Database } from '../client.js'
import { subscriptions as s, users as u } from '../schema/accounts.js'
import { columns } from '../statement.js'

/** A line of an import. What is undefined stays as it is in an account that there is. */
export interface ImportedAccount {
  readonly username: string
  readonly email: string | undefined
  /** Without `endDate` a new one ends in one year, and one that there is when it did. */
  readonly subscription: { readonly plan: string; readonly endDate: Date | undefined } | undefined
  /** For a new account only: an import that is repeated must not give them again. */
  readonly credits: number
}

export type ImportOutcome = 'created' | 'changed' | 'unchanged'

/** Another account has the address that is to be this one's. */
export class EmailTaken extends Error {
  readonly account: ImportedAccount

  constructor(account: ImportedAccount) {
    super(`Another account has the address ${account.email}.`)
    this.account = account
  }
}

/**
 * Adds accounts, and changes those of the same name.
 * @param db a transaction: what throws leaves others imported
 * @returns what became of each, in their order
 * @throws EmailTaken
 */
export async function importAccounts(db: Database, accounts: readonly ImportedAccount[]): Promise<ImportOutcome[]> {
  const names = accounts.map(({ username }) => username.toLowerCase())
  const rows = await db.orm
    .select({ ...columns(u, 'id', 'username', 'email'), ...columns(s, 'plan', 'endDate') })
    .from(u)
    .leftJoin(s, eq(s.userId, u.id))
    .where(and(inArray(sql`lower(${u.username})`, names), isNull(u.deletedAt)))
  const known = new Map(rows.map((row) => [row.username.toLowerCase(), row]))
  const outcomes: ImportOutcome[] = []
  for (const account of accounts) {
    const is = known.get(account.username.toLowerCase())
    outcomes.push(is ? await change(db, account, is) : await create(db, account))
  }
  return outcomes
}

async function create(db: Database, account: ImportedAccount): Promise<ImportOutcome> {
  const { username, email, credits, subscription: its } = account
  const subscription = its && { plan: its.plan, endDate: its.endDate ?? inOneYear() }
  const created = await operatorUserStore(db).create(username, credits, subscription, { email })
  if (created === 'email taken') throw new EmailTaken(account)
  // Somebody has signed up with the name meanwhile.
  if (created === undefined) throw new Error(`The account ${username} was made just now: import the file again.`)
  return 'created'
}

interface Known {
  readonly id: string
  readonly email: string | null
  /** Null without a subscription. */
  readonly plan: string | null
  readonly endDate: Date | null
}

async function change(db: Database, account: ImportedAccount, is: Known): Promise<ImportOutcome> {
  const { email, subscription } = account
  const hasOther = email !== undefined && email.toLowerCase() !== is.email?.toLowerCase()
  if (hasOther && !(await operatorUserStore(db).setEmail(is.id, email))) throw new EmailTaken(account)
  const { plan, endDate } = subscription ?? {}
  const ends = endDate !== undefined && endDate.getTime() !== is.endDate?.getTime()
  const differs = plan !== undefined && (plan !== is.plan || ends)
  if (differs)
    await operatorSubscriptionStore(db).set(is.id, { plan, endDate, status: ends ? 'active' : undefined }, inOneYear())
  return hasOther || differs ? 'changed' : 'unchanged'
}
