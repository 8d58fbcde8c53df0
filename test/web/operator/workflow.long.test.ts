import { expect, it } from 'vitest'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { node, sampler, textToImage } from '../../inference/comfyui/workflow/given-graphs.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useService()
const browser = useBrowser()
const file = (graph: object, name = 'flux-dev.json') => ({
  ...{ name, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(graph, null, 2)) },
})
const LONG = `A title without a break: ${'x'.repeat(200)}`

async function open() {
  const { db, url } = context.service
  const { cookie } = await givenOperator(db)
  const tab = await browser.open(url, cookie)
  await tab.page.goto('/operator/models')
  await tab.page.getByRole('link', { name: 'Add a workflow' }).click()
  return tab
}

describeInBrowser('the form of a workflow in a browser', () => {
  it('takes a chosen file, shows how it is read, and imports it', async () => {
    const { page, violations, scrollsSideways } = await open()
    expect(await violations()).toEqual([])
    await page.getByLabel('Or choose the file').setInputFiles(file(textToImage({ '3': sampler({ cfg: 1 }, LONG) })))
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByRole('heading', { name: 'How Easel reads the workflow' }).waitFor()
    await expect.poll(() => page.locator('#report').innerText()).toContain('cfg_scale has no effect')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await page.getByLabel('Model name').fill('FLUX.1')
    await page.getByLabel('Version name').fill('dev')
    await page.getByLabel('Base model').fill('Flux')
    await page.getByLabel('Reason').fill('Asked for by many')
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByRole('status').waitFor()
    expect(await page.getByRole('status').textContent()).toMatch(
      /draws with flux\.1-dev@1; no GPU server that is up can draw it\./,
    )
    expect(await violations()).toEqual([])
  })

  it('takes a dropped file, says that one is too large, and gives a chosen version its next revision', async () => {
    const { db } = context.service
    const [first] = await operatorModelStore(db).list()
    const { page, violations, scrollsSideways } = await open()
    await page.getByLabel('For').selectOption(`${first?.id}`)
    await page.getByRole('button', { name: 'Choose', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: `version ${first?.id}` }).waitFor()
    const field = page.getByRole('textbox', { name: 'Workflow' })
    await page
      .getByLabel('Or choose the file')
      .setInputFiles(file({ 1: node('Note', { text: 'x'.repeat(1_100_000) }) }, 'huge.json'))
    const said = () => field.evaluate((it) => (it as unknown as { validationMessage: string }).validationMessage)
    await expect.poll(() => said()).toMatch(/^huge\.json is empty or too large/)
    // The same file can be chosen again once it has been corrected.
    expect(await page.getByLabel('Or choose the file').inputValue()).toBe('')
    const dropped = await page.evaluateHandle(`(() => {
      const data = new DataTransfer()
      data.items.add(new File([${JSON.stringify(JSON.stringify(textToImage()))}], 'dropped.json'))
      return data
    })()`)
    // Beside the field it would be opened in place of the page.
    const isKept = (data: unknown) =>
      !document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: data as DataTransfer, bubbles: true, cancelable: true }),
      )
    expect(await page.evaluate(isKept, dropped)).toBe(true)
    await field.dispatchEvent('drop', { dataTransfer: dropped })
    // The page's policy forbids what waitForFunction does the second time it looks.
    await until(async () => (await field.inputValue()).includes('KSampler'), 'the dropped file')
    await expect.poll(() => said()).toBe('')
    await page.getByLabel('Reason').fill('It draws better')
    await page.setViewportSize({ width: 400, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByRole('status').waitFor()
    expect((await operatorModelStore(db).list()).find(({ id }) => id === first?.id)?.filename).toMatch(/@1$/)
  })
})
