/** Every control of every page, pressed where there is nothing for it to act on, and where there is. */
import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { call, PROMPT } from '../support/client.js'
import { givenImages } from '../support/given-images.js'
import { givenOperator, givenSession } from '../support/given-sign-in.js'
import { useService } from '../support/service.js'
import { OWN_PAGES } from './own-pages.js'

const context = useService({ env: { INFERENCE_URL: 'preview:' } })
const browser = useBrowser()

const KEYS = [...'jkdrfxa?/19', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'Enter', 'Escape', 'Delete', 'Home', 'End', 'Tab']

/** Presses all, hidden or not, and every key on each; forms are not sent, and no link is followed. Resolves to how many. */
function pressAll(keys: readonly string[]): number {
  for (const event of ['click', 'submit'] as const)
    addEventListener(event, (it) => {
      const link = (it.target as Element).closest?.('a, form, button[type=submit], button:not([type])')
      if (link) it.preventDefault()
    })
  Object.assign(window, { print: () => undefined, open: () => null })
  const controls = [
    ...document.querySelectorAll<HTMLElement>('a, button, input, select, textarea, summary, img, dialog, [tabindex]'),
  ]
  for (const it of controls) {
    for (const key of keys) it.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
    for (const name of ['pointerdown', 'pointerup', 'click', 'contextmenu', 'input', 'change'])
      it.dispatchEvent(new (name.includes('o') ? PointerEvent : Event)(name, { bubbles: true, cancelable: true }))
    it.click()
    const touch = new Touch({ identifier: 1, target: it, clientX: 100 })
    const moved = new Touch({ identifier: 1, target: it, clientX: 300 })
    it.dispatchEvent(new TouchEvent('touchend', { bubbles: true, changedTouches: [moved] }))
    it.dispatchEvent(new TouchEvent('touchstart', { bubbles: true, touches: [touch], changedTouches: [touch] }))
    it.dispatchEvent(new TouchEvent('touchend', { bubbles: true, changedTouches: [moved] }))
    // Else what is behind it is inert.
    for (const open of document.querySelectorAll('dialog[open]')) (open as HTMLDialogElement).close()
  }
  return controls.length
}

const STATES = [
  'an empty account',
  'an account with images and a generation that waits',
  'an installation without models',
]

describeInBrowser('what is pressed', () => {
  it.each(STATES)('in %s makes no script fail', async (state) => {
    const { db, url } = context.service
    const user = await givenOperator(db)
    let paths: readonly string[] = OWN_PAGES
    if (state.includes('with images')) {
      const images = await givenImages(db, user, [{}, {}])
      await call(url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
      paths = ['/playground', '/gallery', ...images.map((slug) => `/image/${slug}`)]
    }
    if (state.includes('without models')) {
      await db.pool.query('UPDATE model_versions SET enabled = false')
      paths = ['/playground', '/pricing', '/operator/models']
    }
    const { page } = await browser.open(url, await givenSession(db, user))
    for (const path of paths) {
      await page.goto(path)
      expect([path, await page.evaluate(pressAll, KEYS)]).toEqual([path, expect.any(Number)])
    }
  })
})
