import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { activeOf, endAll, signedIn } from './pages/given-playground.js'

const context = useService({ env: { INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()

beforeEach(() => endAll(context.service))

async function open(path?: string) {
  const { user, cookie } = await signedIn(context.service)
  const { page, context: tabs } = await browser.open(context.service.url, cookie)
  if (path) await page.goto(path)
  const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true })
  return { page, tabs, user, prompt }
}

/** Keeps a script from the page until it is let go. */
async function holdScript(page: Page, name: string) {
  let letGo: () => void = () => undefined
  const isFree = new Promise<void>((resolve) => (letGo = resolve))
  await page.route(new RegExp(`/assets/${name}\\.[^/]*js$`), async (route) => {
    await isFree
    await route.continue()
  })
  return () => letGo()
}

const upNextOf = async (id: string) =>
  (await context.service.db.pool.query('SELECT 1 FROM up_next WHERE user_id = $1', [id])).rows.length

describeInBrowser('what is typed and pressed quickly', () => {
  it('before the scripts of a slow network are there stays, beside the draft from before', async () => {
    const { page, prompt } = await open('/playground')
    await prompt.fill('an older draft')
    await page.getByText('Fine tuning').click()
    await page.getByRole('spinbutton', { name: 'Steps' }).fill('12')
    const letGo = await holdScript(page, 'playground')
    await page.goto('/playground', { waitUntil: 'commit' })
    await prompt.fill('typed at once')
    await page.getByRole('radiogroup', { name: 'Images' }).getByRole('radio', { name: '2' }).check()
    letGo()
    // The script has run.
    await until(async () => (await page.locator('#steps').inputValue()) === '12', 'the draft')
    expect(await prompt.inputValue()).toBe('typed at once')
    expect(await page.locator('[name=batch_size]:checked').inputValue()).toBe('2')
    await page.reload()
    await until(async () => (await prompt.inputValue()) === 'typed at once', 'what was typed is the draft')
  })

  it('a language of the reference that was chosen before its script stays', async () => {
    const { page } = await open('/docs')
    await page.locator('.languages').getByText('Python').click()
    const letGo = await holdScript(page, 'reference')
    await page.goto('/docs', { waitUntil: 'commit' })
    await page.locator('.languages').getByText('TypeScript').click()
    letGo()
    await page.locator('figcaption button').first().waitFor({ state: 'attached' })
    expect(await page.locator('.languages').getByRole('radio', { name: 'TypeScript' }).isChecked()).toBe(true)
  })

  it('a key that is held down draws once', async () => {
    const { page, prompt, user } = await open('/playground')
    await prompt.fill('a lighthouse')
    const press = (repeat: boolean) =>
      prompt.evaluate((field, repeat) => {
        field.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, repeat, bubbles: true, cancelable: true }),
        )
      }, repeat)
    await press(false)
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    await prompt.fill('another one')
    await press(true)
    await press(false)
    await page.getByText('1 idea', { exact: false }).first().waitFor()
    expect([(await activeOf(context.service, user)).prompt, await upNextOf(user.id)]).toEqual(['a lighthouse', 1])
  })

  it('what is no number is said beside its field, and draws nothing', async () => {
    const { page, prompt, user } = await open('/playground')
    await prompt.fill('a lighthouse')
    await page.getByText('Fine tuning').click()
    const steps = page.getByRole('spinbutton', { name: 'Steps' })
    await steps.pressSequentially('1e')
    await page.getByText('Fine tuning').click()
    const generate = page.getByRole('button', { name: /^Generate/ })
    await generate.click()
    await until(() => steps.evaluate((field) => field === field.ownerDocument.activeElement), 'the focus')
    expect(await activeOf(context.service, user)).toBeUndefined()
    await steps.fill('15')
    await generate.click()
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    expect(await activeOf(context.service, user)).toMatchObject({ steps: 15 })
  })

  it('a double click asks, and neither sends what must be meant nor spoils the name of a button', async () => {
    const { page } = await open('/keys')
    await page.locator('form[action="/keys"] #name').fill('shop')
    await page.locator('form[action="/keys"] .primary').click()
    const copy = page.getByRole('button', { name: 'Copy', exact: true }).first()
    await copy.dblclick()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await until(async () => (await page.getByRole('button', { name: 'Copied' }).count()) === 0, 'its own name again')
    await page.goto('/keys')
    const revoke = page.locator('[data-confirm]').first()
    const words = (await revoke.getAttribute('data-confirm')) ?? ''
    await revoke.click()
    await page.getByRole('button', { name: words }).waitFor()
    // As the browser tells of the second press of a double click; the button has grown under the mouse meanwhile.
    await revoke.dispatchEvent('click', { detail: 2 })
    await page.getByRole('button', { name: words }).waitFor()
    await page.reload()
    const keys = page.locator('[data-confirm]')
    const before = await keys.count()
    await revoke.click()
    await revoke.click()
    await until(async () => (await keys.count()) === before - 1, 'the key to be gone')
  })

  it('ends a generation also where a browser has notifications that no page can make', async () => {
    const { page, prompt, tabs } = await open()
    await tabs.addInitScript(`
      window.Notification = class { constructor() { throw new TypeError('Illegal constructor.') } }
      Notification.permission = 'granted'
      Notification.requestPermission = async () => 'granted'
      Object.defineProperty(Document.prototype, 'hidden', { get: () => true })
    `)
    const worker = await context.service.worker()
    await page.goto('/playground')
    await page.locator('#notify input').check()
    await prompt.fill('a lighthouse')
    await page.getByRole('button', { name: /^Generate/ }).click()
    await page.getByRole('status', { name: 'Generation' }).getByRole('img', { name: 'a lighthouse' }).waitFor()
    await until(async () => (await page.title()).startsWith('✓'), 'the title')
    expect(await page.locator('#notify').isVisible()).toBe(false)
    await worker.stop()
  })
})
