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

  it('tells times where the system has a language that is none to a browser', async () => {
    const { page, context: tabs } = await browser.open(context.service.url)
    await tabs.addInitScript(`Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'C'] })`)
    await page.goto('/docs')
    expect(await page.evaluate(`counted({ one: '# credit', other: '# credits' }, 1234)`)).toBe('1,234 credits')
  })

  it('has letters of a phone in all its fields that make an iPhone enlarge none', async () => {
    const { page } = await browser.open(context.service.url, undefined, { hasTouch: true, isMobile: true })
    const size = (html: string) =>
      page.evaluate((html) => {
        document.querySelector('main')?.insertAdjacentHTML('beforeend', `<p class="small">${html}</p>`)
        return Number.parseFloat(getComputedStyle(document.querySelector('.small:last-child > *') as Element).fontSize)
      }, html)
    await page.goto('/sign-in')
    for (const field of ['input', 'textarea', 'select']) expect(await size(`<${field}></${field}>`)).toBe(16)
  })
})
