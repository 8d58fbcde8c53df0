import { createHash } from 'node:crypto'
import type Stripe from 'stripe'
import type { PortalPage } from '../../core/billing/payment-provider.js'
import { idOf } from './stripe-events.js'

/** So many Stripe takes. */
const MAX_PRODUCTS = 10
/** Changes with what the portal allows below: then Stripe gets a new configuration. */
const EDITION = 3

/** Opens the portal with a configuration in which these prices can be chosen: found at Stripe, or made there. */
export function portalSessions(stripe: Stripe) {
  const known = new Map<string, string>()

  async function configurationOf(prices: readonly string[]): Promise<{ readonly key: string; readonly id: string }> {
    const sorted = prices.toSorted()
    const key = createHash('sha256')
      .update(JSON.stringify([EDITION, sorted]))
      .digest('hex')
      .slice(0, 32)
    const id = known.get(key) ?? (await find(stripe, key)) ?? (await make(stripe, key, sorted))
    known.set(key, id)
    return { key, id }
  }

  return async (customer: string, { prices, returnTo, language }: PortalPage): Promise<string | null> => {
    const open = async (configuration: string) => {
      const its = { customer, configuration, return_url: returnTo }
      const locale = language as Stripe.BillingPortal.SessionCreateParams.Locale | undefined
      return (await stripe.billingPortal.sessions.create({ ...its, ...(locale && { locale }) })).url
    }
    const { key, id } = await configurationOf(prices)
    try {
      return await open(id)
    } catch (error) {
      // It was made inactive or is gone since it was found.
      if ((error as { param?: unknown }).param !== 'configuration') throw error
      known.delete(key)
      return open((await configurationOf(prices)).id)
    }
  }
}

async function find(stripe: Stripe, key: string): Promise<string | undefined> {
  for await (const { id, metadata } of stripe.billingPortal.configurations.list({ active: true, limit: 100 }))
    if (metadata?.easel_prices === key) return id
  return undefined
}

async function make(stripe: Stripe, key: string, prices: readonly string[]): Promise<string> {
  const byProduct = new Map<string, Map<string | undefined, string>>()
  for (const price of prices) {
    const found = await stripe.prices.retrieve(price)
    const product = idOf(found.product) as string
    // Of one product Stripe takes one price an interval, and refuses the portal to everybody if there is another.
    byProduct.set(product, new Map([[found.recurring?.interval, price], ...(byProduct.get(product) ?? [])]))
  }
  const configuration = (anchor: object): Stripe.BillingPortal.ConfigurationCreateParams => ({
    metadata: { easel_prices: key },
    features: {
      customer_update: { enabled: true, allowed_updates: ['name', 'address', 'tax_id'] },
      invoice_history: { enabled: true },
      payment_method_update: { enabled: true },
      subscription_cancel: { enabled: true, mode: 'at_period_end' },
      subscription_update:
        prices.length === 0
          ? { enabled: false }
          : {
              ...{ enabled: true, default_allowed_updates: ['price'], proration_behavior: 'always_invoice', ...anchor },
              products: [...byProduct]
                .slice(0, MAX_PRODUCTS)
                .map(([product, its]) => ({ product, prices: [...its.values()] })),
              schedule_at_period_end: {
                conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }],
              },
            },
    },
  })
  // Without a key of our own: Stripe would repeat an answer for a day. One too many does no harm.
  const create = (anchor: object) => stripe.billingPortal.configurations.create(configuration(anchor))
  // A period's credits come at once: for the price of its last days they would be nearly free.
  const made = await create({ billing_cycle_anchor: 'now' }).catch((error) => {
    // A portal without it is better than none.
    if (!refuses(error, 'billing_cycle_anchor')) throw error
    return create({})
  })
  return made.id
}

/** @param error of Stripe; whether it refuses what was asked because of a parameter of this name, wherever that stands in it */
function refuses(error: unknown, name: string): boolean {
  const { type, param, message } = error as { type?: unknown; param?: unknown; message?: unknown }
  return type === 'StripeInvalidRequestError' && [param, message].some((it) => String(it).includes(name))
}
