import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { creditsOf, givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('the operator’s pages of users in a browser', () => {
  it('find a user with the keyboard, and grant credits once for a double click', async () => {
    const { db, url } = context.service
    const user = await givenUser(db, { credits: 7 })
    await givenGeneration(db, user)
    await givenSession(db, user)
    const { username, cookie } = await givenOperator(db)
    const { page, violations, scrollsSideways } = await browser.open(url, cookie, { reducedMotion: 'reduce' })
    await page.goto('/operator/users')
    await page.getByLabel('Name, email, ID or the end of a key').fill(user.username)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: user.username, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: user.username }).waitFor()
    for (const summary of await page.locator('details.act > summary').all()) await summary.click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await page.getByRole('form', { name: 'Grant credits' }).getByLabel('Amount').fill('35')
    await page.getByRole('form', { name: 'Grant credits' }).getByLabel('Reason').fill('Sorry for the outage')
    await page.getByRole('button', { name: 'Grant credits' }).dblclick()
    await page.getByRole('status').waitFor()
    expect(await page.getByRole('status').textContent()).toMatch(/credits were granted/)
    expect(await creditsOf(db, user)).toBe(41)
    const { rows } = await db.pool.query('SELECT actor, action, reason FROM operator_actions WHERE target = $1', [
      user.username,
    ])
    expect(rows).toEqual([{ actor: username, action: 'granted 35 credits', reason: 'Sorry for the outage' }])
    await page.goto('/operator/users')
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
  })
})
