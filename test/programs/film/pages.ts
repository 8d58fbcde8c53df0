/** Every page in four looks: light and dark, on a phone, and in German; and what it weighs and takes. */
import type { Page } from 'playwright-core'
import { violationsOf } from '../../support/chromium.js'
import { MODEL } from '../../support/givens.js'
import { OWN_PAGES } from '../../web/own-pages.js'
import { percentile } from '../bench/figures.js'
import { type Film, PHONE } from './film.js'
import { requestsOf } from './large.js'
import { type Stage, type Subscriber, sceneOf } from './stage.js'

const IMAGES = 30
const REQUESTS = 10
/** As web.dev has it: what is worse needs to be improved. */
const LIMITS = { lcp: 2500, cls: 0.1, inp: 200 }

export const pagesOf = ({ username, slugs }: Subscriber): readonly string[] => [
  ...['/', ...OWN_PAGES, '/gallery/folders', `/gallery?q=nothing+like+it`],
  ...[`/image/${slugs[0]}`, `/compare/${slugs[0]}/${slugs[1]}`],
  ...[`/operator/models/${MODEL.id}`, '/operator/models/workflow', '/operator/log', '/operator/images/removed'],
  ...['/operator/moderation', `/operator/users/${username}`, '/no-such-page'],
]

export async function givenOperatorWithImages(stage: Stage): Promise<Subscriber> {
  const account = await stage.givenSubscriber(Array.from({ length: IMAGES }, (_, n) => sceneOf(n)))
  await stage.db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [account.id])
  return account
}

export async function everyPage(film: Film, path: string, account: Subscriber): Promise<void> {
  const judge = async (page: Page, look: string, whole: boolean) => {
    await film.shot(page, look, whole)
    for (const violation of await violationsOf(page)) film.fault(`${look}: ${violation}`)
    for (const cut of await page.evaluate<string[]>(CUT)) film.fault(`${look}: its text is cut: ${cut}`)
  }
  const light = await film.open({ colorScheme: 'light' }, account)
  const session = await light.context().newCDPSession(light)
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await light.addInitScript(OBSERVE)
  await light.goto(path, { waitUntil: 'load' })
  // Once the largest thing stands, and nothing is loaded any more.
  await light.waitForLoadState('networkidle')
  const bytes = await light.evaluate<number>(LOADED)
  await judge(light, 'light', true)
  await press(light)
  const { lcp, cls, inp } = await light.evaluate<{ lcp: number; cls: number; inp: number }>('window.observed')
  await light.goto(path)
  await light.emulateMedia({ colorScheme: 'dark' })
  await judge(light, 'dark', false)
  for (const [look, options] of [
    ['phone', PHONE],
    ['German', { locale: 'de-DE' }],
  ] as const) {
    const page = await film.open(options, account)
    await page.goto(path)
    await judge(page, look, look === 'phone')
    await page.context().close()
  }
  film.row('Pages', {
    page: path.replaceAll(/[0-9A-Za-z]{22}|[0-9a-f-]{36}/g, '…'),
    'server, ms': percentile(await requestsOf(film.stage, path, account, REQUESTS), 0.5).toFixed(1),
    'LCP, ms': Math.round(lcp),
    CLS: cls.toFixed(3),
    'INP, ms': inp === 0 ? '< 16' : Math.round(inp),
    'bytes before images': bytes,
  })
  if (lcp > LIMITS.lcp) film.fault(`The largest content is painted after ${Math.round(lcp)} ms.`)
  if (cls > LIMITS.cls) film.fault(`Its layout shifts by ${cls.toFixed(3)}.`)
  if (inp > LIMITS.inp) film.fault(`It answers a press after ${Math.round(inp)} ms.`)
}

/** What one does first on a page, without leaving it. */
const CONTROLS = ['textarea, input:is([type=text], [type=search], [type=number])', 'summary', 'input[type=radio]']

async function press(page: Page): Promise<void> {
  for (const [n, selector] of CONTROLS.entries()) {
    const control = page.locator(`main :is(${selector})`).locator('visible=true').first()
    if ((await control.count()) === 0) continue
    await control.click({ force: true })
    if (n === 0) await page.keyboard.press('a')
  }
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))',
  )
}

const OBSERVE = `window.observed = { lcp: 0, cls: 0, inp: 0 }
const observe = (type, see, more) =>
  new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true, ...more })
observe('largest-contentful-paint', ({ startTime }) => (observed.lcp = startTime))
observe('layout-shift', ({ value, hadRecentInput }) => (observed.cls += hadRecentInput ? 0 : value))
observe('event', ({ interactionId, duration }) => {
  if (interactionId) observed.inp = Math.max(observed.inp, duration)
}, { durationThreshold: 16 })`

const LOADED = `(() => {
  const [page] = performance.getEntriesByType('navigation')
  const others = performance.getEntriesByType('resource').filter(({ initiatorType: by, name }) =>
    by !== 'img' && !/[.](png|webp|svg)([?]|$)|[/]covers[/]/.test(name))
  const bytes = [page, ...others].reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
  return bytes
})()`

/** Of buttons, cells and the like whose words do not fit in. */
const CUT = `[...document.querySelectorAll('button, .button, summary, th, td, label, .badge, h1, h2, select')].filter((it) => {
  const { display, overflowX, textOverflow } = getComputedStyle(it)
  const hidden = getComputedStyle(it.closest('thead') ?? it).clipPath !== 'none'
  return it.checkVisibility() && !hidden && display !== 'inline' && it.clientWidth > 1 && it.scrollWidth > it.clientWidth + 1 &&
    overflowX !== 'auto' && textOverflow !== 'ellipsis'
}).map((it) => it.localName + ' "' + it.textContent.trim().slice(0, 60) + '"')`
