/** Events of payment, doubled, in any order, delayed and forged, while servers and Postgres are killed. */
import { setTimeout as delay } from 'node:timers/promises'
import type { PaymentProvider } from '../../../src/core/billing/payment-provider.js'
import type { Database } from '../../../src/db/client.js'
import type { StripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'
import { until } from '../../support/until.js'
import { type Buyer, givenGoods, openShop } from './buyers.js'
import { deliveries } from './deliveries.js'
import { isWorkedOff, wrongOf } from './payment-checks.js'

export interface PaymentsRun {
  readonly stripe: StripeStandIn
  readonly provider: PaymentProvider
  readonly webhookSecret: string
  readonly db: Database
  readonly chance: Seeded
  /** How many are posted at least, with the doubles. */
  readonly events: number
  readonly accounts: number
  readonly graceDays: number
  /** Of the servers that run now. */
  readonly urls: () => readonly string[]
  /** Kills something and starts it again; called again and again while events are posted. */
  readonly disturb: () => Promise<void>
  /** How long all that was posted may take to be worked off. */
  readonly workedOffWithinMs: number
}

const PHASES = 5
const PAGES = { returnTo: 'http://easel.test/account', cancelTo: 'http://easel.test/account' }

export interface PaymentsReport {
  readonly events: number
  readonly posted: number
  readonly forged: number
  readonly payments: number
  readonly subscriptions: number
  readonly disturbances: number
  /** What is wrong, in a line each. */
  readonly wrong: readonly string[]
}

export async function runPayments(run: PaymentsRun): Promise<PaymentsReport> {
  const { stripe, provider, db, chance, events: wanted } = run
  const posts = deliveries(run)
  const buyers = await givenBuyers(run)
  const shopping = chance.fork('shop')
  const shop = openShop<Customer>({
    ...{ stripe, provider, chance: shopping, goods: await givenGoods(db, stripe) },
    checkout: ({ customer, accountId }, order) => provider.checkout({ ...order, ...PAGES, customer, accountId }),
  })

  const stopped = new AbortController()
  let disturbances = 0
  const disturbing = (async () => {
    while (!stopped.signal.aborted) {
      await run.disturb()
      disturbances++
      // In a long run there is time for work between two deaths.
      await delay(Math.min(5000, run.events / 20), undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  })()
  // What is posted in a phase was said in it, and things go on happening meanwhile.
  for (let phase = 1; phase <= PHASES; phase++) {
    const happening = (async () => {
      while (stripe.events.list.length * 2 < (wanted * phase) / PHASES) await shop.step(shopping.pick(buyers))
    })()
    if (phase === 1) await happening
    await Promise.all([happening, posts.postNew()])
  }
  await posts.postRest()
  stopped.abort()
  await disturbing
  // Its connections to a Postgres that died are noticed one by one.
  await until(() => isWorkedOff(db.pool).catch(() => false), 'all events are worked off', run.workedOffWithinMs)

  const wrong = await wrongOf({ on: db.pool, provider, graceDays: run.graceDays, buyers, bought: shop.bought })
  return {
    ...{ events: stripe.events.list.length, ...posts.counts(), payments: shop.bought.length, disturbances, wrong },
    subscriptions: buyers.filter(({ subscription }) => subscription).length,
  }
}

interface Customer extends Buyer {
  readonly customer: string
}

async function givenBuyers({ db, provider, accounts }: PaymentsRun): Promise<Customer[]> {
  const { rows } = await db.pool.query<{ id: string; username: string }>(
    `INSERT INTO users (username) SELECT 'buyer' || n FROM generate_series(1, $1) n RETURNING id, username`,
    [accounts],
  )
  const buyers: Customer[] = []
  for (const { id, username } of rows) {
    const customer = await provider.createCustomer({ id, username, email: null, language: null })
    buyers.push({ accountId: id, customer, subscription: undefined })
  }
  return buyers
}
