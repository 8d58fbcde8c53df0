import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('a new account in a browser', () => {
  it('is created by an operator, and its owner signs in with the link that the operator was shown', async () => {
    const { db, url } = context.service
    const tab = await browser.open(url, (await givenOperator(db)).cookie)
    const { page } = tab
    await page.goto('/operator/users')
    await page.getByText('Create an account').click()
    await expectFine(tab)
    await page.getByLabel('Username').fill('ada')
    await page.getByLabel('Plan').fill('Studio')
    await page.getByLabel('Why').fill('Asked for by mail.')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByText('The account is created.').waitFor()

    await page.getByText('Create a key').click()
    await page.getByText('Make a sign-in link', { exact: true }).click()
    await expectFine(tab)
    await page.getByLabel('Lasts').fill('3')
    await page.getByLabel('Unit').selectOption('days')
    const form = page.locator('form[action$="/sign-in-link"]')
    await form.getByLabel('Why').fill('Their first one.')
    await form.getByRole('button', { name: 'Make link' }).click()
    await page.getByRole('heading', { name: 'Copy the link now' }).waitFor()
    expect(page.url()).toBe(`${url}/operator/users/ada/sign-in-link`)
    await expectFine(tab)
    const link = await page.getByLabel('Sign-in link').inputValue()

    const owner = await browser.open(url)
    await owner.page.goto(link.replace('http://easel.test', url))
    await owner.page.getByRole('button', { name: 'Sign in' }).click()
    await owner.page.waitForURL(`${url}/playground`)
    await owner.page.goto('/account')
    expect(await owner.page.getByText('ada', { exact: true }).first().isVisible()).toBe(true)
  })
})

/** As it is now, wide in light and dark, and on a phone. */
async function expectFine({ page, violations, scrollsSideways }: Awaited<ReturnType<typeof browser.open>>) {
  await page.setViewportSize({ width: 1280, height: 850 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations()).toEqual([])
  }
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await scrollsSideways()).toBe(false)
}
