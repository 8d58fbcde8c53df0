import { type Priced, requirePrices } from '../core/billing/checked-prices.js'
import type { Config } from './config.js'
import { openPayment } from './open-payment.js'

/** Asks the provider of the configuration, if there is one, for what is to be sold. @throws AppError with one sentence */
export async function requirePricesOf(
  config: Pick<Config, 'stripe' | 'paymentGraceDays'>,
  items: readonly Priced[],
): Promise<void> {
  const priced = items.filter(({ price }) => price !== null)
  const payment = priced.length > 0 ? await openPayment(config) : undefined
  if (payment) await requirePrices(payment.provider, priced)
}
