/** What people, banks and the owner do in an account at Stripe, by chance; and what must have come of it. */
import type { PaymentProvider } from '../../../src/core/billing/payment-provider.js'
import type { StripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'

export interface Buyer {
  readonly accountId: string
  readonly customer: string
  subscription: string | undefined
}

export interface Bought {
  /** Of the payment: its intent, or its session where nothing was to be paid. */
  readonly id: string
  readonly buyer: Buyer
  readonly credits: number
  readonly amount: number
  /** False while the bank takes days, and if it refuses then. */
  isPaid: boolean
  /** Of the amount. */
  refunded: number
  dispute: { readonly id: string; state: 'open' | 'won' | 'lost' } | undefined
}

const PAGES = { returnTo: 'http://easel.test/account', cancelTo: 'http://easel.test/account' }
const PACKS = [
  { pack: 'Small', credits: 100, amount: 500 },
  { pack: 'Large', credits: 1301, amount: 4999 },
] as const
const DAY_MS = 86_400_000

export interface Shop {
  readonly stripe: StripeStandIn
  readonly provider: PaymentProvider
  readonly chance: Seeded
  readonly plans: readonly { readonly plan: string; readonly price: string }[]
  readonly buyers: readonly Buyer[]
}

export function openShop({ stripe, provider, chance, plans, buyers }: Shop) {
  const bought: Bought[] = []
  const packPrices = PACKS.map(({ amount }) => stripe.givenPrice({ amount }).id)

  async function buy(buyer: Buyer): Promise<void> {
    const n = chance.below(PACKS.length)
    const { amount, ...item } = PACKS[n] as (typeof PACKS)[number]
    const { customer, accountId } = buyer
    const page = await provider.checkout({ customer, accountId, item, price: packPrices[n] as string, ...PAGES })
    const how = chance.chance(0.7) ? 'works' : chance.pick(['declined', 'takes_days', 'coupon'] as const)
    const session = stripe.pay(page, how)
    if (how === 'declined') return
    const isFree = how === 'coupon'
    bought.push({
      ...{ id: session.payment_intent ?? session.id, buyer, credits: item.credits, amount: isFree ? 0 : amount },
      ...{ isPaid: how !== 'takes_days', refunded: 0, dispute: undefined },
    })
  }

  function returnMoney(): void {
    const it = chance.pick(bought)
    if (!it || it.amount === 0) return
    if (!it.isPaid) {
      if (it.refunded < 0) return
      it.isPaid = chance.chance(0.7)
      stripe.settle(it.id, it.isPaid)
      // Settled once.
      if (!it.isPaid) it.refunded = -1
    } else if (it.dispute) {
      if (it.dispute.state !== 'open') return
      it.dispute.state = chance.pick(['won', 'lost'])
      stripe.endDispute(it.dispute.id, it.dispute.state)
    } else if (it.refunded === 0 && chance.chance(0.3)) it.dispute = { id: stripe.dispute(it.id).id, state: 'open' }
    else if (it.refunded < it.amount) {
      const amount = 1 + chance.below(it.amount - it.refunded)
      stripe.refund(it.id, amount)
      it.refunded += amount
    }
  }

  async function subscribe(buyer: Buyer): Promise<void> {
    const { customer, accountId, subscription } = buyer
    const { plan, price } = chance.pick(plans)
    const what = chance.next()
    const isOver = subscription !== undefined && (await provider.subscription(subscription))?.status === 'ended'
    if (subscription === undefined || isOver) {
      const page = await provider.checkout({ customer, accountId, item: { plan }, price, ...PAGES })
      buyer.subscription = stripe.pay(page, 'works').subscription ?? undefined
    } else if (what < 0.3) stripe.cancel(subscription, chance.chance(0.5) ? 'now' : 'period_end')
    else if (what < 0.6) stripe.change(subscription, price)
    else if (what < 0.8) stripe.pause(subscription)
    else stripe.resume(subscription)
  }

  return {
    bought: bought as readonly Bought[],

    async step(): Promise<void> {
      const buyer = chance.pick(buyers)
      const what = chance.next()
      if (what < 0.5) await buy(buyer)
      else if (what < 0.75) returnMoney()
      else if (what < 0.99) await subscribe(buyer)
      else stripe.advanceTo(new Date(stripe.now().getTime() + chance.between(1, 20) * DAY_MS))
    },
  }
}

/** How many of its credits the account must have of a payment in the end. */
export function keptOf({ credits, amount, isPaid, refunded, dispute }: Bought): number {
  if (!isPaid) return 0
  const returned = dispute && dispute.state !== 'won' ? amount : refunded
  return amount === 0 ? credits : credits - Math.ceil((credits * Math.min(returned, amount)) / amount)
}
