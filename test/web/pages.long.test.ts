import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { useService } from '../support/service.js'

const context = useService()
const browser = useBrowser()

/** For anybody. */
const PAGES = ['/', '/sign-in', '/docs', '/no-such-page']

describeInBrowser('a page in a browser', () => {
  it.each(PAGES)('%s has no accessibility violation in light and dark, and fits a phone', async (path) => {
    const { page, violations, scrollsSideways } = await browser.open(context.service.url)
    await page.goto(path)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })
})
