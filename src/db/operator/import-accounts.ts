import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { AppError } from '../../core/errors.js'
import type { ImportedAccount, ImportOutcome, OperatorAccounts } from '../../core/operator/accounts.js'
import { inOneYear } from '../../core/operator/subscriptions.js'
import { operatorUserStore } from '../accounts/accounts.js'
import { operatorSubscriptionStore } from '../accounts/subscriptions.js'
import { type Database, Rollback } from '../client.js'
import { subscriptions as s, users as u } from '../schema/accounts.js'
import { columns } from '../statement.js'
import { inTransaction } from './operator-actions.js'

/** Another account has the address that is to be this one's. */
class EmailTaken extends Error {
  readonly account: ImportedAccount

  constructor(account: ImportedAccount) {
    super(`Another account has the address ${account.email}.`)
    this.account = account
  }
}

/** Adds accounts, and changes those of the same name; all or none, and none of it with `dryRun`. */
export async function importAccounts(
  db: Database,
  accounts: readonly ImportedAccount[],
  dryRun: boolean,
): ReturnType<OperatorAccounts['import']> {
  const outcomes: ImportOutcome[] = []
  try {
    await inTransaction(db, async (on) => {
      const names = accounts.map(({ username }) => username.toLowerCase())
      const rows = await on.orm
        .select({ ...columns(u, 'id', 'username', 'email'), ...columns(s, 'plan', 'endDate') })
        .from(u)
        .leftJoin(s, eq(s.userId, u.id))
        .where(and(inArray(sql`lower(${u.username})`, names), isNull(u.deletedAt)))
      const known = new Map(rows.map((row) => [row.username.toLowerCase(), row]))
      for (const account of accounts) {
        const is = known.get(account.username.toLowerCase())
        outcomes.push(is ? await change(on, account, is) : await create(on, account))
      }
      if (dryRun) throw new Rollback()
    })
  } catch (error) {
    if (error instanceof EmailTaken) return { emailTaken: error.account }
    if (!(error instanceof Rollback)) throw error
  }
  return { outcomes }
}

async function create(db: Database, account: ImportedAccount): Promise<ImportOutcome> {
  const { username, email, credits, subscription: its } = account
  const subscription = its && { plan: its.plan, endDate: its.endDate ?? inOneYear() }
  const created = await operatorUserStore(db).create({ username, credits, subscription, email, role: 'subscriber' })
  if ('id' in created) return 'created'
  if (created.taken === 'email') throw new EmailTaken(account)
  // Somebody has signed up with the name meanwhile.
  throw new AppError('invalid_request', `The account ${username} was made just now: import it again.`)
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
