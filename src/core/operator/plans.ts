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
  /** Of these names those that no plan has. Where there are no plans at all, none. */
  unlisted(names: readonly string[]): Promise<readonly UnlistedPlan[]>
  /** Names that subscriptions have and no plan has. Where there are no plans at all, none. */
  unlistedInUse(): Promise<readonly (UnlistedPlan & { readonly accounts: number })[]>
}

/** A name that no plan has. */
export interface UnlistedPlan {
  readonly name: string
  /** The plan that is most likely meant; undefined: none is near. */
  readonly nearest: string | undefined
  /** Some plans that there are. */
  readonly plans: readonly string[]
}

export type PlanRefusal =
  | { readonly plan: string; readonly model: number }
  | { readonly plan: string; readonly other: string; readonly price: string }
  | { readonly plan: string; readonly alike: string }

export interface PlanStores {
  readonly plans: OperatorPlans
}

/**
 * Where there are plans, a subscription names one of them, unless its name is meant to be none.
 * @param isMeant whether the operator has said so
 * @throws invalid_request with the nearest name
 */
export async function requireListed({ plans }: PlanStores, name: string, isMeant: boolean): Promise<void> {
  const [unlisted] = isMeant ? [] : await plans.unlisted([name])
  if (unlisted) throw unlistedPlan(unlisted)
}

interface Subscriber {
  readonly username: string
  readonly subscription: { readonly plan: string } | undefined
}

/** The same of many. @param planOf what an account has already is not asked about */
export async function requireAllListed(
  { plans }: PlanStores,
  subscribers: readonly Subscriber[],
  planOf: (username: string) => Promise<string | undefined>,
): Promise<void> {
  const names = new Set(subscribers.flatMap(({ subscription }) => subscription?.plan ?? []))
  const unlisted = new Map((await plans.unlisted([...names])).map((it) => [it.name, it]))
  for (const { username, subscription } of subscribers) {
    const its = subscription && unlisted.get(subscription.plan)
    if (its && (await planOf(username)) !== its.name) throw unlistedPlan(its, username)
  }
}

function unlistedPlan({ name, nearest, plans }: UnlistedPlan, owner?: string): AppError {
  const which = nearest === undefined ? `name one of ${plans.map((it) => `"${it}"`).join(', ')}` : `write "${nearest}"`
  const whose = owner === undefined ? 'There' : `User "${owner}": there`
  return new AppError(
    'invalid_request',
    `${whose} is no plan "${name}": ${which}, or give unlisted to begin a subscription that grants nothing and allows everything.`,
    { parameter: 'unlisted' },
  )
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
  if (refused && 'alike' in refused)
    throw new AppError(
      'invalid_request',
      `People would take plan "${refused.plan}" for "${refused.alike}": choose a name that reads differently.`,
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
