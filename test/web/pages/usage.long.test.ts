import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('the usage page in a browser', () => {
  it('has no accessibility violation in light and dark, and fits a phone', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await givenEndedGeneration(db, user, { batchSize: 2 })
    await db.pool.query(`UPDATE api_keys SET name = repeat('name', 15) WHERE id = $1`, [user.keyId])
    const { page, violations, scrollsSideways } = await browser.open(url, await givenSession(db, user))
    await page.goto('/usage')
    await page.getByText('As a table').first().click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
  })

  it('shows another time when its days are chosen, also without scripts', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const { page } = await browser.open(url, await givenSession(db, user), { javaScriptEnabled: false })
    await page.goto('/usage')
    await page.getByRole('textbox', { name: 'From' }).fill('2026-03-01')
    await page.getByRole('textbox', { name: 'To', exact: true }).fill('2026-03-05')
    await page.getByRole('button', { name: 'Show' }).click()
    const bars = page.getByRole('img', { name: 'Credits spent, by day' }).locator('rect')
    await expect.poll(() => bars.count()).toBe(5)
    await page.getByRole('link', { name: '7 days' }).click()
    await expect.poll(() => bars.count()).toBe(7)
  })
})
