/** Scenes, each with a person of its own, and what comes of them: screenshots, figures and faults. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { STILL, scrollsSideways } from '../../support/chromium.js'
import { check, Fault, Person, type Way } from './person.js'
import type { Stage, Subscriber } from './stage.js'

export type Row = Readonly<Record<string, string | number>>

export interface Film {
  readonly stage: Stage
  readonly faults: readonly string[]
  /** Runs a scene, unless it was not asked for. A fault ends the scene, and the film goes on. */
  scene(name: string, play: () => Promise<void>): Promise<void>
  /** Somebody on the website, signed in if an account is given. */
  enter(way: Way, account?: Subscriber): Promise<Person>
  open(options: BrowserContextOptions, account?: Subscriber): Promise<Page>
  /** Keeps a screenshot of the window, under the next number. The page must not scroll sideways. */
  shot(page: Page, name: string, whole?: boolean): Promise<void>
  /** A line of a table that is printed in the end. */
  row(table: string, row: Row): void
  fault(sentence: string): void
  tables(): string
}

const DESKTOP = { viewport: { width: 1280, height: 850 } }
export const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }

export function openFilm(stage: Stage, out: string, isWanted: (scene: string) => boolean): Film {
  const faults: string[] = []
  const rows = new Map<string, Row[]>()
  let shots = 0
  let current = ''
  let opened: Page[] = []
  const fault = (sentence: string) => {
    faults.push(`${current}: ${sentence}`)
    console.log(`  FAULT ${sentence}`)
  }
  const shot = async (page: Page, name: string, whole = false) => {
    const number = String(++shots).padStart(3, '0')
    const { width, height } = await page.evaluate<{ width: number; height: number }>(SIZE)
    const clip = { x: 0, y: 0, width, height: Math.min(height, MOST_PIXELS) }
    const image = await page.screenshot(whole ? { fullPage: true, clip } : {})
    await writeFile(join(out, `${number}-${fileName(`${current} ${name}`)}.png`), image)
  }
  const open = async (options: BrowserContextOptions, account?: Subscriber) => {
    const context = await stage.browser.newContext({
      ...{ baseURL: stage.origin, locale: 'en-GB', timezoneId: 'Europe/Berlin' },
      ...DESKTOP,
      ...STILL,
      ...options,
    })
    context.setDefaultTimeout(30_000)
    if (account) {
      const [name = '', value = ''] = account.cookie.split('=')
      await context.addCookies([{ name, value, url: stage.origin, httpOnly: true, sameSite: 'Lax' }])
    }
    const page = await context.newPage()
    opened.push(page)
    page.on('pageerror', ({ message }) => {
      if (message !== 'Transition was skipped') fault(`A script failed: ${message}`)
    })
    page.on('console', (message) => {
      // A page that is refused says so itself.
      if (message.type() === 'error' && message.location().url !== page.url())
        fault(`The browser's console says: ${message.text()}`)
    })
    return page
  }
  return {
    ...{ stage, faults, fault, open },
    async scene(name, play) {
      if (!isWanted(name)) return
      current = name
      console.log(name)
      const begun = performance.now()
      try {
        await play()
      } catch (error) {
        const [page] = opened.slice(-1)
        if (page) await shot(page, 'fault').catch(() => undefined)
        if (error instanceof Fault) fault(error.message)
        else fault(`The step did not end: ${error instanceof Error ? error.message.slice(0, 600) : error}`)
      }
      await Promise.all(opened.map((page) => page.context().close()))
      opened = []
      console.log(`  ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    },
    async enter(way, account) {
      const options = way === 'touch' ? PHONE : { javaScriptEnabled: way !== 'no-script' }
      const page = await open(options, account)
      return new Person(way, page, await page.context().newCDPSession(page))
    },
    async shot(page, name, whole) {
      await shot(page, name, whole)
      check(!(await scrollsSideways(page)), `The page of "${name}" can be scrolled sideways.`)
      const [beyond] = await page.evaluate<string[]>(BEYOND)
      check(beyond === undefined, `On "${name}" a part of ${beyond} stands left of the window.`)
    },
    row(table, row) {
      rows.set(table, [...(rows.get(table) ?? []), row])
    },
    tables: () => [...rows].map(([title, lines]) => `\n${title}\n\n${tableOf(lines)}`).join('\n'),
  }
}

/** Chromium takes no picture of the longest pages. */
const MOST_PIXELS = 6000
const SIZE = `({ width: document.documentElement.clientWidth, height: document.documentElement.scrollHeight })`

/** What begins left of the window, where nobody can scroll to it. */
const BEYOND = `[...document.querySelectorAll('main .card, main button, main input, main label, main h1, main p')].filter((it) => {
  const { left, right, width } = it.getBoundingClientRect()
  return it.checkVisibility() && width > 1 && left < -1 && right > 1 && !it.closest('.strip, nav, [role=toolbar], .scroll')
}).map((it) => it.localName + ' "' + it.textContent.trim().slice(0, 40) + '"')`

const fileName = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

function tableOf(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap(Object.keys))]
  const cells = [names, ...rows.map((row) => names.map((name) => `${row[name] ?? ''}`))]
  const widths = names.map((_, n) => Math.max(...cells.map((line) => (line[n] as string).length)))
  const lineOf = (line: readonly string[]) =>
    `| ${line.map((cell, n) => cell.padEnd(widths[n] as number)).join(' | ')} |`
  const [head = [], ...body] = cells
  return [lineOf(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(lineOf)].join('\n')
}
