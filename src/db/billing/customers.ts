import type { BillingCustomers } from '../../core/billing/customers.js'
import type { Database } from '../client.js'
import { paymentCustomers as c, paidSubscriptions as p } from '../schema/billing.js'
import { param, statement } from '../statement.js'

// An account may have several, when somebody paid elsewhere with its e-mail address: the one that pays comes first.
const ALL = statement<{ id: string }>('payment_customers_of_account')`
  SELECT ${c.id} FROM ${c} WHERE ${c.userId} = ${param('accountId')}::uuid
   ORDER BY (SELECT max(${p.paidUntil}) FROM ${p} WHERE ${p.customer} = ${c.id}) DESC NULLS LAST, ${c.createdAt}, ${c.id}`

const REMEMBER = statement('remember_payment_customer')`
  INSERT INTO ${c} (id, user_id) VALUES (${param('customer')}::text, ${param('accountId')}::uuid)
  ON CONFLICT (id) DO UPDATE SET user_id = coalesce(payment_customers.user_id, excluded.user_id), email = NULL`

export const billingCustomers = ({ pool }: Database): BillingCustomers => ({
  all: async (accountId) => (await ALL.rows(pool, { accountId })).map(({ id }) => id),
  remember: (accountId, customer) => REMEMBER.run(pool, { accountId, customer }),
})
