import { expect, it } from 'vitest'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, violated } = audited

it('an audit finds a balance that the ledger does not explain', async () => {
  await breaking('UPDATE users SET credits = credits + 1 WHERE id = $1', [audited.user.id])
  expect(await violated()).toEqual({ 'balance-is-sum-of-ledger': 1 })
})

it('an audit finds a ledger row that does not follow from the one before', async () => {
  await breaking(`UPDATE credit_ledger SET balance = balance + 1 WHERE generation_id = $1 AND kind = 'charge'`, [
    audited.succeeded.id,
  ])
  expect(await violated()).toEqual({ 'ledger-balances-add-up': 2 })
})

it('an audit finds a negative balance', async () => {
  await breaking('ALTER TABLE users DROP CONSTRAINT users_credits_check')
  await breaking('UPDATE users SET credits = -1 WHERE id = $1', [audited.user.id])
  expect(await violated()).toEqual({ 'balance-is-sum-of-ledger': 1, 'no-negative-balance': 1 })
})

it('an audit finds a job that was charged never, twice, a wrong amount, to another user, or although it is metered', async () => {
  const { user, succeeded, running, metered, failed } = audited
  const charge = `UPDATE credit_ledger SET`
  const where = `WHERE kind = 'charge' AND generation_id = $1`
  const again = `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ($1, 'charge', $3, 0, $2)`
  await breaking(`${charge} delta = delta - 1 ${where}`, [succeeded.id])
  expect(await violated()).toMatchObject({ 'charged-exactly-once': 1 })
  await breaking(`DELETE FROM credit_ledger ${where}`, [succeeded.id])
  expect(await violated()).toMatchObject({ 'charged-exactly-once': 1 })
  await breaking(`${charge} user_id = (SELECT min(id::text)::uuid FROM users WHERE id <> user_id) ${where}`, [
    running.id,
  ])
  expect(await violated()).toMatchObject({ 'charged-exactly-once': 2 })
  await breaking(again, [user.id, metered.id, 0])
  expect(await violated()).toMatchObject({ 'charged-exactly-once': 3 })
  await breaking('ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_generation_id_kind_key')
  await breaking(again, [user.id, failed.id, -failed.cost])
  expect(await violated()).toMatchObject({ 'charged-exactly-once': 4 })
})

it('an audit finds a failed job without a refund, unless refunds are switched off', async () => {
  const { failed } = audited
  await breaking(`UPDATE generations SET error = 'Out of memory.' WHERE id = $1`, [failed.id])
  await breaking(`DELETE FROM credit_ledger WHERE kind = 'refund' AND generation_id = $1`, [failed.id])
  expect(await violated()).toMatchObject({ 'refunded-exactly-once': 1 })
  expect(await violated({ REFUND_FAILED: 'false' })).not.toHaveProperty('refunded-exactly-once')
})

it('an audit finds a canceled job without a refund, even if refunds are switched off', async () => {
  await breaking(`DELETE FROM credit_ledger WHERE kind = 'refund' AND generation_id = $1`, [audited.failed.id])
  expect(await violated({ REFUND_FAILED: 'false' })).toMatchObject({ 'refunded-exactly-once': 1 })
})

it('an audit finds a refund of a job that succeeded, one that is higher than the charge, and a second one', async () => {
  const { user, succeeded, failed } = audited
  const refund = `INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id) VALUES ($1, 'refund', $3, 0, $2)`
  const env = { REFUND_FAILED: 'false' }
  await breaking(refund, [user.id, succeeded.id, succeeded.cost])
  expect(await violated(env)).toMatchObject({ 'refunded-exactly-once': 1 })
  await breaking('ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_generation_id_kind_key')
  await breaking(refund, [user.id, failed.id, failed.cost])
  expect(await violated(env)).toMatchObject({ 'refunded-exactly-once': 2 })
  await breaking(`DELETE FROM credit_ledger WHERE id = (SELECT max(id) FROM credit_ledger)`)
  await breaking(`UPDATE credit_ledger SET delta = delta + 1 WHERE kind = 'refund' AND generation_id = $1`, [failed.id])
  expect(await violated(env)).toMatchObject({ 'refunded-exactly-once': 2 })
})

it('an audit finds credits that expire and do not follow from the ledger', async () => {
  const { user, breaking, violated } = audited
  await breaking('UPDATE users SET expiring_credits = 5 WHERE id = $1', [user.id])
  expect(await violated()).toEqual({ 'expiring-credits-add-up': 1 })
})

it('an audit finds a period that was granted twice', async () => {
  const { user, breaking, violated } = audited
  await breaking('DROP INDEX credit_ledger_ref')
  for (let n = 0; n < 2; n++)
    await breaking(
      `WITH given AS (UPDATE users SET credits = credits + 5 WHERE id = $1 RETURNING credits)
       INSERT INTO credit_ledger (user_id, kind, delta, balance, ref, expiring_balance)
       SELECT $1, 'grant', 5, credits, 'period:2027-01-01T00:00:00.000Z', 0 FROM given`,
      [user.id],
    )
  expect(await violated()).toEqual({ 'periods-are-granted-once': 2 })
})

it('an audit finds a subscription whose period nobody has settled', async () => {
  const { user, breaking, violated } = audited
  await breaking(`UPDATE subscriptions SET check_at = now() - interval '1 hour' WHERE user_id = $1`, [user.id])
  expect(await violated()).toEqual({ 'periods-are-settled-in-time': 1 })
})
