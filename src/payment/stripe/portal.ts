import { createHash } from 'node:crypto'
import type Stripe from 'stripe'
import { idOf } from './stripe-events.js'

/** So many Stripe takes. */
const MAX_PRODUCTS = 10
/** Changes with what the portal allows below: then Stripe gets a new configuration. */
const EDITION = 1

/** The portal's configuration in which these prices can be chosen: found at Stripe, or made there. */
export function portalConfigurations(stripe: Stripe): (prices: readonly string[]) => Promise<string> {
  const known = new Map<string, string>()
  return async (prices) => {
    const sorted = prices.toSorted()
    const key = createHash('sha256')
      .update(JSON.stringify([EDITION, sorted]))
      .digest('hex')
      .slice(0, 32)
    const id = known.get(key) ?? (await find(stripe, key)) ?? (await make(stripe, key, sorted))
    known.set(key, id)
    return id
  }
}

async function find(stripe: Stripe, key: string): Promise<string | undefined> {
  for await (const { id, metadata } of stripe.billingPortal.configurations.list({ active: true, limit: 100 }))
    if (metadata?.easel_prices === key) return id
  return undefined
}

async function make(stripe: Stripe, key: string, prices: readonly string[]): Promise<string> {
  const byProduct = new Map<string, string[]>()
  for (const price of prices) {
    const product = idOf((await stripe.prices.retrieve(price)).product) as string
    byProduct.set(product, [...(byProduct.get(product) ?? []), price])
  }
  const made = await stripe.billingPortal.configurations.create(
    {
      metadata: { easel_prices: key },
      features: {
        customer_update: { enabled: true, allowed_updates: ['address', 'tax_id'] },
        invoice_history: { enabled: true },
        payment_method_update: { enabled: true },
        subscription_cancel: { enabled: true, mode: 'at_period_end' },
        subscription_update:
          prices.length === 0
            ? { enabled: false }
            : {
                ...{ enabled: true, default_allowed_updates: ['price'], proration_behavior: 'always_invoice' },
                products: [...byProduct].slice(0, MAX_PRODUCTS).map(([product, its]) => ({ product, prices: its })),
                schedule_at_period_end: {
                  conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }],
                },
              },
      },
    },
    { idempotencyKey: `easel-portal-${key}` },
  )
  return made.id
}
