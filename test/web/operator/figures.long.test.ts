import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('the operator’s figures in a browser', () => {
  it('have no accessibility violation in light and dark, and fit a phone', async () => {
    const { db, url } = context.service
    const operator = await givenOperator(db)
    await givenEndedGeneration(db, operator, { batchSize: 2 })
    await givenEndedGeneration(db, operator, {}, 'fail')
    const { page, violations, scrollsSideways } = await browser.open(url, operator.cookie)
    await page.goto('/operator/figures')
    await page.getByText('As a table').first().click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
  })
})
