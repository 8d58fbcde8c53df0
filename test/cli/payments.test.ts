import { describe, expect, it } from 'vitest'
import { paymentEventStore } from '../../src/db/billing/payment-events.js'
import { paymentQueue } from '../../src/db/billing/payment-queue.js'
import { givenPlan } from '../support/given-plan.js'
import { givenUser } from '../support/givens.js'
import { customerOf } from '../support/memory-payments.js'
import { useEasel } from './easel.js'

const easel = useEasel()

/** A payment that was asked for and found to be of nothing that Easel knows; resolves to its ID and its customer's. */
async function givenUnmatched() {
  const [id, customer] = [`sub_${crypto.randomUUID()}`, customerOf(null, { email: 'who@example.com' })]
  // Of no account's customer, at the price of a plan.
  const { price } = await givenPlan(easel.db, { price: `price_${crypto.randomUUID()}` })
  const about = { kind: 'subscription', id } as const
  const event = { id: `evt_${id}`, type: 'test', createdAt: new Date(), customer: customer.id, body: {} }
  await paymentEventStore(easel.db).store({ ...event, about })
  const queue = paymentQueue(easel.db, { graceDays: 3 })
  let asked = await queue.claim(60)
  // The others are left as they are.
  while (asked && asked.id !== id) asked = await queue.claim(60)
  if (!asked) throw new Error('it is not due')
  const times = { startedAt: new Date('2027-01-01'), paidUntil: new Date('2027-02-01'), endsAt: null }
  await queue.apply(asked, { ...about, found: { ...times, id, customer, price: price as string, status: 'active' } })
  return { id, price, customer: customer.id }
}

const idsOf = async () => (await easel.json('payments list --unmatched')).map(({ id }: { id: string }) => id)

describe('payments', () => {
  it('lists what is unmatched with what to do, until a customer is matched', async () => {
    const { id, price, customer } = await givenUnmatched()
    expect(await easel.json('payments list --unmatched')).toContainEqual(
      expect.objectContaining({
        ...{ kind: 'subscription', id, customer, email: 'who@example.com', price, problem: 'no_account' },
        advice: expect.stringContaining('match it with one'),
      }),
    )
    const user = await givenUser(easel.db)
    expect(await easel.json(`payments match ${customer} ${user.username} --reason mailed`)).toEqual({
      ...{ customer, username: user.username },
    })
    const { rows } = await easel.db.pool.query('SELECT due_at <= now() AS due FROM payment_objects WHERE id = $1', [id])
    expect(rows).toEqual([{ due: true }])
    expect(await easel.error(`payments match ${customer} ${user.username}`)).toContain('has an account already')
    expect(await easel.error(`payments match cus_none ${user.username}`)).toContain('No customer "cus_none"')
  })

  it('asks again, and takes from the list what needs nothing more', async () => {
    const { id } = await givenUnmatched()
    expect(await easel.json(`payments retry ${id}`)).toEqual({ due: 1 })
    expect(await easel.json(`payments dismiss ${id} --reason refunded`)).toEqual({ id })
    expect(await idsOf()).not.toContain(id)
    expect(await easel.error(`payments dismiss ${id}`)).toContain('is not unmatched')
    expect(await easel.error('payments retry sub_none')).toContain('is not unmatched')
  })

  it('lists payments with what they brought', async () => {
    const user = await givenUser(easel.db)
    await easel.db.pool.query(
      `INSERT INTO payments (id, user_id, amount, currency, returned, paid_at, pack, credits, taken_back)
       VALUES ('pi_listed', $1, 1000, 'eur', 100, now(), 'Large', 500, 50)`,
      [user.id],
    )
    expect(await easel.json('payments list')).toContainEqual(
      expect.objectContaining({
        id: 'pi_listed',
        username: user.username,
        pack: 'Large',
        credits: 500,
        taken_back: 50,
      }),
    )
    expect(await easel.text('payments list')).toContain('1000 eur')
  })
})
