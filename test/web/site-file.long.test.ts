import { beforeAll, expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { givenSession } from '../support/given-sign-in.js'
import { FULL_SITE, FULL_SITE_FILES, givenSiteFile } from '../support/given-site.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

/** Its third picture is a file, too: what is at no address is an error to the browser. */
const pictures = FULL_SITE.home.pictures.with(2, { src: 'mark.svg', alt: 'a circle' })
/** As near to what is behind it as an accent may be: if axe finds nothing here, the check at the start suffices. */
const accent = { light: '#686868', dark: '#9b9b9b' }
const SITE = { ...FULL_SITE, accent, home: { ...FULL_SITE.home, pictures } }

const context = useService({ env: { SIGN_UP: 'open', SITE_FILE: givenSiteFile(SITE, FULL_SITE_FILES) } })
const browser = useBrowser()
let cookie: string
beforeAll(async () => {
  const { db } = context.service
  const user = await givenUser(db, { subscription: null })
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [user.id])
  cookie = await givenSession(db, user)
})

describeInBrowser('a site with a mark and an accent of its own, in a browser', () => {
  it.each([
    ...[
      '/',
      '/sign-in?sent=&next=/',
      '/sign-up',
      '/docs',
      '/playground',
      '/account?done=mails',
      '/gallery',
      '/keys',
      '/usage',
    ],
    ...['/webhooks', '/operator', '/operator/models', '/operator/plans', '/operator/users', '/operator/api'],
  ])('%s has no accessibility violation in light and dark, and fits a phone', async (path) => {
    const { page, violations, scrollsSideways } = await browser.open(
      context.service.url,
      /^\/($|sign|docs)/.test(path) ? undefined : cookie,
    )
    await page.goto(path)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })

  it('shows its images and its accent', async () => {
    const { page } = await browser.open(context.service.url)
    await page.goto('/')
    await expect
      .poll(() => page.evaluate('[...document.images].every((it) => it.complete && it.naturalWidth > 0)'))
      .toBe(true)
    const accent = () => page.evaluate("getComputedStyle(document.querySelector('main .primary')).backgroundColor")
    expect(await accent()).toBe('rgb(104, 104, 104)')
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await accent()).toBe('rgb(155, 155, 155)')
  })

  it('runs nothing of a mark that is opened by itself', async () => {
    const { page } = await browser.open(context.service.url)
    await page.goto('/')
    const mark = await page.evaluate("document.querySelector('img.mark').src")
    await page.goto(mark as string)
    expect(await page.evaluate('document.title')).not.toBe('run')
    // The browser tells that it refused to.
    expect(browser.problems.splice(0).join()).toMatch(/script/i)
  })
})
