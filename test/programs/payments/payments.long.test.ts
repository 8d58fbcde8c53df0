import { expect, it } from 'vitest'
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
