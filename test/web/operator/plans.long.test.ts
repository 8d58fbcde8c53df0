import { expect, it } from 'vitest'
import { planStore } from '../../../src/db/accounts/plans.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { HOSTILE } from './given-console.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('the page of plans in a browser', () => {
  it('adds a plan, and shows only the fields of what is chosen', async () => {
    const { db, url } = context.service
    const { page } = await browser.open(url, (await givenOperator(db)).cookie)
    await page.goto('/operator/plans')
    await page.getByLabel('Name').fill('Studio')
    await page.getByLabel('Credits', { exact: true }).fill('500')
    expect(await page.getByLabel('Stay at most').isVisible()).toBe(false)
    await page.getByLabel('Left at its end').selectOption('some stays')
    await page.getByLabel('Stay at most').fill('200')
    const model = page.getByRole('checkbox', { name: MODEL.modelName }).first()
    expect(await model.isVisible()).toBe(false)
    await page.getByLabel('Only these').check()
    await model.check()
    await page.getByLabel('Reason').fill('new prices')
    await page.getByRole('button', { name: 'Add plan' }).click()
    await page.getByRole('status').waitFor()
    expect(await planStore(db).find('Studio')).toMatchObject({ credits: 500, carryOver: 200, models: [MODEL.id] })
  })

  it('has no accessibility violation in light and dark, fits a phone, and shows hostile names as text', async () => {
    const { db, url } = context.service
    const { name } = await givenPlan(db, { name: `${HOSTILE} ${'x'.repeat(60)}`, models: [1, 2], carryOver: 20 })
    const { page, violations, scrollsSideways } = await browser.open(url, (await givenOperator(db)).cookie)
    await page.goto(`/operator/plans?plan=${encodeURIComponent(name)}`)
    await page.getByText('Retire', { exact: false }).first().waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    expect(await page.locator('img').count()).toBe(0)
  })
})
