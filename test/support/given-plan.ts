/** Plans, and subscriptions whose first period was granted. */
import type { Plan } from '../../src/core/accounts/plan.js'
import { planStore } from '../../src/db/accounts/plans.js'
import { periodStore } from '../../src/db/accounts/subscription-periods.js'
import type { Database } from '../../src/db/client.js'
import { type GivenUser, givenUser, type UserOptions } from './givens.js'
import { until } from './until.js'

/** 100 credits a month that expire, and no limits, unless told otherwise. */
export async function givenPlan(db: Database, more: Partial<Plan> = {}): Promise<Plan> {
  const plan = {
    ...{ name: `Plan ${crypto.randomUUID()}`, credits: 100, period: 'month' as const, carryOver: 0, signUpCredits: 0 },
    ...{ models: null, rateLimit: null, retainPromptsDays: null, retainImagesDays: null },
    ...{ price: null, forSale: false, retiredAt: null, ...more },
  }
  await planStore(db).import([plan])
  return plan
}

/** A user in the first period of that plan, and when it ends. */
export async function givenSubscriber(
  db: Database,
  { name: plan }: Pick<Plan, 'name'>,
  { subscription, ...options }: UserOptions = {},
): Promise<GivenUser & { readonly periodEnd: Date }> {
  const user = await givenUser(db, { credits: 0, ...options, subscription: { ...subscription, plan } })
  const settled = async () => {
    // A reconciler that has locked it settles it itself.
    await periodStore(db).settle()
    const { rows } = await db.pool.query('SELECT period_end FROM subscriptions WHERE user_id = $1', [user.id])
    return rows[0].period_end as Date | null
  }
  return { ...user, periodEnd: (await until(settled, 'the first period')) as Date }
}
