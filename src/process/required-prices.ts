import { type Priced, requirePrices } from '../core/billing/checked-prices.js'
import { packPrices } from '../core/operator/packs.js'
import { planPrices } from '../core/operator/plans.js'
import { planStore } from '../db/accounts/plans.js'
import { creditPackStore } from '../db/billing/credit-packs.js'
import type { Database } from '../db/client.js'
import type { Config } from './config.js'
import { openPayment } from './open-payment.js'

/** What is stored, and may be sold. */
export const storedPrices = (db: Database) => async (): Promise<readonly Priced[]> => [
  ...planPrices(await planStore(db).list()),
  ...packPrices(await creditPackStore(db).list()),
]

/**
 * Asks the provider of the configuration, if there is one, for what is to be sold.
 * @returns what to tell an operator when nobody could be asked
 * @throws AppError with one sentence
 */
export async function requirePricesOf(
  config: Pick<Config, 'stripe' | 'paymentGraceDays'>,
  db: Database,
  items: readonly Priced[],
): Promise<string> {
  const priced = items.filter(({ price }) => price !== null)
  if (priced.length === 0) return ''
  const payment = await openPayment(config)
  if (!payment) return ' Nobody has checked the prices: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set here.'
  await requirePrices(payment.provider, priced, storedPrices(db))
  return ''
}
