import type { PaymentProvider } from '../core/billing/payment-provider.js'
import type { Config } from './config.js'

/** The provider of the configuration, if there is one; nothing of it is loaded without. */
export async function openPayment({ stripe }: Pick<Config, 'stripe'>): Promise<PaymentProvider | undefined> {
  if (!stripe) return undefined
  const { stripeProvider } = await import('../payment/stripe/stripe-provider.js')
  return stripeProvider(stripe)
}
