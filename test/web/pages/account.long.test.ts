import { expect, it } from 'vitest'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'

const context = useService()
const browser = useBrowser()

async function given() {
  const { db } = context.service
  const user = await givenUser(db)
  await givenPassword(db, user)
  return { user, cookie: await givenSession(db, user) }
}

describeInBrowser('the account page in a browser', () => {
  it('has no accessibility violation in light and dark, and fits a phone', async () => {
    const { service } = context
    const { user, cookie } = await given()
    await givenEndedGeneration(service.db, user, {
      prompt: '<img src=x onerror=alert(1)>\nsecond \u202E"line"',
      batchSize: 2,
    })
    await givenEndedGeneration(service.db, user, {}, 'fail')
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/account')
    await page.getByText('As a table').click()
    expect(await page.getByRole('cell', { name: '2', exact: true }).count()).toBe(1)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
  })

  it('changes the password, and asks once more before it signs out everywhere', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page } = await browser.open(service.url, cookie)
    await page.goto('/account')
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password').fill('a longer one, newly chosen')
    await page.keyboard.press('Enter')
    await page.getByText('Your password is changed.').waitFor()
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('button', { name: 'Sign out here, too?' }).click()
    await page.waitForURL('**/sign-in')
    expect(await sessionStore(service.db).list(user.id)).toEqual([])
  })
})
