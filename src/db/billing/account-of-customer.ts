/** Which account a customer of the provider is. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import type { Customer } from '../../core/billing/payment-provider.js'
import { subscriptions as s, users as u } from '../schema/accounts.js'
import { paymentCustomers as c } from '../schema/billing.js'
import { param, type Queryable, setList, statement } from '../statement.js'

/**
 * The account with a confirmed e-mail address that somebody gave to the provider. Nobody proved there that it is theirs: so
 * only one that has no customer of its own, and nothing that another payment could replace.
 */
export const accountOfEmail = (email: SQLWrapper) => sql`(
  SELECT ${u.id} FROM ${u}
   WHERE lower(${u.email}) = lower(${email}) AND ${u.deletedAt} IS NULL
     AND NOT EXISTS (SELECT FROM ${c} own WHERE own.user_id = ${u.id})
     AND NOT EXISTS (
       SELECT FROM ${s} WHERE ${s.userId} = ${u.id} AND ${s.status} = 'active' AND ${s.endDate} > now()))`

// Also locks it: what is known of one customer changes in one transaction at a time.
const KEEP = statement<{ userId: string | null }>('keep_payment_customer')`
  INSERT INTO ${c} (id, email) VALUES (${param('id')}::text, ${param('email')}::text)
  ON CONFLICT (id) DO UPDATE SET
    email = CASE WHEN payment_customers.user_id IS NULL THEN coalesce(excluded.email, payment_customers.email) END
  RETURNING ${c.userId} AS "userId"`

// The address is kept only as long as it is needed to find the account.
const MATCH = statement<{ userId: string | null }>('match_payment_customer')`
  UPDATE ${c} SET ${setList(c, { userId: sql`account.id`, email: null })}
    FROM (SELECT coalesce(
            (SELECT ${u.id} FROM ${u} WHERE ${u.id} = ${param('accountId')}::uuid),
            ${accountOfEmail(sql`${param('email')}::text`)}) AS id) account
   WHERE ${c.id} = ${param('id')}::text AND account.id IS NOT NULL RETURNING ${c.userId} AS "userId"`

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const uuidOrNull = (text: string | null) => (text !== null && UUID.test(text) ? text : null)

/** Keeps the customer, and resolves to its account: as known before, as the provider was told, or by the e-mail address. */
export async function accountOfCustomer(on: Queryable, { id, email, ...its }: Customer): Promise<string | undefined> {
  const known = await KEEP.first(on, { id, email })
  if (known?.userId) return known.userId
  return (await MATCH.first(on, { id, email, accountId: uuidOrNull(its.accountId) }))?.userId ?? undefined
}
