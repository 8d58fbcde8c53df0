import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { INSIDE, timePasses } from '../../support/given-webhook.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenReceiver } from '../../support/webhook-receiver.js'

const context = useService({ env: INSIDE })
const browser = useBrowser()
const HOSTILE = '<b>Production</b> \u202E& "more"'

describeInBrowser('the webhooks page in a browser', () => {
  it('adds an endpoint, shows its secret once, follows a test delivery, and deletes the endpoint', async () => {
    const { service } = context
    const receiver = await givenReceiver(500)
    const user = await givenUser(service.db)
    const cookie = await givenSession(service.db, user)
    const list = async () => (await call(service.url, 'GET', '/api/v1/webhooks', { key: user.key })).body.webhooks
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/webhooks')
    await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url)
    await page.getByRole('textbox', { name: 'Description' }).fill(HOSTILE)
    await page.getByRole('checkbox', { name: 'image.completed' }).uncheck()
    await page.getByRole('button', { name: 'Add webhook' }).click()
    const secret = await page.getByLabel('Signing secret').inputValue()
    expect(secret).toMatch(/^whsec_/)
    expect(await violations()).toEqual([])
    expect(await list()).toMatchObject([
      {
        url: receiver.url,
        description: HOSTILE,
        events: ['generation.succeeded', 'generation.failed', 'credits.low', 'subscription.changed'],
      },
    ])

    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    expect(page.url()).toMatch(/\/webhooks\/whe_/)
    expect(await page.content()).not.toContain(secret)
    // Without a reload: the list asks for itself while something waits.
    await page.getByText('HTTP 500').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    receiver.behaviour = 200
    await timePasses(service)
    await page.getByText('delivered').waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)

    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('button', { name: 'Make a new secret?' }).click()
    expect(await page.getByLabel('Signing secret').inputValue()).not.toBe(secret)
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await list()).toHaveLength(1)
    await page.getByRole('button', { name: 'Delete for good?' }).click()
    await page.getByText('No webhooks yet.').waitFor()
    expect(await list()).toEqual([])
  })
})
