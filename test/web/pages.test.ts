import { expect, it } from 'vitest'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService()
const browser = useBrowser()

/** For anybody. */
const PAGES = ['/', '/sign-in', '/docs', '/no-such-page']

describeInBrowser('a page', () => {
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

/** For who is signed in. */
const OWN_PAGES = ['/playground', '/gallery', '/keys', '/account', '/webhooks', '/operator', '/docs']

it.each(OWN_PAGES)('%s weighs less than 100 KB with its style and scripts', async (path) => {
  const { url, db } = context.service
  const user = await givenUser(db)
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [user.id])
  const answer = await fetch(url + path, { headers: { cookie: await givenSession(db, user), accept: 'text/html' } })
  expect(answer.status).toBe(200)
  const html = await answer.text()
  const loaded = [...html.matchAll(/<(?:link rel="stylesheet"|script)[^>]*(?:href|src)="(\/assets\/[^"]+)"/g)]
  expect(loaded.length).toBeGreaterThan(1)
  const sizes = await Promise.all(
    loaded.map(async ([, asset]) => (await (await fetch(url + asset)).arrayBuffer()).byteLength),
  )
  expect(sizes.reduce((sum, size) => sum + size, Buffer.byteLength(html))).toBeLessThan(100_000)
})
