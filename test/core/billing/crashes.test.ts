/** Whatever dies while an answer of the payment provider is asked for and applied: it has its effect once. */
import { describe, expect, it } from 'vitest'
import { paymentLoop } from '../../../src/core/billing/payment-loop.js'
import type { PaymentEvent } from '../../../src/core/billing/payment-provider.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { billingCustomers } from '../../../src/db/billing/customers.js'
import { paymentEventStore } from '../../../src/db/billing/payment-events.js'
import { paymentQueue } from '../../../src/db/billing/payment-queue.js'
import { useDatabase } from '../../support/database.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { customerOf, memoryPayments } from '../../support/memory-payments.js'
import { silentLog } from '../../support/service.js'
import { until } from '../../support/until.js'
import { type Death, mortal, type Way } from '../generations/mortal.js'

const context = useDatabase()
const provider = memoryPayments()
const log = silentLog()

const tell = (about: NonNullable<PaymentEvent['about']>) =>
  paymentEventStore(context.db).store({
    ...{ id: `evt_${crypto.randomUUID()}`, type: 'test', createdAt: new Date(), about, customer: null, body: {} },
  })

async function givenPack(user: GivenUser, returned: number): Promise<void> {
  const id = `pi_${user.id}`
  provider.payments.set(id, {
    ...{ id, customer: null, isPaid: true, paidAt: new Date(), amount: 1000, currency: 'eur', returned },
    of: { pack: 'Large', credits: 500, accountId: user.id },
  })
  await tell({ kind: 'payment', id })
}

async function givenSubscription(user: GivenUser): Promise<void> {
  const id = `sub_${user.id}`
  await context.db.pool.query(
    `INSERT INTO plans (name, credits, period, price) VALUES ('Crashes', 100, 'month', 'price_crashes') ON CONFLICT DO NOTHING`,
  )
  provider.subscriptions.set(id, {
    ...{ id, customer: customerOf(user.id), price: 'price_crashes', status: 'active', endsAt: null },
    ...{ startedAt: new Date(), paidUntil: new Date(Date.now() + 86_400_000) },
  })
  await tell({ kind: 'subscription', id })
}

const ledgerOf = async ({ id }: GivenUser) =>
  (await context.db.pool.query('SELECT kind, delta FROM credit_ledger WHERE user_id = $1 ORDER BY id', [id])).rows.map(
    ({ kind, delta }) => `${kind} ${delta}`,
  )

interface Flow {
  readonly name: string
  readonly begin: (user: GivenUser) => Promise<void>
  readonly seen: (user: GivenUser) => Promise<unknown>
  readonly expected: unknown
}

const FLOWS: readonly Flow[] = [
  {
    name: 'a pack that is paid',
    begin: (user) => givenPack(user, 0),
    seen: ledgerOf,
    expected: ['purchase 500'],
  },
  {
    name: 'a pack of which a part is given back',
    begin: (user) => givenPack(user, 300),
    seen: ledgerOf,
    expected: ['purchase 500', 'adjustment -150'],
  },
  {
    name: 'a subscription',
    begin: givenSubscription,
    seen: async ({ id }) =>
      (await context.db.pool.query('SELECT plan, status FROM subscriptions WHERE user_id = $1', [id])).rows,
    expected: [{ plan: 'Crashes', status: 'active' }],
  },
  {
    name: 'a deleted account',
    begin: async ({ id }) => {
      await billingCustomers(context.db).remember(id, `cus_${id}`)
      await operatorUserStore(context.db).delete(id)
    },
    seen: async ({ id }) => provider.canceled.includes(`cus_${id}`),
    expected: true,
  },
]

const isWorkedOff = async () =>
  (await context.db.pool.query('SELECT FROM payment_objects WHERE due_at <= now()')).rows.length === 0

/** Works the flow off, with one death at most. Resolves to what had happened until then. */
async function run(flow: Flow, death?: Death): Promise<readonly string[]> {
  const { db } = context
  const user = await givenUser(db, { credits: 0, subscription: null })
  await flow.begin(user)
  const queue = paymentQueue(db, { graceDays: 3 })
  const { subscription, payment, cancelAll } = provider
  const dying = mortal({ queue, provider: { subscription, payment, cancelAll } }, death)
  const first = paymentLoop({ ...dying.ports, log })
  void first.workOffDue()
  await until(async () => dying.isDead || (await isWorkedOff()), 'the death, or the work')
  await dying.settled()
  // The claim has ended.
  await db.pool.query(`UPDATE payment_objects SET not_before = '-infinity'`)
  const second = paymentLoop({ queue, provider, log })
  await until(async () => second.workOffDue().then(isWorkedOff), 'the work of another server')
  await second.stop(60_000)
  expect(await flow.seen(user)).toEqual(flow.expected)
  // It was only asleep.
  dying.wake()
  await first.stop(60_000)
  expect(await flow.seen(user)).toEqual(flow.expected)
  const { rows } = await db.pool.query('SELECT FROM payment_events WHERE kind IS NOT NULL AND worked_off_at IS NULL')
  expect(rows).toHaveLength(0)
  return dying.effects
}

describe.each(FLOWS)('$name', (flow) => {
  it('has its effect once, whichever step a server dies at, and when it was only asleep', async () => {
    const effects = await run(flow)
    expect(effects.length).toBeGreaterThanOrEqual(3)
    const ways: readonly Way[] = ['before', 'after']
    for (const effect of new Set(effects)) for (const way of ways) await run(flow, { effect, way })
  })
})
