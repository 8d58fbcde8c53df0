import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { describeInBrowser, useBrowser } from '../support/browser.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { givenAccount } from './pages/given-gallery.js'
import { activeOf, endAll, signedIn } from './pages/given-playground.js'

const context = useService({ env: { INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()

/** As nginx says it when the server behind it is away, or when it finds a request too large. */
const page = (words: string) =>
  `<html>\n<head><title>${words}</title></head>\n<body>\n<center><h1>${words}</h1></center>\n<hr><center>nginx/1.22.1</center></body></html>`

/** Has a proxy in front answer what is posted, or all, until it is called again. */
async function givenProxyAnswers(tab: Page, status: number, words: string, path: RegExp) {
  await tab.route(path, (route) => route.fulfill({ status, contentType: 'text/html', body: page(words) }))
  return () => tab.unroute(path)
}

const UNREACHABLE = 'The server could not be reached. Check your connection, then try again.'

describeInBrowser('where a proxy answers with a page of its own', () => {
  it.each([
    [502, '502 Bad Gateway'],
    [413, '413 Request Entity Too Large'],
  ])(
    'Create says one sentence (%i), keeps what was typed, and draws when it is pressed again',
    async (status, words) => {
      const { user, cookie } = await signedIn(context.service)
      onTestFinished(async () => void (await endAll(context.service)))
      const { page: tab } = await browser.open(context.service.url, cookie)
      await tab.goto('/playground')
      const prompt = tab.getByRole('textbox', { name: 'Prompt', exact: true })
      await prompt.fill('a lighthouse')
      const end = await givenProxyAnswers(tab, status, words, /\/playground$/)
      const generate = tab.getByRole('button', { name: /^Generate/ })
      await generate.click()
      await tab.locator('#problem').getByText(UNREACHABLE).waitFor()
      expect(await tab.content()).not.toContain('nginx')
      expect(await prompt.inputValue()).toBe('a lighthouse')
      await end()
      await generate.click()
      await tab.getByRole('heading', { name: 'First in the queue' }).waitFor()
      expect(await activeOf(context.service, user)).toMatchObject({ prompt: 'a lighthouse' })
      await expect.poll(() => tab.getByText(UNREACHABLE).count()).toBe(0)
    },
  )

  it('a generation is followed once its stream can be had', async () => {
    const { cookie } = await signedIn(context.service)
    onTestFinished(async () => void (await endAll(context.service)))
    const { page: tab, context: tabs } = await browser.open(context.service.url, cookie)
    // The worker that all tabs share asks, too.
    let asked = 0
    let isAway = true
    await tabs.route(/\/events$/, (route) => {
      asked++
      return isAway
        ? route.fulfill({ status: 502, contentType: 'text/html', body: page('502 Bad Gateway') })
        : route.continue()
    })
    await tab.addInitScript('delete window.SharedWorker')
    await tab.goto('/playground')
    await tab.getByRole('textbox', { name: 'Prompt', exact: true }).fill('a lighthouse')
    await tab.getByRole('button', { name: /^Generate/ }).click()
    await tab.getByRole('heading', { name: 'First in the queue' }).waitFor()
    await expect.poll(() => asked).toBeGreaterThan(1)
    expect(await tab.content()).not.toContain('nginx')
    isAway = false
    await standInWorker(context.service.db).claim()
    await tab.getByRole('heading', { name: /^Drawing/ }).waitFor()
  })

  it.each([
    ['all tabs share one', ''],
    ['each tab has one', 'delete window.SharedWorker'],
  ])('a stream that falls silent, as after sleep, is asked for again: %s', async (_, prepare) => {
    const { url, db } = context.service
    const { cookie } = await signedIn(context.service)
    onTestFinished(async () => void (await endAll(context.service)))
    const proxy = await startFaultProxy(url)
    onTestFinished(() => proxy.close())
    const { page: tab } = await browser.open(new URL(proxy.through(url)).origin, cookie)
    await tab.clock.install()
    await tab.addInitScript(prepare)
    await tab.goto('/playground')
    await tab.getByRole('button', { name: /^Generate/ }).click()
    await tab.getByRole('heading', { name: 'First in the queue' }).waitFor()
    const worker = standInWorker(db)
    const claimed = await worker.claim()
    await tab.getByRole('heading', { name: /^Drawing/ }).waitFor()
    proxy.silenceStreams()
    await worker.succeed(claimed)
    await tab.clock.fastForward(60_000)
    await tab.getByRole('status', { name: 'Generation' }).getByRole('img').waitFor()
  })

  it('keys, pictures and a form’s own place stay as they are', async () => {
    const { cookie } = await givenAccount(context.service.db, [{ prompt: 'first' }, { prompt: 'second' }])
    const { page: tab } = await browser.open(context.service.url, cookie)
    await tab.goto('/keys')
    const end = await givenProxyAnswers(tab, 504, '504 Gateway Time-out', /\/keys/)
    await tab.locator('form[action="/keys"] #name').fill('shop')
    await tab.locator('form[action="/keys"] .primary').click()
    await tab.getByText(UNREACHABLE).waitFor()
    expect(await tab.locator('#keys').count()).toBe(1)
    expect(await tab.content()).not.toContain('nginx')
    await end()
    await tab.goto('/gallery')
    await givenProxyAnswers(tab, 502, '502 Bad Gateway', /\/favourite$/)
    await tab.locator('.picture .star').first().click()
    await tab.getByText(UNREACHABLE).waitFor()
    expect(await tab.locator('.picture .star').count()).toBe(2)
    expect(await tab.content()).not.toContain('nginx')
  })
})
