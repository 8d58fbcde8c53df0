import { expect, it } from 'vitest'
import { startPaymentsStage } from './stage.js'

it('events of payment have their effect once, doubled, in any order and late, while servers are killed', async () => {
  const stage = await startPaymentsStage('shared')
  const report = await stage.run({ events: 300, accounts: 10 })
  expect(report.wrong).toEqual([])
  expect(await stage.violations()).toEqual([])
  expect(report.posted).toBeGreaterThanOrEqual(300)
  expect(report.disturbances).toBeGreaterThan(0)
})
