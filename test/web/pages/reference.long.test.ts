import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()
const sampleIn = (page: Page, id: string, language: string) =>
  page.locator(`section:has(#${id}) figure.${language} pre`).first()

describeInBrowser('the API reference in a browser', () => {
  it('changes the language of all samples with the keyboard, remembers it, and copies a sample', async () => {
    const { page, context: tabs } = await browser.open(context.service.url)
    await tabs.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto('/docs')
    expect(await sampleIn(page, 'submit-generation', 'curl').isVisible()).toBe(true)
    await page.getByRole('radio', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    for (const id of ['begin', 'submit-generation', 'create-image']) {
      expect(await sampleIn(page, id, 'python').isVisible()).toBe(true)
      expect(await sampleIn(page, id, 'curl').isVisible()).toBe(false)
    }
    await page.reload()
    expect(await page.getByRole('radio', { name: 'Python' }).isChecked()).toBe(true)
    // A browser that translates the page leaves the samples as they are.
    expect(await page.locator('pre:not([translate=no])').count()).toBe(0)
    await page.getByRole('button', { name: 'Copy' }).first().click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('import os, time, requests')
  })

  it('changes the language of the samples even without scripts', async () => {
    const { page } = await browser.open(context.service.url, undefined, { javaScriptEnabled: false })
    await page.goto('/docs')
    await page.getByText('TypeScript', { exact: true }).first().click()
    expect(await sampleIn(page, 'begin', 'typescript').isVisible()).toBe(true)
    expect(await sampleIn(page, 'begin', 'curl').isVisible()).toBe(false)
  })

  it('fits a phone, where its table of contents is folded', async () => {
    const { page, violations, scrollsSideways } = await browser.open(context.service.url, undefined, {
      viewport: { width: 390, height: 844 },
    })
    await page.goto('/docs')
    expect(await scrollsSideways()).toBe(false)
    const link = page.getByRole('link', { name: 'POST /generate', exact: true })
    expect(await link.isVisible()).toBe(false)
    await page.getByText('Contents', { exact: true }).click()
    await link.click()
    expect(new URL(page.url()).hash).toBe('#submit-generation')
    expect(await violations()).toEqual([])
  })
})
