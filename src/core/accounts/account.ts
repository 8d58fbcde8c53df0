import { modelNotInPlan, modelNotOfKey, noActiveSubscription } from '../errors.js'
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

/** `website`: of what a signed-in person does; nobody knows that key. */
export type ApiKeyKind = 'personal' | 'developer' | 'website'

export type Role = 'subscriber' | 'operator'

/** Who is calling: the account, and the key that speaks for it. */
export interface Caller {
  readonly account: Account
  readonly keyId: string
  readonly keyKind: ApiKeyKind
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
  if (subscription?.status !== 'active') throw noActiveSubscription()
}

/** @throws model_unavailable if the caller's key, or the plan of their subscription, does not include this model version */
export function requireAllowedModel(
  { keyModels, planLimits }: Pick<Caller, 'keyModels' | 'planLimits'>,
  modelVersionId: number,
): void {
  if (keyModels && !keyModels.includes(modelVersionId)) throw modelNotOfKey(modelVersionId)
  if (planLimits?.models && !planLimits.models.includes(modelVersionId))
    throw modelNotInPlan(planLimits.name, modelVersionId)
}
