import type { Config } from './config.js'
import type { Payment } from './start-billing.js'

/** Payment as the configuration says, if it does; nothing of the provider is loaded without. */
export async function openPayment(config: Pick<Config, 'stripe' | 'paymentGraceDays'>): Promise<Payment | undefined> {
  if (!config.stripe) return undefined
  const { stripeProvider } = await import('../payment/stripe/stripe-provider.js')
  return { provider: await stripeProvider(config.stripe), graceDays: config.paymentGraceDays }
}

/** Where the provider's pages are. */
export const paymentOrigins = ({ stripe }: Pick<Config, 'stripe'>): readonly string[] =>
  stripe ? (stripe.apiUrl ? [stripe.apiUrl] : ['https://checkout.stripe.com', 'https://billing.stripe.com']) : []
