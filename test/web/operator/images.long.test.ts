import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenFiles, givenImages } from '../../support/given-images.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()
/** A page that is left while its pictures load would fail the tab. */
const loaded = (page: Page) => page.waitForLoadState('networkidle')

describeInBrowser('the newest images in a browser', () => {
  it('are a wall from which the operator removes one, and comes back to its place', async () => {
    const { db, url, config } = context.service
    const sizes = [
      [832, 1216],
      [1216, 832],
    ] as const
    const slugs = await givenImages(
      db,
      await givenUser(db),
      Array.from({ length: 30 }, (_, n) => ({ size: sizes[n % 2] ?? sizes[0] })),
    )
    await givenFiles(config, slugs)
    const { page, violations, scrollsSideways } = await browser.open(url, (await givenOperator(db)).cookie)
    await page.goto('/operator/images')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await loaded(page)
    await page.getByRole('link', { name: 'Next page' }).click()
    const second = page.url()
    const pictures = page.locator('.wall img')
    await expect.poll(() => pictures.count()).toBe(6)
    await loaded(page)
    await page.locator('.wall').getByText('Remove…').first().click()
    await page.getByLabel('Reason').fill('Shows a real person.')
    await loaded(page)
    await page.getByRole('button', { name: 'Remove image' }).click()
    await page.getByText('The image is removed.').waitFor()
    expect(page.url()).toBe(`${second}&done=removed`)
    await expect.poll(() => pictures.count()).toBe(5)
    await loaded(page)

    await page.locator('.wall a').first().click()
    await page.getByRole('heading', { name: 'Prompt', exact: true }).waitFor()
    await page.getByText('Take down').click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    expect(await scrollsSideways()).toBe(false)
    await loaded(page)
    await page.getByLabel('Why').fill('Shows a real person, too.')
    await page.getByRole('button', { name: 'Remove image' }).click()
    await page.getByText('Number 1 was removed').waitFor()
  })
})
