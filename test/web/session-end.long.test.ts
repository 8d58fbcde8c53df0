import type { BrowserContext } from 'playwright-core'
import { expect, it } from 'vitest'
import { sessionStore } from '../../src/db/accounts/sessions.js'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { givenOperator, givenSession } from '../support/given-sign-in.js'
import { useService } from '../support/service.js'

const context = useService({ env: { INFERENCE_URL: 'preview:' } })
const browser = useBrowser()

/** As after signing in again. */
async function signInAs(tabs: BrowserContext, user: { readonly id: string }) {
  const [name = '', value = ''] = (await givenSession(context.service.db, user)).split('=')
  await tabs.addCookies([{ name, value, url: context.service.url, httpOnly: true, sameSite: 'Lax' }])
}

describeInBrowser('what was typed while the session ended', () => {
  it.each([
    ['/playground', '#prompt', /^Generate/],
    ['/operator/models/workflow', '#workflow', 'Check'],
  ])('on %s is there again after signing in', async (path, field, button) => {
    const { db, url } = context.service
    const { cookie, ...user } = await givenOperator(db)
    const { page, context: tabs } = await browser.open(url, cookie)
    await page.goto(path)
    await page.locator(field).fill('a long text')
    await sessionStore(db).endAll(user.id)
    await page.getByRole('button', { name: button }).first().click()
    await page.waitForURL('**/sign-in?next=**')
    const next = new URL(page.url()).searchParams.get('next')
    expect(next).toBe(path)
    await signInAs(tabs, user)
    await page.goto(path, { referer: page.url() })
    expect(await page.locator(field).inputValue()).toBe('a long text')
  })

  it('is not there for somebody else, and not once it was sent', async () => {
    const { db, url } = context.service
    const { cookie, ...user } = await givenOperator(db)
    const other = await givenOperator(db)
    const { page, context: tabs } = await browser.open(url, cookie)
    const path = '/operator/models/workflow'
    const check = () => page.getByRole('button', { name: 'Check' }).first().click()
    await page.goto(path)
    await page.locator('#workflow').fill('a long text')
    await sessionStore(db).endAll(user.id)
    await check()
    await page.waitForURL('**/sign-in?next=**')
    await signInAs(tabs, other)
    await page.goto(path, { referer: page.url() })
    expect(await page.locator('#workflow').inputValue()).toBe('')
    await page.locator('#workflow').fill('a long text')
    await check()
    await page.getByRole('alert').first().waitFor()
    await page.goto(path)
    expect(await page.locator('#workflow').inputValue()).toBe('')
  })
})
