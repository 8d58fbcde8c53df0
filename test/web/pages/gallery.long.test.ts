import { afterAll, beforeAll, expect, it } from 'vitest'
import { MAX_FOLDERS } from '../../../src/core/gallery/folders.js'
import type { Running } from '../../../src/process/run-process.js'
import { startServer } from '../../../src/process/start-server.js'
import { describeInBrowser, useBrowser } from '../../support/browser.js'
import { freePort } from '../../support/free-port.js'
import { type GivenImage, givenFiles } from '../../support/given-images.js'
import { silentLog, useService } from '../../support/service.js'
import { givenAccount, HOSTILE, sizeOf } from './given-gallery.js'

const context = useService()
const browser = useBrowser()

describeInBrowser('the gallery in a browser', () => {
  /** At an address that is known beforehand: pages may load nothing from anywhere else, their images neither. */
  let origin: string
  let running: Running
  beforeAll(async () => {
    const { config, namespace } = context.service
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const own = { ...config, port, baseUrl: origin, cdnBaseUrl: `${origin}/cdn` }
    running = await startServer(own, silentLog(), { namespace })
  })
  afterAll(() => running?.stop())

  async function open(images: readonly GivenImage[], path = '/gallery') {
    const account = await givenAccount(context.service.db, images)
    await givenFiles(context.service.config, account.slugs)
    const tab = await browser.open(origin, account.cookie)
    await tab.page.goto(path.replace(':slug', account.slugs[0] ?? ''))
    return { ...tab, ...account }
  }

  it.each([
    ['an empty gallery', [], '/gallery'],
    ['a gallery', HOSTILE.map((prompt, n) => ({ prompt, size: sizeOf(n) })), '/gallery'],
    ['a search that finds nothing', [{}], '/gallery?q=zebra'],
    ['an image', [{ prompt: HOSTILE[1] as string }, {}], '/image/:slug'],
  ])('%s has no accessibility violation in light and dark, and fits a phone', async (_, images, path) => {
    const { page, violations, scrollsSideways } = await open(images, path)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })

  it('searches while somebody types, writes the search into the address, and loads more when scrolled to its end', async () => {
    const prompts = Array.from({ length: 90 }, (_, n) => ({ prompt: n === 70 ? 'a Red door' : `a house ${n}` }))
    const { page } = await open(prompts)
    const pictures = page.locator('.picture')
    expect(await pictures.count()).toBe(40)
    for (const shown of [80, 90]) {
      await page.locator('.more').scrollIntoViewIfNeeded()
      await expect.poll(() => pictures.count()).toBe(shown)
    }
    const search = page.getByRole('searchbox', { name: 'Search prompts' })
    await search.pressSequentially('red d')
    await expect.poll(() => pictures.count()).toBe(1)
    await page.getByRole('link', { name: 'a Red door' }).waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('?q=red+d')
    await expect.poll(() => page.getByRole('status').textContent()).toBe('1 image shown.')
    await page.reload()
    expect([await search.inputValue(), await pictures.count()]).toEqual(['red d', 1])
    await search.fill('zebra')
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
  })

  it('can be used by keyboard alone', async () => {
    const { page, slugs } = await open([{ prompt: 'first' }, { prompt: 'second' }, { prompt: 'third' }])
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toBe('second')
    await page.keyboard.press('k')
    expect(await focused()).toBe('first')
    // With a Russian keyboard, whose key has another letter.
    const press = (code: string, key: string) =>
      page.evaluate(
        (init) => document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true })),
        { code, key },
      )
    await press('KeyJ', 'о')
    expect(await focused()).toBe('second')
    await press('KeyK', 'л')
    expect(await focused()).toBe('first')
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('d')])
    expect(download.url()).toBe(`${origin}/cdn/${slugs[0]}.png?download=1`)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.getByRole('checkbox', { name: 'Letters are shortcuts' }).uncheck()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'second' }).focus()
    await page.keyboard.press('k')
    expect(await focused()).toBe('second')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/image/${slugs[1]}`)
    await page.keyboard.press('ArrowRight')
    await page.waitForURL(`**/image/${slugs[2]}`)
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(`**/image/${slugs[1]}`)
    await expect.poll(() => page.getByRole('link', { name: 'Same seed' }).getAttribute('href')).toContain('seed=1')
  })

  it('sorts, deletes and brings back what is selected, without leaving the page', async () => {
    const prompts = ['first', 'second', 'third', 'fourth'].map((prompt) => ({ prompt }))
    const { page } = await open(prompts)
    const boxes = page.getByRole('checkbox', { name: 'Select this image' })
    const pictures = page.locator('.picture')
    await page.locator('.picture .star').first().click()
    await page.locator('.picture .star[aria-pressed=true]').waitFor()
    await boxes.nth(1).click()
    await boxes.nth(3).click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await page.getByRole('textbox', { name: 'Name of a new folder' }).fill('Castles')
    await page.keyboard.press('Enter')
    await page.getByText('3 images are in Castles now.').waitFor()
    expect(await page.locator('.picture .star[aria-pressed=true]').count()).toBe(1)
    await expect.poll(() => page.locator('input[name=slug]:checked').count()).toBe(0)
    await boxes.nth(0).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('1 image deleted.').waitFor()
    await expect.poll(() => pictures.count()).toBe(3)
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => pictures.count()).toBe(4)
    await page.getByRole('link', { name: 'Castles' }).click()
    await expect.poll(() => pictures.count()).toBe(3)
    await page.getByRole('link', { name: 'Favourites' }).click()
    await expect.poll(() => pictures.count()).toBe(1)
  })

  it('selects none after an act, also where there are as many folders as there may be', async () => {
    const { page, user } = await open([{ prompt: 'first' }])
    const named = `INSERT INTO folders (user_id, name) SELECT $1, 'folder ' || n FROM generate_series(1, $2) AS n`
    await context.service.db.pool.query(named, [user.id, MAX_FOLDERS])
    await page.reload()
    await page.keyboard.press('a')
    await page.getByRole('combobox', { name: 'Folder' }).selectOption('folder 7')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('1 image is in folder 7 now.').waitFor()
    await expect.poll(() => page.locator('.count').textContent()).toBe('0 selected')
  })

  it('selects, stars and deletes by keyboard alone', async () => {
    const { page, slugs } = await open(Array.from({ length: 4 }, (_, n) => ({ prompt: `n ${n}` })))
    for (const key of ['j', 'x', 'j', 'j', 'Shift+X']) await page.keyboard.press(key)
    await page.getByText('3 selected').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('f')
    await page.locator(`#i-${slugs[2]} .star[aria-pressed=true]`).waitFor()
    await page.keyboard.press('x')
    await page.keyboard.press('Delete')
    await page.getByText('1 image deleted.').waitFor()
    await expect.poll(() => page.locator(`#i-${slugs[2]}`).count()).toBe(0)
  })

  it('has a slider between two images that are compared', async () => {
    const { page, violations } = await open([{ prompt: 'a red door' }, { prompt: 'a blue door' }])
    await page.keyboard.press('a')
    await page.getByRole('button', { name: 'Compare two' }).click()
    const slider = page.getByRole('slider', { name: 'Where the left image ends' })
    await slider.fill('30')
    expect(await page.evaluate("getComputedStyle(document.querySelector('.versus img + img')).clipPath")).toContain(
      '30%',
    )
    expect(await violations()).toEqual([])
  })

  it('comes back to the same place, even after the image’s page was loaded anew', async () => {
    const { page, slugs } = await open(Array.from({ length: 90 }, (_, n) => ({ size: sizeOf(n) })))
    const pictures = page.locator('.picture')
    for (const shown of [80, 90]) {
      await page.locator('.more').scrollIntoViewIfNeeded()
      await expect.poll(() => pictures.count()).toBe(shown)
    }
    await pictures.nth(60).scrollIntoViewIfNeeded()
    const before = await page.evaluate('scrollY')
    await pictures.nth(60).getByRole('link').click()
    await page.waitForURL('**/image/**')
    await page.reload()
    await page.goBack()
    await expect.poll(() => pictures.count()).toBe(90)
    await expect.poll(() => page.evaluate('scrollY')).toBe(before)
    await expect.poll(() => page.evaluate('document.activeElement.pathname')).toBe(`/image/${slugs[60]}`)
  })

  it('selects all that are shown with a finger', async () => {
    const { cookie } = await open([{}, {}, {}])
    const phone = await browser.open(origin, cookie, { viewport: { width: 390, height: 800 }, hasTouch: true })
    await phone.page.goto('/gallery')
    await phone.page.getByRole('checkbox', { name: 'Select this image' }).first().tap()
    await phone.page.getByRole('button', { name: 'Select all' }).tap()
    await phone.page.getByText('3 selected').waitFor()
    expect(await phone.violations()).toEqual([])
  })

  it('closes a menu with Escape, which leaves the selection, and with a press elsewhere', async () => {
    const { page } = await open([{}, {}])
    const menu = page.locator('summary', { hasText: 'Download all' })
    const inside = page.getByRole('button', { name: 'Download as ZIP' })
    await page.keyboard.press('a')
    await menu.click()
    await inside.focus()
    await page.keyboard.press('Escape')
    await inside.waitFor({ state: 'hidden' })
    await expect.poll(() => menu.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true)
    await page.getByText('2 selected').waitFor()
    await menu.click()
    await page.getByRole('heading', { name: 'Gallery' }).click()
    await inside.waitFor({ state: 'hidden' })
  })

  it('shows on a phone all of a menu, and the open one of many folders', async () => {
    const { user, cookie } = await open([{}])
    const named = `INSERT INTO folders (user_id, name) SELECT $1, 'folder ' || n FROM generate_series(1, 9) AS n RETURNING id`
    const { rows } = await context.service.db.pool.query(named, [user.id])
    const phone = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }
    const { page, scrollsSideways, violations } = await browser.open(origin, cookie, phone)
    await page.goto(`/gallery?folder=${rows[8].id}`)
    const inWindow = (it: Element) => {
      const { left, right } = it.getBoundingClientRect()
      return left >= 0 && right <= 390
    }
    expect(await page.getByRole('link', { name: 'folder 9' }).evaluate(inWindow)).toBe(true)
    await page.locator('summary', { hasText: /^Folder$/ }).tap()
    expect(await page.locator('.drop-down .card').evaluate(inWindow)).toBe(true)
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
    await page.goto('/gallery')
    await page.locator('.picture > a').first().tap()
    await page.waitForURL('**/image/*')
    await page.locator('summary', { hasText: 'Download' }).tap()
    expect(await page.locator('.drop-down .card').evaluate(inWindow)).toBe(true)
  })

  it('offers nothing where no script runs that needs one', async () => {
    const { cookie } = await open([{}])
    const { page } = await browser.open(origin, cookie, { javaScriptEnabled: false })
    await page.goto('/gallery')
    expect(await page.getByRole('radio', { name: 'Small' }).isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'Select all' }).isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'Compare two' }).isVisible()).toBe(true)
  })
})
