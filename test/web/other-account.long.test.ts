import { expect, it, onTestFinished } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { useService } from '../support/service.js'
import { activeOf, endAll, signedIn } from './pages/given-playground.js'

const context = useService({ env: { INFERENCE_URL: 'preview:' } })
const browser = useBrowser()
const REFUSED = 'Somebody else is signed in here by now, so nothing was done.'

describeInBrowser('a page that is open while somebody else signs in, in another tab', () => {
  it.each(['/playground', '/account'])('%s does nothing for them, until it is loaded again', async (path) => {
    const { service } = context
    const [before, now] = [await signedIn(service), await signedIn(service)]
    onTestFinished(async () => void (await endAll(service)))
    const { page, context: tabs } = await browser.open(service.url, before.cookie)
    await page.goto(path)
    const [name = '', value = ''] = now.cookie.split('=')
    await tabs.addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }])
    const press = () =>
      path === '/playground'
        ? page.getByRole('button', { name: /^Generate/ }).click()
        : page.locator('form[action="/account/new-images"] button').click()
    await press()
    await page.getByText(REFUSED).waitFor()
    await page.goto(path)
    await press()
    if (path === '/playground') {
      await page.getByRole('heading', { name: 'First in the queue' }).waitFor()
      expect([await activeOf(service, before.user), await activeOf(service, now.user)]).toEqual([
        undefined,
        expect.anything(),
      ])
    } else await page.waitForURL(/\/account/)
    await expect.poll(() => page.getByText(REFUSED).count()).toBe(0)
  })
})
