/** The website in a real Chromium. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterEach, describe, expect } from 'vitest'
import { findChromium } from './programs.js'

const executablePath = await findChromium()

/** `describe` for tests that need a browser: skipped where there is none, after a line that says so. */
export const describeInBrowser: ReturnType<typeof describe.skipIf> = describe.skipIf(executablePath === undefined)

const ARGUMENTS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
]
/** Of the images, by the tests' BASE_URL; the server under test listens elsewhere. */
const IMAGES = 'http://easel.test/cdn/'
/** Colours that are still changing would be measured as they are then. */
const STILL = { reducedMotion: 'reduce' } as const
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

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
    await Promise.all(contexts.splice(0).map((context) => context.close()))
    expect(problems.splice(0)).toEqual([])
  })

  return {
    /** @param cookie of `givenSession`; without one nobody is signed in */
    async open(origin: string, cookie?: string, options: BrowserContextOptions = {}): Promise<Tab> {
      browser ??= chromium.launch({ executablePath: executablePath as string, args: ARGUMENTS })
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
        await route.fulfill({ response: await route.fetch({ url: origin + pathname }) })
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
      return { page, context, violations: () => violationsOf(page), scrollsSideways: () => scrolls(page) }
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

async function violationsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe, document, innerWidth } = globalThis as unknown as AxeWindow
    // Of the page as it was last time, in other colours, only these are judged.
    const page = `${innerWidth} ${document.documentElement.outerHTML}`
    const isSame = axe.judged === page
    axe.judged = page
    const all = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']
    const { violations } = await axe.run('html', { runOnly: isSame ? ['color-contrast'] : all })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join('; ')}`)
  })
}

interface AxeWindow {
  readonly axe: { judged?: string; run(on: unknown, how: object): Promise<AxeResults> }
  readonly document: { readonly documentElement: { readonly outerHTML: string } }
  readonly innerWidth: number
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly target: readonly string[] }[]
  }[]
}

const scrolls = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
