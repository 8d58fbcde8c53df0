import { beforeEach, expect, it } from 'vitest'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, violated } = audited
const PAID_UNTIL = new Date('2040-01-01')

/** A pack of 500 credits of which half the money went back, and a subscription with three days of grace. */
beforeEach(async () => {
  const { user, easel } = audited
  const query = (text: string, values: unknown[] = []) => easel.db.pool.query(text, values)
  await query(`INSERT INTO payment_customers (id, user_id) VALUES ('cus_1', $1)`, [user.id])
  await query(
    `INSERT INTO payments (id, customer, user_id, amount, currency, returned, pack, credits, taken_back, moves)
     VALUES ('pi_1', 'cus_1', $1, 1000, 'eur', 500, 'Large', 500, 250, 1)`,
    [user.id],
  )
  for (const [kind, delta, ref] of [
    ['purchase', 500, 'payment:pi_1'],
    ['adjustment', -250, 'payment:pi_1:1'],
  ])
    await query(
      `WITH moved AS (UPDATE users SET credits = credits + $3::integer WHERE id = $1 RETURNING credits)
       INSERT INTO credit_ledger (user_id, kind, delta, balance, ref) SELECT $1, $2, $3::integer, credits, $4 FROM moved`,
      [user.id, kind, delta, ref],
    )
  const times = [new Date('2039-12-01'), PAID_UNTIL]
  await query(
    `INSERT INTO paid_subscriptions (id, customer, price, plan, status, started_at, paid_until)
     VALUES ('sub_1', 'cus_1', 'price_1', 'Pro', 'active', $1, $2)`,
    times,
  )
  await query(
    `UPDATE subscriptions SET started_at = $2, paid_until = $3, end_date = $3::timestamptz + interval '3 days', check_at = NULL
      WHERE user_id = $1`,
    [user.id, ...times],
  )
  expect(await violated()).toEqual({})
})

it('an audit finds a payment whose credits were granted never, twice, or not as many', async () => {
  await breaking(`UPDATE payments SET credits = 600`)
  expect(await violated()).toEqual({ 'payments-are-granted-once': 1, 'purchases-belong-to-payments': 1 })
  await breaking(`UPDATE payments SET credits = 500, user_id = (SELECT user_id FROM generations WHERE metered LIMIT 1)`)
  expect(await violated()).toEqual({ 'payments-are-granted-once': 1, 'purchases-belong-to-payments': 1 })
})

it('an audit finds credits that were taken back and not noted, and more than were granted', async () => {
  await breaking(`UPDATE payments SET taken_back = 100`)
  expect(await violated()).toEqual({ 'payments-are-granted-once': 1 })
  await breaking('ALTER TABLE payments DROP CONSTRAINT payments_check')
  await breaking(`UPDATE payments SET taken_back = 501`)
  expect(await violated()).toEqual({ 'payments-are-granted-once': 1 })
})

it('an audit finds a subscription that may be used longer than it is paid for, unless operators are shown why', async () => {
  const { user } = audited
  await breaking(`UPDATE subscriptions SET end_date = end_date + interval '12 hours' WHERE user_id = $1`, [user.id])
  expect(await violated()).toEqual({ 'paid-subscriptions-end-as-paid': 1 })
  await breaking(`UPDATE subscriptions SET end_date = paid_until WHERE user_id = $1`, [user.id])
  expect(await violated()).toEqual({})
  await breaking(`UPDATE subscriptions SET paid_until = paid_until - interval '1 day' WHERE user_id = $1`, [user.id])
  expect(await violated()).toEqual({ 'paid-subscriptions-end-as-paid': 1 })
  await breaking(
    `INSERT INTO payment_objects (kind, id, customer, problem) VALUES ('subscription', 'sub_1', 'cus_1', 'no_plan')`,
  )
  expect(await violated()).toEqual({})
})

it('an audit finds an event that was left, unless operators are shown why', async () => {
  await breaking(
    `INSERT INTO payment_events (id, type, created_at, received_at, kind, object_id, body)
     VALUES ('evt_1', 'test', now(), now() - interval '2 hours', 'payment', 'pi_2', '{}')`,
  )
  await breaking(`INSERT INTO payment_objects (kind, id) VALUES ('payment', 'pi_2')`)
  expect(await violated()).toEqual({ 'payment-events-are-worked-off': 1 })
  await breaking(`UPDATE payment_objects SET failures = 3`)
  expect(await violated()).toEqual({})
})
