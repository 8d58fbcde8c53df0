import { expect, it } from 'vitest'
import { savedSettingsStore } from '../../../src/db/accounts/saved-settings.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { activeOf, signedIn } from './given-playground.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()

describeInBrowser('saved settings in a browser', () => {
  it('are saved with the keyboard, applied to what is typed, renamed and deleted', async () => {
    const { user, cookie } = await signedIn(context.service)
    const { page, violations, scrollsSideways } = await browser.open(context.service.url, cookie)
    await page.goto('/playground')
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true })
    const list = async () => (await savedSettingsStore(context.service.db).list(user.id)).map(({ name }) => name).join()
    await prompt.fill('a fox')
    await page.getByRole('radio', { name: /^Wide/ }).check()
    await page.getByRole('button', { name: 'Save these settings…' }).press('Enter')
    const name = page.getByRole('textbox', { name: 'Name of these settings' })
    await until(() => name.evaluate((field) => field === field.ownerDocument.activeElement), 'the focus')
    await page.keyboard.type('Ink')
    await page.getByRole('textbox', { name: /^Style/ }).fill('in ink')
    await name.press('Enter')
    await page.getByText('Saved as “Ink”.').waitFor()
    expect(await list()).toBe('Ink')
    // Enter in the name saves, and draws nothing.
    expect(await activeOf(context.service, user)).toBeUndefined()
    expect(await prompt.inputValue()).toBe('a fox')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.getByRole('radio', { name: /^Portrait/ }).check()
    await prompt.fill('a bear')
    await page.getByRole('button', { name: 'Apply' }).click()
    await until(async () => (await prompt.inputValue()) === 'a bear, in ink', 'the style')
    expect(await page.getByRole('radio', { name: /^Wide/ }).isChecked()).toBe(true)
    // It is the draft from now on.
    await page.goto('/gallery')
    await page.goto('/playground')
    expect(await prompt.inputValue()).toBe('a bear, in ink')
    expect(await page.getByRole('radio', { name: /^Wide/ }).isChecked()).toBe(true)
    await page.getByText('Rename or delete').click()
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    await page.getByRole('textbox', { name: 'New name of “Ink”' }).fill('Pen')
    await page.getByRole('button', { name: 'Rename' }).click()
    await until(async () => (await list()) === 'Pen', 'the new name')
    await page.getByText('Renamed.').waitFor()
    await page.getByText('Rename or delete').click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Really delete?' }).click()
    await until(async () => (await list()) === '', 'the deletion')
    expect(await prompt.inputValue()).toBe('a bear, in ink')
    if (process.env.SHOTS) await page.screenshot({ path: process.env.SHOTS, fullPage: true })
  })
})
