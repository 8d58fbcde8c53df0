import { isStorable } from '../../lib/text.js'
import type { Plan } from '../accounts/plan.js'
import type { Priced } from '../billing/checked-prices.js'
import { AppError } from '../errors.js'
import type { Acting } from './acting.js'

/** A plan in the operator's list. */
export interface ListedPlan extends Plan {
  /** Active ones; others may still have it. */
  readonly subscribers: number
}

export interface OperatorPlans {
  /** Retired ones last. */
  list(): Promise<readonly ListedPlan[]>
  /**
   * Adds plans, or changes those of the same name. Resolves to a model version that a plan names and there is not, or to
   * another plan with its price; then nothing was changed.
   */
  import(plans: readonly Plan[]): Promise<PlanRefusal | undefined>
  /** Resolves to when it was retired first; undefined: there is no such plan. */
  retire(name: string): Promise<Date | undefined>
}

export type PlanRefusal =
  | { readonly plan: string; readonly model: number }
  | { readonly plan: string; readonly other: string; readonly price: string }

export interface PlanStores {
  readonly plans: OperatorPlans
}

/** @throws not_found */
export async function requirePlan({ plans }: PlanStores, name: string): Promise<ListedPlan> {
  const plan = (await plans.list()).find((it) => it.name === name)
  if (!plan) throw noSuchPlan(name)
  return plan
}

/** What the payment provider is to be asked for before plans are imported, outside any transaction. */
export const planPrices = (plans: readonly Plan[]): Priced[] =>
  plans
    .filter(({ retiredAt }) => retiredAt === null)
    .map(({ name, price, period: every, forSale: isSold }) => ({ name, price, every, isSold }))

/** All or nothing; a retired one is offered again unless its entry says otherwise. @throws invalid_request */
export async function importPlans(acting: Acting<PlanStores>, imported: readonly Plan[]): Promise<void> {
  const [first, ...others] = imported
  const refused = await acting.recorded(
    ({ plans }) => plans.import(imported),
    (why) => {
      if (why || !first) return undefined
      return others.length === 0 ? ['saved plan', first.name] : [`imported ${imported.length} plans`, '']
    },
  )
  if (refused && 'model' in refused)
    throw new AppError(
      'invalid_request',
      `Plan "${refused.plan}" names model version ${refused.model}, which there is not.`,
      { parameter: 'model_version_id' },
    )
  if (refused)
    throw new AppError(
      'invalid_request',
      `Plans "${refused.other}" and "${refused.plan}" have the same price, ${refused.price}: make one for each at the payment provider.`,
    )
}

/** Who has it keeps it. Resolves to when it was retired first. @throws not_found */
export async function retirePlan(acting: Acting<PlanStores>, name: string): Promise<Date> {
  const retiredAt = await acting.recorded(
    async ({ plans }) => (isStorable(name) ? plans.retire(name) : undefined),
    (at) => at && ['retired plan', name],
  )
  if (!retiredAt) throw noSuchPlan(name)
  return retiredAt
}

export const noSuchPlan = (name: string) => new AppError('not_found', `No plan "${name}".`, { parameter: 'plan_name' })
