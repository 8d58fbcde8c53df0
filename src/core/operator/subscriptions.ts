/** Subscriptions of any account. */
import type { Subscription } from '../accounts/account.js'
import { AppError } from '../errors.js'
import { type AccountStores, requireAccount } from './accounts.js'
import type { Acting } from './acting.js'
import { type PlanStores, requireListed } from './plans.js'

export type SubscriptionChange = { readonly [Field in keyof Subscription]?: Subscription[Field] | undefined }

export type SubscriptionStores = AccountStores &
  PlanStores & {
    readonly subscriptions: {
      /** Without a plan there must be one: else undefined. */
      set(accountId: string, change: SubscriptionChange, defaultEnd: Date): Promise<Subscription | undefined>
      remove(accountId: string): Promise<void>
    }
  }

/** A new subscription's end unless one is given. */
export function inOneYear(): Date {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date
}

/**
 * Begins a subscription, or changes what is given and keeps the rest.
 * @param isUnlisted the name is meant to be that of no plan
 * @throws not_found, invalid_request
 */
export async function setSubscription(
  acting: Acting<SubscriptionStores>,
  name: string,
  change: SubscriptionChange,
  isUnlisted = false,
) {
  const { id, username, subscription: its } = await requireAccount(acting.stores, name)
  const subscription = await acting.recorded(
    async (stores) => {
      const { plan } = change
      if (plan !== undefined && plan !== its?.plan) await requireListed(stores, plan, isUnlisted)
      return stores.subscriptions.set(id, change, inOneYear())
    },
    (it) =>
      it && [
        `set the subscription: ${it.plan}, ${it.status}, until ${it.endDate.toISOString().slice(0, 10)}`,
        username,
      ],
  )
  if (!subscription)
    throw new AppError('invalid_request', `User "${username}" has no subscription yet: give plan to begin one.`, {
      parameter: 'plan',
    })
  return { username, subscription }
}

/** Resolves to the username. @throws not_found */
export async function removeSubscription(acting: Acting<SubscriptionStores>, name: string): Promise<string> {
  const { id, username } = await requireAccount(acting.stores, name)
  await acting.recorded(
    ({ subscriptions }) => subscriptions.remove(id),
    () => ['took the subscription away', username],
  )
  return username
}
