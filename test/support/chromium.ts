/** The Chromium that tests and programs drive, and what they ask of a page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from './programs.js'

/** Undefined where there is none. */
export const chromiumPath = await findChromium()

/** Another name of 127.0.0.1: to a browser that is no secure place, as a server of a home without https. */
export const INSECURE_HOST = 'insecure.test'

const ARGUMENTS = [
  `--host-resolver-rules=MAP ${INSECURE_HOST} 127.0.0.1`,
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
]

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath as string, args: ARGUMENTS })

/** Colours that are still changing would be measured as they are then. */
export const STILL = { reducedMotion: 'reduce' } as const
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Accessibility violations (WCAG 2.2 AA) of the page as it is now, a line each. */
export async function violationsOf(page: Page): Promise<string[]> {
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

/** Whether the page can be scrolled sideways. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
