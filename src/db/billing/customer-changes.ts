import { sql } from 'drizzle-orm'
import type { CustomerChanges } from '../../core/billing/customer-loop.js'
import type { Database } from '../client.js'
import { users as u } from '../schema/accounts.js'
import { paymentCustomers as c, customerChanges as h } from '../schema/billing.js'
import { param, setList, statement } from '../statement.js'

interface Claimed {
  readonly id: string
  readonly username: string | null
  readonly email: string | null
  readonly language: string | null
  readonly customers: readonly string[]
  readonly changes: number
  readonly attempts: number
}

const IN_SECONDS = sql`now() + make_interval(secs => ${param('seconds')}::float8)`
const USER = sql`${h.userId} = ${param('id')}::uuid`
/** Not an account, nor one that has changed since. */
const THIS_CHANGE = sql`${USER} AND ${h.changes} = ${param('changes')}::integer`
const unlessDeleted = (column: typeof u.email | typeof u.username | typeof u.language) =>
  sql`CASE WHEN ${u.deletedAt} IS NULL THEN ${column} END`

const CLAIM = statement<Claimed>('claim_customer_change')`
  UPDATE ${h} SET ${setList(h, { dueAt: IN_SECONDS })}
    FROM (
      SELECT ${h.userId} AS id FROM ${h} WHERE ${h.dueAt} <= now() ORDER BY ${h.dueAt} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) due JOIN ${u} ON ${u.id} = due.id
   WHERE ${h.userId} = due.id
  RETURNING ${u.id} AS id, ${unlessDeleted(u.username)} AS username, ${unlessDeleted(u.email)} AS email,
    ${unlessDeleted(u.language)} AS language, ${h.changes} AS changes, ${h.attempts} AS attempts,
    ARRAY(SELECT ${c.id} FROM ${c} WHERE ${c.userId} = due.id ORDER BY ${c.id}) AS customers`

const TOLD = statement('customer_change_told')`DELETE FROM ${h} WHERE ${THIS_CHANGE}`
/** It has changed while it was told. */
const AGAIN = statement('customer_changed_again')`UPDATE ${h} SET ${setList(h, { dueAt: sql`now()` })} WHERE ${USER}`
const FAILED = statement('customer_change_failed')`
  UPDATE ${h} SET ${setList(h, { attempts: sql`${h.attempts} + 1`, dueAt: IN_SECONDS })} WHERE ${THIS_CHANGE}`

export const customerChanges = ({ pool }: Database): CustomerChanges => ({
  async claim(seconds) {
    const claimed = await CLAIM.first(pool, { seconds })
    if (!claimed) return undefined
    const { customers, changes, attempts, ...account } = claimed
    return { account, customers, changes, attempts }
  },
  async told({ account: { id }, changes }) {
    if ((await TOLD.count(pool, { id, changes })) === 0) await AGAIN.run(pool, { id })
  },
  failed: ({ account, changes }, seconds) => FAILED.run(pool, { id: account.id, changes, seconds }),
})
