import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { denyEverything, describeInBrowser, useBrowser } from '../../support/browser.js'
import { INSECURE_HOST } from '../../support/chromium.js'
import { call } from '../../support/client.js'
import { givenOwnModels } from '../../support/given-models.js'
import { creditsOf, type UserOptions } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { activeOf, boardsOf, endAll, HOSTILE, signedIn } from './given-playground.js'

const context = useService({ env: { INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()
const worker = () => standInWorker(context.service.db)
const run = promisify(execFile)

beforeEach(() => endAll(context.service))

async function openAs(options: UserOptions = {}, path = '/playground') {
  const { user, cookie } = await signedIn(context.service, options)
  const tab = await browser.open(context.service.url, cookie)
  await tab.page.goto(path)
  return { ...tab, user, cookie, ...partsOf(tab.page) }
}

const partsOf = (page: Page) => ({
  prompt: page.getByRole('textbox', { name: 'Prompt', exact: true }),
  generate: page.getByRole('button', { name: /^Generate/ }),
  stage: page.getByRole('status', { name: 'Generation' }),
  seed: page.getByRole('spinbutton', { name: 'Seed' }),
  choose: (group: string, name: string | RegExp) =>
    page.getByRole('radiogroup', { name: group }).getByRole('radio', { name }).check(),
  heading: (name: string | RegExp) => page.getByRole('heading', { name }).waitFor(),
})

/** As of browsers on many phones. */
const withoutWorkers = (context: BrowserContext) =>
  context.addInitScript(`delete window.SharedWorker
  let state = 'visible'
  Object.defineProperty(document, 'visibilityState', { get: () => state })
  window.setVisibility = (now) => {
    state = now
    document.dispatchEvent(new Event('visibilitychange'))
  }`)
/** As if another tab of its window were in front; without a screen every tab is seen. */
const hide = (page: Page, isHidden: boolean) => page.evaluate(`setVisibility('${isHidden ? 'hidden' : 'visible'}')`)

describeInBrowser('the playground in a browser', () => {
  it('draws the first image after one key press', async () => {
    const { page, prompt, stage, user, violations } = await openAs()
    const example = await prompt.inputValue()
    expect(example).not.toBe('')
    expect(await violations()).toEqual([])
    const real = await context.service.worker()
    await page.keyboard.press('Control+Enter')
    const image = stage.getByRole('img', { name: example })
    await image.waitFor()
    await until(() => image.evaluate((img) => 'naturalWidth' in img && img.naturalWidth === 832), 'the image')
    await real.stop()
    await expect.poll(() => page.locator('#credits').innerText()).toBe('99 credits')
    expect(await creditsOf(context.service.db, user)).toBe(99)
    const slug = (await stage.getByRole('link', { name: example }).getAttribute('href'))?.split('/').at(-1)
    expect(await stage.getByRole('link', { name: 'Remix' }).getAttribute('href')).toBe(`/playground?from=${slug}`)
    const download = stage.getByRole('link', { name: 'Download' })
    expect(await download.getAttribute('download')).toBe(`${slug}.png`)
    // Of the server itself: the images are on another host, of which a browser would show them.
    const [stored] = await Promise.all([page.waitForEvent('download'), download.click()])
    expect([stored.suggestedFilename(), new URL(stored.url()).pathname]).toEqual([`${slug}.png`, `/cdn/${slug}.png`])
    expect(page.url()).toBe(`${context.service.url}/playground`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
  })

  it('follows a generation through a reload to its end, and shows it to nobody else', async () => {
    const { page, cookie, prompt, generate, stage, heading } = await openAs()
    const stranger = await openAs()
    await prompt.fill(HOSTILE)
    await generate.click()
    await heading('First in the queue')
    await page.getByRole('button', { name: /^Add to Up next/ }).waitFor()
    // Scripts that come one by one: htmx begins before the page has all of them.
    let scripts = 0
    await page.route('**/*.js', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 100 * scripts++))
      await route.continue()
    })
    await page.reload()
    await heading('First in the queue')
    expect(await prompt.inputValue()).toBe(HOSTILE)
    // Another window of the same person: in a window's hidden tab nothing is drawn.
    const { page: second } = await browser.open(context.service.url, cookie)
    await second.goto('/playground')

    const claimed = await worker().claim()
    await heading('Drawing…')
    const { progress, previews } = await boardsOf(context.service)
    await progress.set(claimed.id, claimed.attempt, 0.4)
    await until(async () => (await stage.getByRole('progressbar').getAttribute('value')) === '0.4', 'the progress')
    await previews.set(claimed.id, claimed.attempt, Buffer.from('a preview'))
    await page.locator(`#preview img[src="data:image/webp;base64,${btoa('a preview')}"]`).waitFor({ state: 'attached' })

    await stranger.page.reload()
    expect(await stranger.page.content()).not.toContain('dlrow')

    await worker().succeed(claimed)
    for (const tab of [page, second]) {
      const parts = partsOf(tab)
      const image = parts.stage.getByRole('img')
      await image.waitFor()
      await expect.poll(() => image.getAttribute('alt')).toBe(HOSTILE)
      await expect.poll(() => parts.generate.innerText()).toContain('1 credit')
    }
    await stage.getByRole('link', { name: /^Use seed/ }).click()
    expect(await partsOf(page).seed.inputValue()).toBe(`${claimed.seed}`)
  })

  it.each([
    ['one stream for all', undefined, INSECURE_HOST],
    ['one stream for all, where storage is forbidden', denyEverything, '127.0.0.1'],
    ['one for those that are seen, where there is no worker for all', withoutWorkers, '127.0.0.1'],
  ] as const)(
    'shows a generation in eight tabs over HTTP/1.1: %s',
    async (_, prepare, host) => {
      const { url } = context.service
      const { cookie, user } = await signedIn(context.service)
      const { page: first, context: browsing } = await browser.open(url.replace('127.0.0.1', host), cookie)
      await prepare?.(browsing)
      const body = { prompt: 'a lighthouse', model_version_id: 10 }
      expect((await call(url, 'POST', '/api/v1/generate', { key: user.key, body })).status).toBe(201)
      await first.goto('/playground')
      await partsOf(first).heading('First in the queue')
      const tabs = [first]
      for (let n = 1; n < 8; n++) {
        const tab = await browsing.newPage()
        // Only the last one is in front.
        if (prepare === withoutWorkers) await hide(tabs.at(-1) as Page, true)
        await tab.goto('/playground')
        await partsOf(tab).heading('First in the queue')
        tabs.push(tab)
      }
      const claimed = await worker().claim()
      const { progress } = await boardsOf(context.service)
      await partsOf(tabs[7] as Page).heading('Drawing…')
      await progress.set(claimed.id, claimed.attempt, 0.4)
      const isAt = (tab: Page, value: string) =>
        until(
          async () => (await tab.locator('#progress progress').getAttribute('value')) === value,
          `the progress ${value}`,
        )
      const seen = prepare === withoutWorkers ? tabs.slice(-1) : tabs
      for (const tab of seen) await isAt(tab, '0.4')
      // The tab that was first goes, and another one goes away and comes back: the others lose nothing.
      await first.close()
      await (tabs[1] as Page).goto('/gallery')
      await progress.set(claimed.id, claimed.attempt, 0.6)
      for (const tab of seen.filter((it) => it !== first && it !== tabs[1])) await isAt(tab, '0.6')
      await (tabs[1] as Page).goBack()
      await isAt(tabs[1] as Page, '0.6')
      await worker().succeed(claimed)
      const shown = prepare === withoutWorkers ? [tabs[1] as Page, tabs[7] as Page] : tabs.slice(1)
      for (const tab of shown) await partsOf(tab).stage.getByRole('img').waitFor()
      await (tabs[7] as Page).close()
      if (prepare === withoutWorkers) for (const tab of tabs.slice(2, 7)) await hide(tab, false)
      for (const tab of tabs.slice(1, 7)) await partsOf(tab).stage.getByRole('img').waitFor()
      // It says that it takes a header for https only.
      const ofHeader = /Cross-Origin-Opener-Policy/
      browser.problems.splice(0, Infinity, ...browser.problems.filter((it) => !ofHeader.test(it)))
    },
    360_000,
  )

  it('cancels a generation, gives its credits back, and says so', async () => {
    const { page, user, generate, choose, heading, stage } = await openAs({ credits: 5 })
    await choose('Images', '3')
    expect(await generate.innerText()).toContain('3 credits')
    await generate.click()
    await heading('First in the queue')
    await expect.poll(() => page.locator('#credits').innerText()).toBe('2 credits')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await heading('Canceled')
    await expect.poll(() => stage.innerText()).toContain('3 credits were given back')
    await expect.poll(() => page.locator('#credits').innerText()).toBe('5 credits')
    expect(await creditsOf(context.service.db, user)).toBe(5)
    await generate.click()
    await heading('First in the queue')
  })

  it('keeps what was typed, through a reload and in another tab, until the settings are reset', async () => {
    const { page, prompt, choose, seed } = await openAs()
    await prompt.fill(HOSTILE)
    await choose('Shape', /^Wide/)
    await choose('Images', '3')
    await page.getByText('Fine tuning').click()
    await seed.fill('41')
    await page.goto(`${context.service.url}/gallery`)
    const other = await page.context().newPage()
    for (const tab of [page, other]) {
      await tab.goto(`${context.service.url}/playground`)
      const parts = partsOf(tab)
      expect(await parts.prompt.inputValue()).toBe(HOSTILE)
      expect(await parts.seed.inputValue()).toBe('41')
      expect(await tab.getByRole('radio', { name: /^Wide/ }).isChecked()).toBe(true)
      expect(await parts.generate.innerText()).toContain('3 credits')
    }
    await page.getByRole('button', { name: 'Reset the settings' }).click()
    await page.reload()
    expect([await prompt.inputValue(), await page.locator('#seed').inputValue()]).toEqual([HOSTILE, ''])
    expect(await page.getByRole('radio', { name: /^Default/ }).isChecked()).toBe(true)
  })

  it('takes any size: typed, swapped and with its ratio kept, in the draft and in the price', async () => {
    await givenOwnModels(context.service.db)
    const { page, choose, generate, heading, user, violations, scrollsSideways } = await openAs()
    const sides = async () => [
      await page.getByLabel('Width').inputValue(),
      await page.getByLabel('Height').inputValue(),
    ]
    expect(await page.getByLabel('Width').isVisible()).toBe(false)
    await choose('Shape', /^Wide/)
    await choose('Shape', 'Custom size')
    expect(await sides()).toEqual(['1344', '768'])
    await page.getByLabel('Keep the ratio').check()
    await page.getByLabel('Width').fill('1008')
    expect(await sides()).toEqual(['1008', '576'])
    await page.getByRole('button', { name: 'Swap' }).click()
    expect(await sides()).toEqual(['576', '1008'])
    await page.getByLabel('Height').fill('1344')
    expect(await sides()).toEqual(['768', '1344'])
    await page.getByLabel('Keep the ratio').uncheck()
    await page.getByLabel('Height').fill('520')
    await page.reload()
    expect(await sides()).toEqual(['768', '520'])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await generate.click()
    await heading('First in the queue')
    expect(await activeOf(context.service, user)).toMatchObject({ width: 768, height: 520 })
  })

  it('shows results again, enlarges them, and brings the last one back after a cancellation', async () => {
    const { page, prompt, generate, stage, heading, violations } = await openAs()
    for (const words of ['first', 'second']) {
      await prompt.fill(words)
      await generate.click()
      await worker().succeed(await worker().claim())
      await stage.getByRole('img', { name: words }).waitFor()
    }
    const strip = page.locator('.strip')
    await expect.poll(() => strip.getByRole('img').count()).toBe(2)
    await strip.locator('[data-show]').nth(1).click()
    await stage.getByRole('img', { name: 'first' }).waitFor()
    await stage.getByRole('img', { name: 'first' }).click()
    await page.getByRole('dialog', { name: 'Image' }).waitFor()
    expect(await violations()).toEqual([])
    await page.keyboard.press('Escape')
    await generate.click()
    await heading('First in the queue')
    await expect.poll(() => page.title()).toBe('… Create · Easel')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await stage.getByText('Canceled.').waitFor()
    await stage.getByRole('img', { name: 'second' }).waitFor()
    await expect.poll(() => page.title()).toBe('Create · Easel')
    await strip.getByRole('link', { name: 'Remix' }).nth(1).click()
    await page.waitForURL('**/playground?from=*')
    await stage.getByRole('img', { name: 'first' }).waitFor()
    expect(await prompt.inputValue()).toBe('first')
  })

  it('leads from one large image of a batch to the next by buttons, and by keys, which say where one is', async () => {
    const { page, generate, stage, choose, violations } = await openAs()
    await choose('Images', '3')
    await generate.click()
    await worker().succeed(await worker().claim())
    await stage.getByRole('img').first().click()
    const box = page.getByRole('dialog', { name: 'Image' })
    const shown = () => box.getByRole('img').getAttribute('src')
    const files = await stage
      .locator('[data-large]')
      .evaluateAll((all) => all.map((it) => it.getAttribute('data-large')))
    expect(await box.getByRole('status').textContent()).toBe('1 of 3')
    await box.getByRole('button', { name: 'Next' }).click()
    expect([await shown(), await box.getByRole('status').textContent()]).toEqual([files[1], '2 of 3'])
    await box.getByRole('button', { name: 'Previous' }).click()
    await box.getByRole('button', { name: 'Previous' }).click()
    expect(await shown()).toBe(files[2])
    await page.keyboard.press('ArrowRight')
    expect(await shown()).toBe(files[0])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await box.getByRole('button', { name: 'Close' }).click()
    await box.waitFor({ state: 'hidden' })
  })

  it('says beside the form why nothing was drawn, and what to do', async () => {
    const { page, user, prompt, generate, choose, violations } = await openAs({ credits: 1 })
    const problem = page.locator('#problem')
    await choose('Images', '2')
    await page.getByText('costs more credits than you have').waitFor()
    await generate.click()
    await problem.getByRole('link', { name: 'See your credits.' }).waitFor()
    await choose('Images', '1')
    await prompt.fill('necrophilia')
    await page.getByText('Moderation would refuse this prompt').waitFor()
    await generate.click()
    await problem.getByText('flagged by moderation').waitFor()
    expect(await violations()).toEqual([])
    await prompt.fill(' ')
    await generate.click()
    await problem.getByText('Write a prompt first.').waitFor()
    await expect.poll(() => prompt.evaluate((field) => field.matches(':focus'))).toBe(true)
    await prompt.fill('a lighthouse')
    await page.context().setOffline(true)
    await generate.click()
    await problem.getByText('could not be reached').waitFor()
    await page.context().setOffline(false)
    browser.problems.splice(0)
    expect(await activeOf(context.service, user)).toBeUndefined()
  })

  it('works with the keyboard alone, and on a phone', async () => {
    const { page, prompt, generate, heading, scrollsSideways, user, violations } = await openAs()
    await page.getByRole('radio', { name: /^Portrait/ }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('/')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('a/b')
    expect(await prompt.inputValue()).toBe('a/b')
    await page.locator('#code summary').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('#code-text').innerText()).toMatch(/^import os/)
    await generate.focus()
    await page.keyboard.press('Enter')
    await heading('First in the queue')
    expect(await activeOf(context.service, user)).toMatchObject({ prompt: 'a/b', width: 1024, lane: 'personal' })
    // What it does next is another thing; it keeps the focus.
    await page.getByRole('button', { name: /^Add to Up next/ }).waitFor()
    await expect.poll(() => page.locator('#generate').evaluate((button) => button.matches(':focus'))).toBe(true)
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    await page.reload()
    expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Python')
  })

  it('shows the form’s request as code that the API accepts', async () => {
    const { page, prompt, choose, seed, user } = await openAs()
    await page.getByText('The same, as code').click()
    await prompt.fill(HOSTILE)
    await choose('Shape', /^Wide/)
    await choose('Model', /^Plant Milk/)
    await page.getByText('Fine tuning').click()
    await seed.fill('0')
    const expected = { prompt: HOSTILE, model_version_id: 6, width: 1344, height: 768, seed: 0 }
    const code = (language: string) =>
      page
        .getByRole('tab', { name: language })
        .click()
        .then(async () => (await page.locator('#code-text').textContent()) as string)

    // What a shell hands to curl.
    const shell = `curl() { while [ "$1" != -d ] && [ $# -gt 0 ]; do shift; done; printf %s "$2"; }\n${await code('curl')}`
    const { stdout } = await run('bash', ['-c', shell])
    expect(JSON.parse(stdout)).toEqual(expected)
    const answer = await fetch(`${context.service.url}/api/v1/generate?dry_run=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: stdout,
    })
    expect([answer.status, await answer.json()]).toMatchObject([200, { credits_needed: 1, model_version_id: 6 }])

    const jsonIn = (text: string, before: string, after: string) =>
      JSON.parse(text.slice(text.indexOf(before) + before.length, text.indexOf(after)))
    expect(jsonIn(await code('Python'), 'json=', ')\nwhile')).toEqual(expected)
    expect(jsonIn(await code('TypeScript'), 'JSON.stringify(', '),\n})\nwhile')).toEqual(expected)
  })

  it('shows what the chosen model takes, costs and draws by itself', async () => {
    await givenOwnModels(context.service.db)
    const { page, generate, choose, prompt, violations, scrollsSideways, user } = await openAs()
    const steps = page.getByLabel('Steps')
    const guidance = page.getByLabel(/^Guidance/)
    const negative = page.getByRole('textbox', { name: 'Negative prompt' })
    const shown = (name: string | RegExp) => page.getByRole('radio', { name, exact: true }).isVisible()
    const request = async () => {
      await page.getByRole('tab', { name: 'Python' }).click()
      const text = (await page.locator('#code-text').textContent()) as string
      return JSON.parse(text.slice(text.indexOf('json=') + 5, text.indexOf(')\nwhile')))
    }
    await page.getByText('The same, as code').click()
    await prompt.fill('a fox')
    await page.getByText('Fine tuning').click()
    await page.getByText('Negative prompt', { exact: true }).first().click()
    await negative.fill('fog')
    await guidance.fill('9')
    await choose('Images', '4')
    await choose('Shape', /^Wide/)
    await choose('Model', /^Krea 2/)
    expect([await guidance.isDisabled(), await negative.isDisabled(), await steps.isDisabled()]).toEqual([
      true,
      true,
      false,
    ])
    expect([await steps.getAttribute('max'), await steps.getAttribute('placeholder')]).toEqual(['10', 'Default: 8'])
    expect([await shown(/^Wide/), await shown(/^Square/), await shown('4'), await shown('2')]).toEqual([
      ...[false, true, false, true],
    ])
    expect(
      await page
        .getByText('Its images are 2 times as wide and as high. A negative prompt and guidance have no effect on it.')
        .isVisible(),
    ).toBe(true)
    expect(await page.getByRole('radio', { name: /^Default/ }).isChecked()).toBe(true)
    expect(await page.locator('#own-size').textContent()).toBe('512×512')
    expect(await generate.innerText()).toContain('5 credits')
    expect(await request()).toEqual({ prompt: 'a fox', model_version_id: 2001 })
    await steps.fill('4')
    expect(await generate.innerText()).toContain('3 credits')
    expect(await request()).toEqual({ prompt: 'a fox', model_version_id: 2001, steps: 4 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    // What another model takes is there again.
    await choose('Model', /^Plant Milk/)
    expect([await guidance.inputValue(), await negative.inputValue(), await shown('4')]).toEqual(['9', 'fog', true])
    expect(await page.locator('#note').isVisible()).toBe(false)
    // Thirty steps are usual here, and not for the other one.
    await steps.fill('30')
    expect(await request()).toEqual({ prompt: 'a fox', model_version_id: 6, negative_prompt: 'fog', cfg_scale: 9 })
    await choose('Model', /^Krea 2/)
    await generate.click()
    await page.locator('#problem').getByText('The number of steps must be from 1 to 10 for Krea 2 turbo.').waitFor()
    await steps.fill('')
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    await generate.click()
    await page.getByRole('heading', { name: 'First in the queue' }).waitFor()
    expect(await activeOf(context.service, user)).toMatchObject({ width: 512, steps: 8, negative_prompt: '' })
  })

  it('finds one of many models by its words, and chooses it by keyboard', async () => {
    await context.service.db.pool.query(`INSERT INTO model_versions
      (id, name, model_name, base_model, type, filename, description)
      SELECT 500 + n, 'v1', 'Model ' || n, 'Flux', 'Checkpoint', n || '.safetensors', 'Paints number ' || n
        FROM generate_series(1, 20) n`)
    onTestFinished(async () => {
      await context.service.db.pool.query('UPDATE model_versions SET enabled = false WHERE id > 500 AND id < 600')
    })
    const { page, generate, heading, user, violations } = await openAs()
    const cards = page.locator('.models .choice:visible')
    const all = await cards.count()
    const search = page.getByRole('searchbox', { name: 'Search the models' })
    await search.fill('FLUX number 17')
    expect(await cards.allInnerTexts()).toEqual([expect.stringContaining('Model 17')])
    expect(await violations()).toEqual([])
    // Nothing is submitted by it.
    await search.press('Enter')
    await search.press('Tab')
    await page.keyboard.press('Space')
    expect(await page.getByRole('radio', { name: /^Model 17/ }).isChecked()).toBe(true)
    await search.fill('nothing like it')
    expect(await page.getByText('No model matches: try another word.').isVisible()).toBe(true)
    await search.fill('')
    expect(await cards.count()).toBe(all)
    await generate.click()
    await heading('First in the queue')
    expect((await activeOf(context.service, user)).model_version_id).toBe(517)
  })

  it('leads an open tab to the sign-in page once its session has ended', async () => {
    const { page, user, generate, heading } = await openAs()
    await generate.click()
    await heading('First in the queue')
    await sessionStore(context.service.db).endAll(user.id)
    await page.waitForURL('**/sign-in?next=%2Fplayground')
  })
})
