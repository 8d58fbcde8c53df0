import { expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenFiles, givenImages } from '../../support/given-images.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('a report in a browser', () => {
  it('goes from a visitor without scripts to the operator, who takes the image down', async () => {
    const { db, url, config } = context.service
    const [slug, other] = (await givenImages(db, await givenUser(db), [{}, {}])) as [string, string]
    await givenFiles(config, [slug, other])
    const visitor = await browser.open(url, undefined, { javaScriptEnabled: false })
    for (const it of [slug, other]) {
      await visitor.page.goto(`/image/${it}`)
      await visitor.page.getByText('Report this image').click()
      await visitor.page.getByLabel('What is wrong with it?').selectOption('It shows me without my consent')
      await visitor.page.getByLabel('What operators should know').fill('This is me.\nمرحبا')
      await visitor.page.getByRole('button', { name: 'Send report' }).click()
      await visitor.page.getByRole('heading', { name: 'Thank you' }).waitFor()
    }

    const reading = await browser.open(url)
    for (const path of [`/image/${slug}`, `/image/${slug}/report`, `/image/${slug}/report?sent=`]) {
      await reading.page.setViewportSize({ width: 1280, height: 850 })
      await reading.page.goto(path)
      const opener = reading.page.getByText('Report this image')
      if (await opener.count()) await opener.click()
      await expectFine(reading)
    }

    const tab = await browser.open(url, (await givenOperator(db)).cookie)
    const { page } = tab
    await page.goto('/operator/reports')
    await page.getByText('Take down').first().click()
    await expectFine(tab)
    await page.getByLabel('Why').locator('visible=true').fill('Shows a real person.')
    await page.getByRole('button', { name: 'Remove image' }).locator('visible=true').click()
    await page.getByText('The image is removed, and its reports are closed.').waitFor()
    await expect.poll(() => page.locator('article').count()).toBe(1)
    await page.goto(`/image/${other}`)
    expect(await page.getByRole('heading', { name: 'Image removed' }).isVisible()).toBe(true)
  })
})

async function expectFine({ page, violations, scrollsSideways }: Awaited<ReturnType<typeof browser.open>>) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations()).toEqual([])
  }
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await scrollsSideways()).toBe(false)
}
