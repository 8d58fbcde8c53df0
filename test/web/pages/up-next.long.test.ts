import { beforeEach, expect, it } from 'vitest'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import type { GivenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { activeOf, endAll, signedIn } from './given-playground.js'

const context = useService({ env: { INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()
const worker = () => standInWorker(context.service.db)

beforeEach(async () => {
  await context.service.db.pool.query('DELETE FROM up_next')
  await endAll(context.service)
})

async function open(path = '/playground', options = {}) {
  const { user, cookie } = await signedIn(context.service)
  const tab = await browser.open(context.service.url, cookie, options)
  await tab.page.goto(path)
  const { page } = tab
  return {
    ...tab,
    user,
    cookie,
    prompt: page.getByRole('textbox', { name: 'Prompt', exact: true }),
    add: page.getByRole('button', { name: /^Add to Up next/ }),
    ideas: page.getByRole('list', { name: 'Up next' }).getByRole('listitem'),
  }
}

const promptsOf = async ({ id }: GivenUser) =>
  (await upNextStore(context.service.db).of(id)).ideas.map(({ body }) => body.prompt)

describeInBrowser('Up next in a browser', () => {
  it('takes ideas while one is drawn, and shows each on the stage when its turn comes', async () => {
    const { page, user, prompt, add, ideas, violations } = await open()
    await prompt.fill('one')
    await page.keyboard.press('Control+Enter')
    await add.waitFor()
    for (const [n, idea] of ['two', 'three'].entries()) {
      await prompt.fill(idea)
      // By key, and by pointer.
      if (n === 0) await page.keyboard.press('Control+Enter')
      else await add.click()
      await until(async () => (await ideas.count()) === n + 1, 'the idea in the list')
      expect(await prompt.inputValue()).toBe(idea)
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    for (const [n, drawn] of ['one', 'two', 'three'].entries()) {
      const active = await until(async () => {
        const one = await activeOf(context.service, user)
        return one?.prompt === drawn && one
      }, `${drawn} to be drawn`)
      await page.locator(`#job[hx-sse\\:connect="/playground/${active.id}/events"]`).waitFor()
      await until(async () => (await ideas.count()) === 2 - n, 'the list without it')
      await worker().succeed(await worker().claim())
    }
    await page.getByRole('button', { name: /^Generate/ }).waitFor()
    await page.getByText(/^Done/).waitFor()
    await until(async () => (await page.locator('#strip li').count()) === 3, 'all three in the strip')
    await expect.poll(() => page.locator('#credits').innerText()).toBe('97 credits')
  })

  it('is not filled by a double click', async () => {
    const { page, user, prompt, add, ideas } = await open()
    await prompt.fill('one')
    await page.getByRole('button', { name: /^Generate/ }).dblclick()
    await add.waitFor()
    await prompt.fill('two')
    await add.dblclick()
    await ideas.first().waitFor()
    expect(await promptsOf(user)).toEqual(['two'])
  })

  it('is put into order with the keyboard, which keeps the focus, and an idea is changed without losing the draft', async () => {
    const { page, user, prompt, ideas } = await open()
    await upNextStore(context.service.db).pause(user.id)
    for (const idea of ['one', 'two', 'three'])
      await upNextStore(context.service.db).add(user.id, { prompt: idea, model_version_id: 1 })
    await page.reload()
    await prompt.fill('a draft')
    const up = ideas.filter({ hasText: 'three' }).getByRole('button', { name: 'Move up' })
    await up.focus()
    await page.keyboard.press('Enter')
    await until(async () => (await promptsOf(user)).join() === 'one,three,two', 'the new order')
    await until(async () => (await ideas.nth(1).innerText()).includes('three'), 'the new order on the page')
    await expect.poll(() => up.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    await until(async () => (await promptsOf(user)).join() === 'three,one,two', 'the next order')
    await ideas.filter({ hasText: 'one' }).getByRole('link', { name: 'Edit' }).click()
    await page.getByText('You are changing an idea').waitFor()
    await expect.poll(() => prompt.inputValue()).toBe('one')
    await prompt.fill('one, better')
    await page.getByRole('button', { name: /^Save in Up next/ }).click()
    await until(async () => (await promptsOf(user)).join() === 'three,one, better,two', 'the changed idea')
    // The page that comes back has the example in the field until its script puts the draft there.
    await until(async () => (await prompt.inputValue()) === 'a draft', 'the draft in the form again')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('First in the queue').waitFor()
    expect((await activeOf(context.service, user)).prompt).toBe('three')
  })

  it('says a refusal where it happens, and fits on a phone', async () => {
    const { page, user, ideas, scrollsSideways, violations } = await open('/playground', {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
    })
    await context.service.db.pool.query('UPDATE users SET credits = 0 WHERE id = $1', [user.id])
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('x'.repeat(300))
    await upNextStore(context.service.db).add(user.id, { prompt: 'y'.repeat(300), model_version_id: 1 })
    await page.reload()
    await page.getByText(/Insufficient credits/).waitFor()
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    await ideas.getByRole('button', { name: 'Remove' }).tap()
    await until(async () => (await promptsOf(user)).length === 0, 'the removal')
    await until(async () => (await page.locator('#up-next').innerText()) === '', 'an empty list')
  })
})
