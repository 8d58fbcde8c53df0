/** People who pay for plans and credits on the website, while Stripe's events come twice, late and in any order. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { type PaymentProvider, PaymentProviderFailure } from '../../../src/core/billing/payment-provider.js'
import type { StripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'
import { type Bought, type Buyer, type givenGoods, openShop } from '../payments/buyers.js'
import { deliveries } from '../payments/deliveries.js'
import { isWorkedOff, wrongOf } from '../payments/payment-checks.js'
import { ARRIVE_MS, type Browser, openBrowser, type Visitor } from './browser.js'
import type { ChaosClient } from './client.js'
import type { Violation } from './history.js'

export type Payer = Visitor & Buyer

/** What they pay at. */
export interface Till {
  readonly stripe: StripeStandIn
  readonly provider: PaymentProvider
  readonly goods: Awaited<ReturnType<typeof givenGoods>>
  readonly webhookSecret: string
}

interface PayersOptions {
  readonly client: ChaosClient
  readonly till: Till
  readonly payers: readonly Payer[]
  readonly chance: Seeded
  /** Of the servers that run now. */
  readonly urls: () => readonly string[]
}

/** So far Stripe's clock is behind at first: what is subscribed then is renewed before the end. */
export const STRIPE_BEHIND_MS = 75 * 86_400_000
/** On average. */
const THINK_MS = 500
const POST_EVERY_MS = 500

export function startPayers({ client, till, payers, chance, urls }: PayersOptions) {
  const { stripe, provider, goods, webhookSecret } = till
  let stopping = false
  const browsers = new Map<Payer, Browser>()
  const shop = openShop<Payer>({
    ...{ stripe, provider, goods, chance: chance.fork('shop'), latest: Date.now },
    async checkout(payer, { item }) {
      const [kind, name] = 'plan' in item ? ['plan', item.plan] : ['pack', item.pack]
      const answered = await browsers.get(payer)?.post(`buy a ${kind}`, `/account/billing/${kind}`, { name })
      const page = answered?.page?.location
      // Who has a plan already is led to where it is changed.
      return page?.includes('/c/pay/') ? page : undefined
    },
  })
  const posts = deliveries({ stripe, webhookSecret, chance: chance.fork('events'), urls })

  const live = async (payer: Payer, chance: Seeded): Promise<void> => {
    const browser = openBrowser(client, payer)
    browsers.set(payer, browser)
    await delay(chance.between(0, ARRIVE_MS))
    while (!stopping) {
      await delay(chance.gap(THINK_MS))
      if (!browser.isSignedIn() && !(await browser.signIn())) continue
      await shop.step(payer).catch((error) => {
        // Stripe is away.
        if (!(error instanceof PaymentProviderFailure)) throw error
      })
    }
  }
  const living = Promise.all(payers.map((payer) => live(payer, chance.fork(payer.name))))
  const posting = (async () => {
    while (!stopping) {
      await delay(POST_EVERY_MS)
      await posts.postNew()
    }
  })()
  // `stop` tells what went wrong.
  void Promise.allSettled([living, posting])

  return {
    bought: shop.bought,
    counts: () => ({ ...posts.counts(), events: stripe.events.list.length, payments: shop.bought.length }),

    /** Everything is renewed until now, and Easel is told all that is left. */
    async stop(): Promise<void> {
      stopping = true
      await Promise.all([living, posting])
      stripe.advanceTo(new Date())
      await posts.postRest()
    },
  }
}

/** As if the time of each repeated question had come, which may be an hour away. A claim that is newer may still be at work. */
const TIME_PASSES = `
  UPDATE payment_objects SET not_before = '-infinity'
   WHERE not_before > now() AND (asked_at IS NULL OR asked_at < now() - interval '5 seconds')`
const WORKED_OFF_WITHIN_MS = 60_000

/** What was paid has had its effect once, and nothing of an account stands unmatched. */
export async function paymentViolations(
  on: pg.Client,
  { provider }: Till,
  payers: readonly Payer[],
  bought: readonly Bought[],
  graceDays: number,
): Promise<Violation[]> {
  const accuse = (what: string) => ({ invariant: 'payments', what })
  for (const until = Date.now() + WORKED_OFF_WITHIN_MS; !(await isWorkedOff(on)); await delay(500)) {
    if (Date.now() > until) return [accuse('not all that Stripe told is worked off')]
    await on.query(TIME_PASSES)
  }
  return (await wrongOf({ on, provider, graceDays, buyers: payers, bought })).map(accuse)
}
