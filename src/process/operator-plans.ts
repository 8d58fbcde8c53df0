import { invalidParameter } from '../core/errors.js'
import type { OperatorPlans } from '../core/operator/plans.js'
import { planStore } from '../db/accounts/plans.js'
import type { Database } from '../db/client.js'
import { recorded } from '../db/operator/operator-actions.js'
import { planOfEntry } from './plan-entry.js'

/** Plans as `easel plans` imports and retires them. */
export const operatorPlans = (db: Database): OperatorPlans => ({
  list: () => planStore(db).list(),

  async save(entry, by) {
    const plan = planOfEntry(entry)
    const unknown = await recorded(
      db,
      (on) => planStore(on).import([plan]),
      (missing) => (missing ? undefined : { ...by, action: 'saved plan', target: plan.name }),
    )
    if (unknown)
      throw invalidParameter('models', `There is no model version ${unknown.model} any more: untick it and save again.`)
  },

  retire: (name, by) =>
    recorded(
      db,
      (on) => planStore(on).retire(name),
      (at) => at && { ...by, action: 'retired plan', target: name },
    ),
})
