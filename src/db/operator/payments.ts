import { sql } from 'drizzle-orm'
import type { ListedFault, ListedPayment, OperatorPayments, UnmatchedPayment } from '../../core/operator/payments.js'
import type { Database } from '../client.js'
import { PAYMENT_DUE } from '../notifications.js'
import { users as u } from '../schema/accounts.js'
import {
  paymentCustomers as c,
  paymentFaults as f,
  payments as m,
  paymentObjects as o,
  paidSubscriptions as p,
} from '../schema/billing.js'
import { columns, param, selectAs, setList, statement } from '../statement.js'

const LIST = statement<ListedPayment>('list_payments')`
  SELECT ${selectAs({
    ...columns(m, 'id', 'amount', 'returned', 'currency', 'paidAt', 'pack', 'subscription', 'credits', 'takenBack'),
    username: u.username,
  })}
    FROM ${m} LEFT JOIN ${c} ON ${c.id} = ${m.customer} LEFT JOIN ${u} ON ${u.id} = coalesce(${m.userId}, ${c.userId})
   ORDER BY ${m.paidAt} DESC NULLS FIRST, ${m.id} LIMIT ${param('limit')}::integer`

/** Worded like the index. */
export const IS_UNMATCHED = sql`(${o.problem} IS NOT NULL OR ${o.failures} > 0) AND ${o.dismissedAt} IS NULL`

const UNMATCHED = statement<UnmatchedPayment>('list_unmatched_payments')`
  SELECT ${selectAs({
    ...columns(o, 'kind', 'id', 'createdAt', 'problem', 'failures', 'failure', 'failingSince', 'customer'),
    email: c.email,
    ...columns(m, 'amount', 'currency'),
    price: p.price,
  })}
    FROM ${o} LEFT JOIN ${c} ON ${c.id} = ${o.customer}
    LEFT JOIN ${m} ON ${o.kind} = 'payment' AND ${m.id} = ${o.id}
    LEFT JOIN ${p} ON ${o.kind} = 'subscription' AND ${p.id} = ${o.id}
   WHERE ${IS_UNMATCHED} ORDER BY ${o.createdAt}, ${o.id} LIMIT ${param('limit')}::integer`

const FAULTS = statement<ListedFault>('list_payment_faults')`
  SELECT ${selectAs(columns(f, 'sentence', 'times', 'firstAt', 'lastAt'))}
    FROM ${f} ORDER BY ${f.lastAt} DESC, ${f.key} LIMIT ${param('limit')}::integer`

const CUSTOMER = sql`${param('customer')}::text`

const MATCH = statement('match_customer_by_hand')`
  UPDATE ${c} SET ${setList(c, { userId: sql`${param('accountId')}::uuid`, email: null })}
   WHERE ${c.id} = ${CUSTOMER} AND ${c.userId} IS NULL`
const LOCK_OBJECTS = statement('lock_objects_of_customer')`
  SELECT FROM ${o} WHERE ${o.customer} = ${CUSTOMER} AND ${o.problem} IS NOT NULL ORDER BY ${o.kind}, ${o.id} FOR NO KEY UPDATE`
const IS_CUSTOMER = statement('payment_customer_exists')`SELECT FROM ${c} WHERE ${c.id} = ${CUSTOMER}`

const AT_ONCE = setList(o, { dueAt: sql`now()`, notBefore: sql`'-infinity'` })
const RETRY_CUSTOMER = statement('retry_payments_of_customer')`
  UPDATE ${o} SET ${AT_ONCE} WHERE ${o.customer} = ${CUSTOMER} AND ${o.problem} IS NOT NULL`

const ID = sql`${param('id')}::text`
const RETRY = statement('retry_payments')`
  UPDATE ${o} SET ${AT_ONCE} WHERE ${IS_UNMATCHED} AND (${ID} IS NULL OR ${o.id} = ${ID})`
const DISMISS = statement('dismiss_payment')`
  UPDATE ${o} SET ${setList(o, { dismissedAt: sql`now()` })} WHERE ${IS_UNMATCHED} AND ${o.id} = ${ID}`

const NOTIFY = statement('notify_of_due_payments')`SELECT pg_notify(${PAYMENT_DUE}, '')`

export const operatorPayments = ({ pool }: Database): OperatorPayments => ({
  list: (limit) => LIST.rows(pool, { limit }),
  unmatched: (limit) => UNMATCHED.rows(pool, { limit }),
  faults: (limit) => FAULTS.rows(pool, { limit }),

  async match(customer, accountId) {
    // In the order of the loop, which locks what is unmatched before its customer.
    await LOCK_OBJECTS.run(pool, { customer })
    if ((await MATCH.count(pool, { customer, accountId })) === 0)
      return (await IS_CUSTOMER.count(pool, { customer })) > 0 ? 'matched before' : 'unknown'
    await RETRY_CUSTOMER.run(pool, { customer })
    await NOTIFY.run(pool)
    return 'matched'
  },

  async retry(id) {
    const due = await RETRY.count(pool, { id })
    await NOTIFY.run(pool)
    return due
  },

  dismiss: async (id) => (await DISMISS.count(pool, { id })) > 0,
})
