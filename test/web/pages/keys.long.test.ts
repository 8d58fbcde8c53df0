import { expect, it } from 'vitest'
import { ownKeyStore } from '../../../src/db/accounts/api-keys.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()
const HOSTILE = '<b>laptop</b> & "scripts" \u202Eevil'
const keysOf = (user: GivenUser) => ownKeyStore(context.service.db).list(user.id)
const accountStatus = async (key: string) => (await call(context.service.url, 'GET', '/api/v1/account', { key })).status

async function given() {
  const { db } = context.service
  const user = await givenUser(db)
  return { user, cookie: await givenSession(db, user) }
}

describeInBrowser('the keys page in a browser', () => {
  it('creates a key that is shown once and works, renames it, and revokes it for good', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await page.getByRole('textbox', { name: 'Key name' }).fill(HOSTILE)
    await page.keyboard.press('Enter')
    const shown = page.getByRole('textbox', { name: 'Your new key' })
    const key = await shown.inputValue()
    expect(await accountStatus(key)).toBe(200)
    expect(await shown.getAttribute('readonly')).not.toBeNull()
    // Whoever does not see the page hears where the key is.
    await expect.poll(() => shown.evaluate((field) => field.matches(':focus'))).toBe(true)
    expect(await page.getByText('curl ').textContent()).toContain(`Bearer ${key}`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }

    await page.reload()
    expect(await page.content()).not.toContain(key)
    expect(await keysOf(user)).toHaveLength(2)
    const row = page.getByRole('row').filter({ hasText: HOSTILE })
    await row.getByText('Rename').click()
    await row.getByLabel('New name').fill('server')
    await row.getByRole('button', { name: 'Save' }).click()
    const renamed = page.getByRole('row').filter({ hasText: 'server' })
    await renamed.getByRole('button', { name: 'Revoke' }).click()
    expect(await accountStatus(key)).toBe(200)
    await renamed.getByRole('button', { name: 'Revoke for good?' }).click()
    await page.getByRole('status').filter({ hasText: 'is revoked' }).waitFor()
    expect(await accountStatus(key)).toBe(401)
    expect(await keysOf(user)).toHaveLength(1)
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })

  it('limits a key by an end, credits a month and models, when it is made and later', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await page.getByRole('textbox', { name: 'Key name' }).fill('shop')
    await page.locator('form.card summary').click()
    await page.getByRole('textbox', { name: 'Works until the end of' }).fill('2099-03-31')
    await page.getByRole('spinbutton', { name: 'Credits a month' }).fill('50')
    await page.getByRole('checkbox').first().check()
    await page.getByRole('button', { name: 'Create key' }).click()
    const row = page.getByRole('row').filter({ hasText: 'shop' })
    await row.getByText('0 of 50 credits this month').waitFor()
    await row.getByRole('link', { name: 'Limits' }).click()
    const form = page.getByRole('form', { name: 'Limits of shop' })
    await form.waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await form.getByLabel('Credits a month').fill('')
    await form.getByRole('button', { name: 'Save limits' }).click()
    await page.getByRole('status').filter({ hasText: 'The key has its new limits.' }).waitFor()
    const [key] = (await keysOf(user)).filter(({ name }) => name === 'shop')
    expect(key).toMatchObject({ monthlyLimit: null, expiresAt: new Date('2099-03-31T23:59:59.999Z') })
    expect(key?.models).toHaveLength(1)
  })

  it('makes an operator key that is shown once, renames it, and revokes it after asking why', async () => {
    const { service } = context
    const { user, cookie } = await given()
    await service.db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [user.id])
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await page.getByText('New operator key').click()
    const form = page.getByRole('form', { name: 'New operator key' })
    await form.getByLabel('Name').fill(HOSTILE)
    await form.getByLabel('What it may do').selectOption('models')
    await form.getByLabel('Why').fill('a script')
    await form.getByRole('button').click()
    const key = await page.getByRole('textbox', { name: 'Your new key' }).inputValue()
    const status = async () => (await call(service.url, 'GET', '/admin/v1/queue', { key })).status
    expect(await status()).toBe(200)
    const row = page.getByRole('listitem').filter({ hasText: 'models' })
    await row.getByText('Rename').click()
    await row.getByLabel('New name').fill('queue')
    await row.getByLabel('Why').first().fill('shorter')
    await row.getByRole('button', { name: 'Save' }).click()
    const renamed = page.getByRole('listitem').filter({ hasText: 'queue' })
    await renamed.getByText('Revoke', { exact: true }).click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await renamed.getByRole('textbox', { name: 'Why' }).fill('no longer needed')
    await renamed.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('status').filter({ hasText: 'is revoked' }).waitFor()
    expect(await status()).toBe(401)
  })

  it('leads to the sign-in page and creates no key once the session has ended', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await service.db.pool.query('DELETE FROM sessions WHERE user_id = $1', [user.id])
    await page.getByRole('textbox', { name: 'Key name' }).fill('late')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.waitForURL('**/sign-in?next=%2Fkeys')
    expect(await keysOf(user)).toHaveLength(1)
  })
})
