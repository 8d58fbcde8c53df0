/** The website in a real Chromium. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, describe, expect } from 'vitest'
import { chromiumPath, INSECURE_HOST, launchChromium, STILL, scrollsSideways, violationsOf } from './chromium.js'

/** `describe` for tests that need a browser: skipped where there is none, after a line that says so. */
export const describeInBrowser: ReturnType<typeof describe.skipIf> = describe.skipIf(chromiumPath === undefined)

/** Of the images, by the tests' BASE_URL; the server under test listens elsewhere. */
const IMAGES = 'http://easel.test/cdn/'

export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** Accessibility violations (WCAG 2.2 AA) of the page as it is now, a line each. */
  violations(): Promise<string[]>
  /** Whether the page can be scrolled sideways. */
  scrollsSideways(): Promise<boolean>
}

/** One for all files of this process, with which it ends: each start takes some seconds. */
let browser: Promise<Browser> | undefined

/**
 * Opens tabs, each with storage of its own. Each test fails if its pages asked anybody but the site for anything, logged an error, or
 * broke the content security policy.
 */
export function useBrowser() {
  const contexts: BrowserContext[] = []
  const problems: string[] = []
  afterEach(async () => {
    // An image that is still being fetched must not fail whatever test comes next.
    const close = async (context: BrowserContext) => {
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    }
    await Promise.all(contexts.splice(0).map(close))
    expect(problems.splice(0)).toEqual([])
  })

  return {
    /** @param cookie of `givenSession`; without one nobody is signed in */
    async open(origin: string, cookie?: string, options: BrowserContextOptions = {}): Promise<Tab> {
      browser ??= launchChromium()
      const context = await (await browser).newContext({
        baseURL: origin,
        viewport: { width: 1280, height: 850 },
        ...STILL,
        ...options,
      })
      contexts.push(context)
      // For a busy machine: a wait ends with its condition, whatever its limit.
      context.setDefaultTimeout(90_000)
      if (cookie) {
        const [name = '', value = ''] = cookie.split('=')
        await context.addCookies([{ name, value, url: origin, httpOnly: true, sameSite: 'Lax' }])
      }
      await context.route(`${IMAGES}*`, async (route) => {
        const { pathname } = new URL(route.request().url())
        // Not the browser asks here.
        const url = origin.replace(INSECURE_HOST, '127.0.0.1') + pathname
        await route.fulfill({ response: await route.fetch({ url }) })
      })
      const page = await context.newPage()
      page.on('pageerror', ({ message }) => {
        // Of a page that was left before its transition had ended.
        if (message !== 'Transition was skipped') problems.push(`error: ${message}`)
      })
      page.on('console', (message) => {
        // A page that is refused is also an error to the console.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          problems.push(`console: ${message.text()}`)
      })
      page.on('request', (request) => {
        const url = request.url()
        if (![`${origin}/`, IMAGES].some((own) => url.startsWith(own)) && !/^(data|blob):/.test(url))
          problems.push(`asked elsewhere: ${url}`)
      })
      return { page, context, violations: () => violationsOf(page), scrollsSideways: () => scrollsSideways(page) }
    },
    /** For what a test provokes on purpose. */
    problems,
  }
}

/** What a browser does that forbids storage and denies other things to a website: each access throws, or is not there. */
export const denyEverything = (context: BrowserContext): Promise<unknown> => context.addInitScript(DENIAL)

const DENIAL = `for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches'])
  Object.defineProperty(window, name, {
    get() { throw new DOMException('The operation is insecure.', 'SecurityError') },
  })
Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })
delete window.Notification`
