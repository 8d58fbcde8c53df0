/** What people, banks and the owner do in an account at Stripe, by chance; and what must have come of it. */
import type { CheckoutOrder, PaymentProvider } from '../../../src/core/billing/payment-provider.js'
import type { Database } from '../../../src/db/client.js'
import type { StripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'

export interface Buyer {
  readonly accountId: string
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

const PACKS = [
  { pack: 'Small', credits: 100, amount: 500 },
  { pack: 'Large', credits: 1301, amount: 4999 },
] as const
const PLANS = [
  { plan: 'Basic', credits: 100, amount: 900 },
  { plan: 'Large', credits: 200, amount: 1800 },
] as const
const DAY_MS = 86_400_000

/** Plans and packs that Easel sells at prices of the stand-in. */
export async function givenGoods({ pool }: Database, stripe: StripeStandIn) {
  const plans = PLANS.map((its) => ({ ...its, price: stripe.givenPrice({ every: 'month', amount: its.amount }).id }))
  for (const { plan, credits, price } of plans)
    await pool.query(
      `INSERT INTO plans (name, credits, period, carry_over, price, for_sale) VALUES ($1, $2, 'month', 0, $3, true)`,
      [plan, credits, price],
    )
  const packs = PACKS.map((its) => ({ ...its, price: stripe.givenPrice({ amount: its.amount }).id }))
  for (const { pack, credits, price } of packs)
    await pool.query('INSERT INTO credit_packs (name, credits, price) VALUES ($1, $2, $3)', [pack, credits, price])
  return { plans, packs }
}

export interface Shop<B extends Buyer> {
  readonly stripe: StripeStandIn
  readonly provider: Pick<PaymentProvider, 'subscription'>
  readonly chance: Seeded
  readonly goods: Awaited<ReturnType<typeof givenGoods>>
  /** The page where the buyer pays; undefined: there is none now. */
  readonly checkout: (buyer: B, order: Pick<CheckoutOrder, 'item' | 'price'>) => Promise<string | undefined>
  /** How far Stripe's clock may be advanced; without end, unless it says otherwise. */
  readonly latest?: () => number
}

export function openShop<B extends Buyer>({ stripe, provider, chance, goods, checkout, latest }: Shop<B>) {
  const bought: Bought[] = []

  async function buy(buyer: B): Promise<void> {
    const { pack, credits, amount, price } = chance.pick(goods.packs)
    const how = chance.chance(0.7) ? 'works' : chance.pick(['declined', 'takes_days', 'coupon'] as const)
    const page = await checkout(buyer, { item: { pack, credits }, price })
    if (page === undefined) return
    const session = stripe.pay(page, how)
    if (how === 'declined') return
    const isFree = how === 'coupon'
    bought.push({
      ...{ id: session.payment_intent ?? session.id, buyer, credits, amount: isFree ? 0 : amount },
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

  async function subscribe(buyer: B): Promise<void> {
    const { subscription } = buyer
    const { plan, price } = chance.pick(goods.plans)
    const what = chance.next()
    const isOver = subscription !== undefined && (await provider.subscription(subscription))?.status === 'ended'
    if (subscription === undefined || isOver) {
      const page = await checkout(buyer, { item: { plan }, price })
      if (page !== undefined) buyer.subscription = stripe.pay(page, 'works').subscription ?? undefined
    } else if (what < 0.3) stripe.cancel(subscription, chance.chance(0.5) ? 'now' : 'period_end')
    else if (what < 0.6) stripe.change(subscription, price)
    else if (what < 0.8) stripe.pause(subscription)
    else stripe.resume(subscription)
  }

  return {
    bought: bought as readonly Bought[],

    async step(buyer: B): Promise<void> {
      const what = chance.next()
      if (what < 0.5) await buy(buyer)
      else if (what < 0.75) returnMoney()
      else if (what < 0.99) await subscribe(buyer)
      else {
        const next = stripe.now().getTime() + chance.between(1, 20) * DAY_MS
        stripe.advanceTo(new Date(Math.min(next, latest?.() ?? next)))
      }
    },
  }
}

/** How many of its credits the account must have of a payment in the end. */
export function keptOf({ credits, amount, isPaid, refunded, dispute }: Bought): number {
  if (!isPaid) return 0
  const returned = dispute && dispute.state !== 'won' ? amount : refunded
  return amount === 0 ? credits : credits - Math.ceil((credits * Math.min(returned, amount)) / amount)
}
