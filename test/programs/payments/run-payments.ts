/** Events of payment, doubled, in any order, delayed and forged, while servers and Postgres are killed. */
import { setTimeout as delay } from 'node:timers/promises'
import { decidingSubscription } from '../../../src/core/billing/effects.js'
import type { PaidSubscription, PaymentProvider } from '../../../src/core/billing/payment-provider.js'
import type { Database } from '../../../src/db/client.js'
import type { StripeEvent } from '../../stand-ins/stripe/objects.js'
import { type StripeStandIn, signed } from '../../stand-ins/stripe/stripe-stand-in.js'
import type { Seeded } from '../../support/seeded.js'
import { until } from '../../support/until.js'
import { type Buyer, keptOf, openShop } from './buyers.js'

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

const AT_ONCE = 8
/** Of the events, those that are posted last of all. */
const DELAYED = 0.2
const FORGED = 0.05
const PHASES = 5

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
  const { stripe, db, chance, events: wanted } = run
  stripe.events.hold()
  const buyers = await givenBuyers(run)
  const plans = await givenPlans(run)
  const shop = openShop({ ...run, chance: chance.fork('shop'), plans, buyers })
  const posts = poster(run)
  const late: StripeEvent[] = []
  let told = 0

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
      while (stripe.events.list.length * 2 < (wanted * phase) / PHASES) await shop.step()
    })()
    if (phase === 1) await happening
    const fresh = stripe.events.list.slice(told)
    told += fresh.length
    const delayed = new Set(fresh.filter(() => chance.chance(DELAYED)))
    late.push(...delayed)
    const now = fresh.filter((event) => !delayed.has(event))
    await Promise.all([happening, posts.post([...now, ...now])])
  }
  const rest = stripe.events.list.slice(told)
  await posts.post([...late, ...late, ...rest, ...rest])
  stopped.abort()
  await disturbing
  // Its connections to a Postgres that died are noticed one by one.
  await until(() => isWorkedOff(db).catch(() => false), 'all events are worked off', run.workedOffWithinMs)

  const wrong = [...(await wrongPayments(run, shop.bought)), ...(await wrongSubscriptions(run, buyers))]
  const { rows } = await db.pool.query(`SELECT id FROM payment_events WHERE id LIKE 'evt_forged%'`)
  wrong.push(...rows.map(({ id }) => `the forged event ${id} was kept`))
  return {
    ...{ events: stripe.events.list.length, ...posts.counts(), payments: shop.bought.length, disturbances, wrong },
    subscriptions: buyers.filter(({ subscription }) => subscription).length,
  }
}

async function givenBuyers({ db, provider, accounts }: PaymentsRun): Promise<Buyer[]> {
  const { rows } = await db.pool.query<{ id: string; username: string }>(
    `INSERT INTO users (username) SELECT 'buyer' || n FROM generate_series(1, $1) n RETURNING id, username`,
    [accounts],
  )
  const buyers: Buyer[] = []
  for (const { id, username } of rows) {
    const customer = await provider.createCustomer({ id, username, email: null })
    buyers.push({ accountId: id, customer, subscription: undefined })
  }
  return buyers
}

async function givenPlans({ db, stripe }: PaymentsRun) {
  const plans = ['Basic', 'Pro'].map((plan, n) => ({
    ...{ plan, credits: 100 * (n + 1), price: stripe.givenPrice({ every: 'month', amount: 900 * (n + 1) }).id },
  }))
  for (const { plan, credits, price } of plans)
    await db.pool.query(
      `INSERT INTO plans (name, credits, period, carry_over, price) VALUES ($1, $2, 'month', 0, $3)`,
      [plan, credits, price],
    )
  return plans
}

/** Posts as Stripe does: until it is taken. */
function poster({ webhookSecret, chance, urls }: PaymentsRun) {
  const own = chance.fork('posts')
  let posted = 0
  let forged = 0

  async function send(event: unknown, secret: string): Promise<number> {
    const { body, signature } = signed(event, secret)
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const url = `${own.pick(urls())}/billing/stripe`
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) }).catch(
      () => undefined,
    )
    await answer?.arrayBuffer().catch(() => undefined)
    return answer?.status ?? 0
  }

  async function postOne(event: StripeEvent): Promise<void> {
    if (own.chance(FORGED)) {
      forged++
      const status = await send({ ...event, id: `evt_forged${forged}` }, 'whsec_of_somebody_else')
      if (status >= 200 && status < 300) throw new Error('a forged event was taken')
    }
    for (;;) {
      posted++
      const status = await send(event, webhookSecret)
      if (status === 200) return
      if (status === 400) throw new Error(`the event ${event.id} was refused`)
      await delay(50)
    }
  }

  return {
    counts: () => ({ posted, forged }),

    async post(events: readonly StripeEvent[]): Promise<void> {
      const left = events.map((event) => ({ event, order: own.next() })).toSorted((a, b) => a.order - b.order)
      const next = async () => {
        for (let it = left.pop(); it; it = left.pop()) await postOne(it.event)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, next))
    },
  }
}

async function isWorkedOff(db: Database): Promise<boolean> {
  const { rows } = await db.pool.query(
    `SELECT (SELECT count(*) FROM payment_events WHERE kind IS NOT NULL AND worked_off_at IS NULL)
          + (SELECT count(*) FROM payment_objects WHERE due_at <= now()) AS open`,
  )
  return Number(rows[0].open) === 0
}

async function wrongPayments({ db }: PaymentsRun, bought: ReturnType<typeof openShop>['bought']): Promise<string[]> {
  const { rows } = await db.pool.query<{ payment: string; purchases: number; kept: number }>(
    `SELECT split_part(ref, ':', 2) AS payment, sum(delta)::integer AS kept,
            (count(*) FILTER (WHERE kind = 'purchase'))::integer AS purchases
       FROM credit_ledger WHERE ref LIKE 'payment:%' GROUP BY 1`,
  )
  const found = new Map(rows.map((row) => [row.payment, row]))
  return bought.flatMap((it) => {
    const { purchases = 0, kept = 0 } = found.get(it.id) ?? {}
    const should = keptOf(it)
    if (kept === should && purchases <= 1) return []
    return [`payment ${it.id} brought ${kept} credits in ${purchases} purchases where it should have brought ${should}`]
  })
}

async function wrongSubscriptions(
  { db, provider, graceDays }: PaymentsRun,
  buyers: readonly Buyer[],
): Promise<string[]> {
  const { rows } = await db.pool.query<{ user_id: string; id: string }>(
    'SELECT c.user_id, p.id FROM paid_subscriptions p JOIN payment_customers c ON c.id = p.customer',
  )
  const { rows: had } = await db.pool.query(
    `SELECT s.*, now() AS now, p.price,
            (SELECT count(*) FROM credit_ledger l WHERE l.user_id = s.user_id AND l.ref = 'period:' || to_char(
               s.period_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::integer AS grants
       FROM subscriptions s LEFT JOIN plans p ON p.name = s.plan`,
  )
  const wrong: string[] = []
  for (const { accountId, subscription } of buyers) {
    if (subscription === undefined) continue
    const own = rows.filter((row) => row.user_id === accountId).map(({ id }) => id)
    if (!own.includes(subscription)) wrong.push(`subscription ${subscription} is not known`)
    const states = await Promise.all(own.map((id) => provider.subscription(id)))
    const paid = states.filter((it): it is PaidSubscription => it !== undefined)
    const has = had.find((it) => it.user_id === accountId)
    const decided =
      has &&
      decidingSubscription(
        paid.map((it) => ({ ...it, plan: it.price })),
        graceDays,
        has.now,
      )
    if (!decided) continue
    const should = [decided.plan, decided.status, decided.endDate, decided.paidUntil].join(' ')
    const is = [has.price, has.status, has.end_date, has.paid_until].join(' ')
    if (is !== should) wrong.push(`${accountId} has ${is} where it should have ${should}`)
    if (has.grants > 1) wrong.push(`${accountId} was granted its period ${has.grants} times`)
  }
  return wrong
}
