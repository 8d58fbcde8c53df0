import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { operatorUserStore } from '../../src/db/accounts/accounts.js'
import { denyEverything, describeInBrowser, useBrowser } from '../support/browser.js'
import { useService } from '../support/service.js'
import { givenAccount } from './pages/given-gallery.js'

const context = useService()
const browser = useBrowser()

/** As an operator with two images, or as nobody, in a browser that denies all that it can. */
async function openDenied(path: string, isSignedIn = true) {
  const { db, url } = context.service
  const { user, cookie, slugs } = await givenAccount(db, [{ prompt: 'first' }, { prompt: 'second' }])
  await operatorUserStore(db).setRole(user.id, 'operator')
  const tab = await browser.open(url, isSignedIn ? cookie : undefined)
  await denyEverything(tab.context)
  await tab.page.goto(path.replace(':slug', slugs[0] ?? ''))
  return tab
}

/** What was copied, as pasted into a field of the page: nothing may read the clipboard here. */
async function pasted(page: Page, into: string): Promise<string> {
  await page.locator(into).fill('')
  await page.locator(into).press('Control+v')
  return page.locator(into).inputValue()
}

// That no page logs an error is checked after each test.
describeInBrowser('in a browser that forbids storage and denies the clipboard', () => {
  it.each([
    ...['/', '/sign-in', '/docs', '/image/:slug'].map((path) => [path, false] as const),
    ...['/keys', '/account', '/webhooks', '/operator', '/operator/moderation'].map((path) => [path, true] as const),
  ])('%s works', async (path, isSignedIn) => {
    const { page } = await openDenied(path, isSignedIn)
    await page.getByRole('heading').first().waitFor()
    // The last thing that the script of every page does.
    expect(await page.locator('time[data-local]').count()).toBe(0)
  })

  it('the sign-in page says where cookies are refused that it needs them, and nothing elsewhere', async () => {
    const { page, context: tabs } = await openDenied('/sign-in', false)
    const notice = page.getByText('Your browser keeps no cookies')
    await page.getByRole('heading').first().waitFor()
    expect(await notice.isVisible()).toBe(false)
    await tabs.addInitScript(`Object.defineProperty(Navigator.prototype, 'cookieEnabled', { get: () => false })`)
    await page.reload()
    await notice.waitFor()
  })

  it('the playground shows its request as code, in each language, and copies it', async () => {
    const { page } = await openDenied('/playground')
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('a quiet harbour')
    await page.getByText('The same, as code').click()
    for (const [language, words] of [
      ['TypeScript', "'content-type'"],
      ['Python', 'import os'],
    ] as const) {
      await page.getByRole('tab', { name: language }).click()
      const code = await page.locator('#code-text').innerText()
      expect(code).toContain(words)
      expect(code).toContain('a quiet harbour')
    }
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await pasted(page, '#prompt')).toContain('import os')
  })

  it('the gallery has its keys, and letters can be switched off', async () => {
    const { page } = await openDenied('/gallery')
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('j')
    expect(await focused()).toBe('first')
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: 'Letters are shortcuts' }).uncheck()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'second' }).focus()
    await page.keyboard.press('k')
    expect(await focused()).toBe('second')
  })

  it('the page of an image has its keys, and copies its link', async () => {
    const { page } = await openDenied('/image/:slug')
    const { pathname } = new URL(page.url())
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.waitForURL((url) => url.pathname.startsWith('/image/') && url.pathname !== pathname)
    await page.goto('/playground')
    expect(await pasted(page, '#prompt')).toContain(pathname)
  })

  it('the reference changes the language of its samples, and copies one', async () => {
    const { page } = await openDenied('/docs')
    await page.getByText('Python', { exact: true }).first().click()
    const sample = page.locator('section:has(#begin) figure.python')
    await sample.getByRole('button', { name: 'Copy' }).click()
    await sample.getByRole('button', { name: 'Copied' }).waitFor()
    await page.goto('/playground')
    expect(await pasted(page, '#prompt')).toContain('import os, time, requests')
  })
})

describeInBrowser('the language of the samples', () => {
  it('is one choice for the playground and the reference', async () => {
    const { cookie } = await givenAccount(context.service.db)
    const { page } = await browser.open(context.service.url, cookie)
    const chosen = () => page.locator('[role=tab][aria-selected=true]').innerText()
    const checked = () => page.locator('.languages :checked').inputValue()
    await page.goto('/playground')
    await page.getByText('The same, as code').click()
    expect(await chosen()).toBe('curl')
    await page.getByRole('tab', { name: 'TypeScript' }).click()
    await page.goto('/docs')
    expect(await checked()).toBe('typescript')
    await page.locator('.languages').getByText('Python').click()
    await page.goto('/playground')
    expect(await chosen()).toBe('Python')
    // A page that the browser kept as it was, or that is open in another tab.
    const other = await page.context().newPage()
    await other.goto('/docs')
    await other.locator('.languages').getByText('curl').click()
    await expect.poll(chosen).toBe('curl')
  })
})
