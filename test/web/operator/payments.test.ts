import { beforeAll, describe, expect, it } from 'vitest'
import { givenPlan } from '../../support/given-plan.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { customerOf, memoryPayments } from '../../support/memory-payments.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'
import { HOSTILE } from './given-console.js'

const provider = memoryPayments()
const context = useService({ server: { payment: { provider, graceDays: 3 } } })
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const PATH = '/operator/payments'
const send = (path: string, body?: Record<string, string>) =>
  visit(context.service.url, path, { body, cookie: operator.cookie })

/** A paid subscription of a plan, and of no account's customer. */
async function givenUnmatched() {
  const id = `sub_${crypto.randomUUID()}`
  const { price } = await givenPlan(context.service.db, { price: `price_${crypto.randomUUID()}` })
  const customer = customerOf(null, { email: `${HOSTILE}@example.com` })
  provider.subscriptions.set(id, {
    ...{ id, customer, price: price as string, status: 'active', endsAt: null },
    ...{ startedAt: new Date(), paidUntil: new Date(Date.now() + 86_400_000) },
  })
  const { body, signature } = provider.signed({ about: { kind: 'subscription', id } })
  await fetch(`${context.service.url}/billing/stripe`, {
    method: 'POST',
    body,
    headers: { 'stripe-signature': signature },
  })
  await until(async () => (await send(PATH)).html.includes(id), 'the subscription in the list')
  return { id, customer: customer.id }
}

const rowOf = async (id: string) =>
  textOf((await send(PATH)).html.split(/<\/?tr>/).find((row) => row.includes(id)) ?? '')

describe('the page of payments', () => {
  it('lists what is unmatched, and matches a customer', async () => {
    const { db } = context.service
    const { id, customer } = await givenUnmatched()
    expect((await send(PATH)).html).not.toContain('<img src=x')
    expect(await rowOf(id)).toContain('No account is known for this customer')
    const user = await givenUser(db)
    const named = { customer, username: user.username }
    expect((await send(`${PATH}/match`, named)).status).toBe(400)
    expect((await send(`${PATH}/match`, { ...named, username: 'nobody', reason: 'mailed' })).status).toBe(404)
    const { location } = await send(`${PATH}/match`, { ...named, reason: 'mailed' })
    expect((await send(location as string)).html).toContain('The customer is matched')
    await until(async () => (await rowOf(id)) === '', 'an empty list')
    const { rows } = await db.pool.query('SELECT action, reason FROM operator_actions WHERE target = $1', [
      user.username,
    ])
    expect(rows).toContainEqual({ action: `matched customer ${customer}`, reason: 'mailed' })
  })

  it('asks again, and dismisses what needs nothing more', async () => {
    const { id } = await givenUnmatched()
    expect((await send(`${PATH}/retry`, { id, reason: 'again' })).location).toBe(`${PATH}?done=retried`)
    await until(
      async () => provider.asked.filter((it) => it === `subscription ${id}`).length === 2,
      'the second question',
    )
    expect((await send(`${PATH}/dismiss`, { id, reason: 'refunded' })).location).toBe(`${PATH}?done=dismissed`)
    expect(await rowOf(id)).toBe('')
    expect((await send(`${PATH}/dismiss`, { id, reason: 'refunded' })).status).toBe(404)
  })

  it('lists payments in their currency, with what they brought', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await db.pool.query(
      `INSERT INTO payments (id, user_id, amount, currency, returned, paid_at, pack, credits, taken_back)
       VALUES ('pi_yen', $1, 1000, 'jpy', 0, now(), 'Yen', 500, 0),
              ('pi_euro', $1, 1000, 'eur', 100, now(), $2, 500, 50)`,
      [user.id, HOSTILE],
    )
    expect(await rowOf('pi_yen')).toContain('¥1,000500')
    expect(await rowOf('pi_euro')).toContain('€10.00€1.00 given back50050 taken back')
  })

  it('is no page where nothing is sold', async () => {
    const { url, stop } = await context.service.server({ payment: undefined })
    expect((await visit(url, PATH, { cookie: operator.cookie })).status).toBe(404)
    expect((await visit(url, '/operator/plans', { cookie: operator.cookie })).html).not.toContain(PATH)
    await stop()
  })
})
