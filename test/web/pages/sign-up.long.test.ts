import { expect, it } from 'vitest'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { credentialStore, unsentMailStore } from '../../../src/db/accounts/sessions.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

// Nothing listens there: no mail has to arrive.
const context = useService({ env: { SIGN_UP: 'open', SITE_LANGUAGES: 'en,de', SMTP_URL: 'smtp://127.0.0.1:9' } })
const browser = useBrowser()

describeInBrowser('the pages for signing in and up in a browser', () => {
  it('have no accessibility violation in light and dark, and fit a phone, also in German and with a long address', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await operatorUserStore(db).setEmail(user.id, `${'z'.repeat(60)}@mail.test`)
    const cookie = await givenSession(db, user)
    const token = newToken()
    await credentialStore(db).addLink(user.id, hashToken(token))
    const mail = { to: `${'x'.repeat(60)}@mail.test`, subject: 'Sign in <b>', text: `http://a/${'y'.repeat(200)}\n<b>` }
    await unsentMailStore(db).add(mail)
    const pages: [string, string | undefined][] = [
      ['/sign-in?sent=&next=/', undefined],
      [`/sign-in/link?token=${token}`, undefined],
      ['/sign-up', undefined],
      ['/welcome', cookie],
      ['/account/delete', cookie],
      ['/account/deleted', undefined],
      ['/confirm-email?token=x', cookie],
      ['/operator/mails', (await givenOperator(db)).cookie],
    ]
    await Promise.all(
      pages.map(async ([path, session]) => {
        const { page, violations, scrollsSideways } = await browser.open(url, session, { locale: 'de-DE' })
        await page.goto(path)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          expect([path, ...(await violations())]).toEqual([path])
        }
        await page.setViewportSize({ width: 390, height: 800 })
        expect([path, await scrollsSideways()]).toEqual([path, false])
      }),
    )
  })

  it('can be used by keyboard alone, to ask for a link and to make an account', async () => {
    const { page } = await browser.open(context.service.url)
    await page.goto('/sign-in?next=/docs')
    await page.getByLabel('Username or email').focus()
    await page.keyboard.type('somebody')
    for (const name of ['Password', 'Sign in', 'Email me a link']) {
      await page.keyboard.press('Tab')
      expect(
        await page.evaluate('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent'),
      ).toBe(name)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('a link is on its way').waitFor()
    await page.getByRole('link', { name: 'Create an account' }).press('Enter')
    await page.waitForURL('**/sign-up')
    await page.getByLabel('Username').focus()
    for (const text of ['keyboarder', 'keys@mail.test', PASSWORD]) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.waitForURL('**/welcome')
  })
})
