import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService({ inFiles: true, worker: true, env: { INFERENCE_URL: 'preview:' } })
const browser = useBrowser()

async function givenImage() {
  const { db, url } = context.service
  const { key, id } = await givenUser(db)
  const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
  const slug: string = (await call(url, 'POST', '/v1/images/generate', { key, body })).body.data.image_id
  return { slug, cookie: await givenSession(db, { id }) }
}
/** Whether the browser could show the picture. */
const IS_DRAWN = `document.querySelector('.frame img').decode().then(() => true, () => false)`

describeInBrowser('a private image in two browsers', () => {
  it('is seen by its owner alone, from the press of the switch on, then by who has a link', async () => {
    const { url } = context.service
    const { slug, cookie } = await givenImage()
    const [{ page: own }, { page: strange }] = [await browser.open(url, cookie), await browser.open(url)]
    await own.goto(`/image/${slug}`)
    const publicPage = own.getByRole('switch', { name: 'Public page' })
    expect(await publicPage.getAttribute('aria-checked')).toBe('true')
    await publicPage.focus()
    await own.keyboard.press('Enter')
    await own.getByText('Only you and the operators').waitFor()
    await expect.poll(() => publicPage.getAttribute('aria-checked')).toBe('false')
    expect(await own.evaluate(IS_DRAWN)).toBe(true)
    await strange.goto(`/image/${slug}`)
    await strange.getByText('There is no image at this address.').waitFor()

    await own.getByLabel('How long the link works').selectOption('for 7 days')
    await own.getByRole('button', { name: 'Make a link' }).press('Enter')
    const link = new URL(((await own.locator('#signed-link').textContent()) ?? '').trim())
    await strange.goto(link.pathname + link.search)
    expect(await strange.evaluate(IS_DRAWN)).toBe(true)
    expect(await strange.getByText('a lighthouse').count()).toBe(0)
    await own.getByRole('button', { name: 'Take all links back' }).press('Enter')
    await own.getByRole('status').getByText('All links to this image were taken back.').waitFor()
    await strange.reload()
    await strange.getByText('There is no image at this address.').waitFor()

    await publicPage.press('Enter')
    await own.getByText('Whoever has the link of this page').waitFor()
    expect(await own.evaluate(IS_DRAWN)).toBe(true)
    await strange.goto(`/image/${slug}`)
    expect(await strange.evaluate(IS_DRAWN)).toBe(true)
  })

  it('has no accessibility violation in light and dark, and fits a phone', async () => {
    const { slug, cookie } = await givenImage()
    const { page, violations, scrollsSideways } = await browser.open(context.service.url, cookie)
    await page.goto(`/image/${slug}`)
    await page.getByRole('switch', { name: 'Public page' }).press('Enter')
    await page.getByText('Only you and the operators').waitFor()
    await page.goto(`/image/${slug}?link=day`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })
})
