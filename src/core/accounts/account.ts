import { type AskedModel, modelNotInPlan, modelNotOfKey, noActiveSubscription } from '../errors.js'
import type { Plan } from './plan.js'

export interface Subscription {
  /** Now, by Postgres's clock: a subscription whose end has passed is `expired`, whatever is stored. */
  readonly status: string
  readonly plan: string
  readonly endDate: Date
}

export interface Account {
  readonly id: string
  readonly username: string
  readonly credits: number
  readonly subscription: Subscription | null
  /** A deleted account keeps its generations, images and ledger; its keys no longer work. */
  readonly deleted: boolean
}

/** `website`: of what a signed-in person does; nobody knows that key. `operator`: for /admin/v1 alone. */
export type ApiKeyKind = 'personal' | 'developer' | 'website' | 'operator'

/** What an operator's key may change: nothing, who may generate and what they have, what is generated with, or all. */
export const OPERATOR_SCOPES = ['read', 'accounts', 'models', 'all'] as const
export type OperatorScope = (typeof OPERATOR_SCOPES)[number]

export type Role = 'subscriber' | 'operator'

/** Who is calling: the account, and the key that speaks for it. */
export interface Caller {
  readonly account: Account
  readonly keyId: string
  readonly keyKind: ApiKeyKind
  readonly keyName?: string
  /** Of an operator's key; null where its account is no operator any more. */
  readonly operatorScope?: OperatorScope | null
  /** Credits that the key may spend in a calendar month; null: all. */
  readonly keyMonthlyLimit: number | null
  /** IDs of the model versions that the key is for; null: all. */
  readonly keyModels: readonly number[] | null
  /** What the plan of the account's active subscription allows; null: everything. */
  readonly planLimits: Pick<Plan, 'name' | 'models' | 'rateLimit'> | null
  /** The catalog's revision when the caller was looked up; null if unknown. It ages: see `catalogRevisionOf`. */
  readonly catalogRevision: string | null
}

export interface AccountStore {
  /** Looks a live (not revoked) key up by its SHA-256; a deleted account's keys are still found. */
  findCaller(keyHash: Buffer): Promise<Caller | undefined>
  /** The same for many at once, in their order. */
  findCallers(keyHashes: readonly Buffer[]): Promise<readonly (Caller | undefined)[]>
}

/** @throws subscription_required unless there is one and it is active */
export function requireActiveSubscription({ subscription }: Account): void {
  if (subscription?.status !== 'active') throw noActiveSubscription(subscription)
}

type Limits = Pick<Caller, 'keyModels' | 'planLimits'>

/** Whether the caller's key and the plan of their subscription include this model version; without limits, all are included. */
export const isAllowedModel = ({ keyModels, planLimits }: Limits, modelVersionId: number): boolean =>
  [keyModels, planLimits?.models].every((models) => models?.includes(modelVersionId) ?? true)

/** What is drawn with where the caller names none: the usual one, else the first on offer that the caller may use. */
export const defaultModelFor = <Model extends { readonly id: number }>(
  caller: Limits,
  enabled: readonly Model[],
  usual: Model | undefined,
): Model | undefined =>
  usual && isAllowedModel(caller, usual.id) ? usual : enabled.find(({ id }) => isAllowedModel(caller, id))

/** @throws model_unavailable if the caller's key, or the plan of their subscription, does not include this model version */
export function requireAllowedModel({ keyModels, planLimits }: Limits, id: number, asked: AskedModel): void {
  if (keyModels && !keyModels.includes(id)) throw modelNotOfKey(asked)
  if (planLimits?.models && !planLimits.models.includes(id)) throw modelNotInPlan(planLimits.name, asked)
}
