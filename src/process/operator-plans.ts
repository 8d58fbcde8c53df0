import { requirePrices } from '../core/billing/checked-prices.js'
import type { PaymentProvider } from '../core/billing/payment-provider.js'
import { invalidParameter } from '../core/errors.js'
import type { OperatorPlans } from '../core/operator/plans.js'
import { planStore } from '../db/accounts/plans.js'
import type { Database } from '../db/client.js'
import { recorded } from '../db/operator/operator-actions.js'
import { planOfEntry } from './plan-entry.js'

/** Plans as `easel plans` imports and retires them. */
/** @param provider where it is undefined, nobody is asked whether there is a plan's price */
export const operatorPlans = (db: Database, provider: Pick<PaymentProvider, 'price'> | undefined): OperatorPlans => ({
  list: () => planStore(db).list(),

  async save(entry, by) {
    const plan = planOfEntry(entry)
    if (provider) await requirePrices(provider, [{ ...plan, every: plan.period }])
    const refused = await recorded(
      db,
      (on) => planStore(on).import([plan]),
      (why) => (why ? undefined : { ...by, action: 'saved plan', target: plan.name }),
    )
    if (refused && 'model' in refused)
      throw invalidParameter('models', `There is no model version ${refused.model} any more: untick it and save again.`)
    if (refused)
      throw invalidParameter(
        'price',
        `The plan "${refused.other}" has this price already: make another one for this plan.`,
      )
  },

  retire: (name, by) =>
    recorded(
      db,
      (on) => planStore(on).retire(name),
      (at) => at && { ...by, action: 'retired plan', target: name },
    ),
})
