import { expect, it } from 'vitest'
import { FORGETS_GRANTS } from './payment-checks.js'
import { startPaymentsStage } from './stage.js'

const EVENTS = Number(process.env.PAYMENT_EVENTS ?? 2000)

it(
  `${EVENTS} events of payment have their effect once, while servers and Postgres are killed`,
  async () => {
    const stage = await startPaymentsStage('own')
    const report = await stage.run({ events: EVENTS, accounts: Math.ceil(EVENTS / 50) })
    console.info(JSON.stringify({ ...report, wrong: report.wrong.length }))
    expect(report.wrong).toEqual([])
    expect(await stage.violations()).toEqual([])
  },
  300_000 + EVENTS * 100,
)

it('a run notices when a payment is granted more than once', async () => {
  const stage = await startPaymentsStage('shared')
  await stage.query(FORGETS_GRANTS)
  const report = await stage.run({ events: 300, accounts: 10 })
  expect(report.wrong.join('\n')).toMatch(/brought \d+ credits in [2-9] purchases/)
  expect(await stage.violations()).toContainEqual(expect.objectContaining({ name: 'payments-are-granted-once' }))
})
