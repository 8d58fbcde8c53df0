import { sql } from 'drizzle-orm'
import type { OwnSubscription } from '../../core/billing/shop.js'
import type { Database } from '../client.js'
import { plans } from '../schema/accounts.js'
import { paymentCustomers as c, payments as m, paymentObjects as o, paidSubscriptions as p } from '../schema/billing.js'
import { columns, param, type RowOf, selectAs, statement } from '../statement.js'

const OWN = {
  ...columns(p, 'plan', 'status', 'paidUntil', 'endsAt', 'customer', 'nextAt'),
  nextPlan: sql<string | null>`(SELECT ${plans.name} FROM ${plans} WHERE ${plans.price} = ${p.nextPrice}
        ORDER BY ${plans.retiredAt} IS NOT NULL, ${plans.name} LIMIT 1)`,
}
// One that was begun and never paid for is none, nor one that the provider does not have any more.
const OF = statement<RowOf<typeof OWN>>('own_paid_subscription')`
  SELECT ${selectAs(OWN)} FROM ${p} JOIN ${c} ON ${c.id} = ${p.customer}
   WHERE ${c.userId} = ${param('accountId')}::uuid AND ${p.status} <> 'ended'
     AND (${p.status} <> 'unpaid' OR ${p.paidUntil} > ${p.startedAt})
     AND NOT EXISTS (SELECT FROM ${o} WHERE ${o.kind} = 'subscription' AND ${o.id} = ${p.id} AND ${o.problem} = 'gone')
   ORDER BY ${p.status} = 'active' DESC, ${p.paidUntil} DESC, ${p.id} LIMIT 1`

const UNDERWAY = statement<{ pack: string | null }>('own_packs_under_way')`
  SELECT ${selectAs(columns(m, 'pack'))} FROM ${c} LEFT JOIN ${m} ON ${m.customer} = ${c.id} AND ${m.isPending}
   WHERE ${c.userId} = ${param('accountId')}::uuid ORDER BY ${m.id}`

/** What accounts pay for, for themselves. */
export const ownSubscriptions = ({ pool }: Database) => ({
  subscription: (accountId: string): Promise<OwnSubscription | undefined> => OF.first(pool, { accountId }),
  packsUnderway: async (accountId: string): Promise<readonly string[] | undefined> => {
    const ofCustomers = await UNDERWAY.rows(pool, { accountId })
    return ofCustomers.length === 0 ? undefined : ofCustomers.flatMap(({ pack }) => pack ?? [])
  },
})
