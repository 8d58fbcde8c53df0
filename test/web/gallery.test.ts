import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../src/catalog/seed.js'
import type { Running } from '../../src/entry.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { startServer } from '../../src/start-server.js'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { type GivenImage, givenFiles, givenImages } from '../support/given-images.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { freePort } from '../support/redis-server.js'
import { silentLog, useService } from '../support/service.js'

const context = useService()

const HOSTILE = [
  `</span><script>alert(1)</script>"onload='x' & <b>`,
  'two\nlines, and\u202Etext that runs backwards',
  `100% of "quotes" _ and \\ 'all'`,
  '😀'.repeat(1000),
  '"'.repeat(2000),
]
const SIZES = [
  [832, 1216],
  [1216, 832],
  [1024, 1024],
  [2048, 512],
] as const

interface Account {
  readonly user: GivenUser
  readonly cookie: string
}

async function givenAccount(images: readonly GivenImage[] = []): Promise<Account & { slugs: string[] }> {
  const { db } = context.service
  const user = await givenUser(db)
  const cookie = await givenSession(db, user)
  return { user, cookie, slugs: await givenImages(db, user, images) }
}

async function get(path: string, { cookie }: { cookie?: string } = {}, headers: Record<string, string> = {}) {
  const options = {
    redirect: 'manual',
    headers: { accept: 'text/html', ...(cookie && { cookie }), ...headers },
  } as const
  const answer = await fetch(context.service.url + path, options)
  const html = await answer.text()
  return { status: answer.status, headers: answer.headers, html, slugs: slugsIn(html) }
}

const slugsIn = (html: string) => [...html.matchAll(/<a href="\/image\/(\w{22})"/g)].map(([, slug]) => slug as string)
const nextIn = (html: string) => /hx-get="([^"]*cursor[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')

/** All pages, as scrolling loads them. */
async function getAll(path: string, account: Account): Promise<string[]> {
  const found: string[] = []
  for (let at: string | undefined = path; at; ) {
    const { html, slugs } = await get(at, account)
    found.push(...slugs)
    at = nextIn(html)
  }
  return found
}

const remove = (slug: string, { cookie }: Account, headers: Record<string, string> = {}) =>
  fetch(`${context.service.url}/image/${slug}/delete`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', ...headers },
  })

let many: Account & { slugs: string[] }

beforeAll(async () => {
  many = await givenAccount(
    Array.from({ length: 200 }, (_, n) => ({
      prompt: n < HOSTILE.length ? (HOSTILE[n] as string) : `picture ${n}${n % 50 === 0 ? ' of a Lighthouse' : ''}`,
      size: SIZES[n % SIZES.length] as (typeof SIZES)[0],
      onWebsite: n % 2 === 0,
      modelVersionId: SEED_MODELS[n % 3 === 0 ? 1 : 0]?.id as number,
      hasThumbnail: n % 10 !== 9,
    })),
  )
})

describe('the gallery', () => {
  it('is for who is signed in', async () => {
    const { status, headers } = await get('/gallery?q=a')
    expect([status, headers.get('location')]).toEqual([303, '/sign-in?next=%2Fgallery%3Fq%3Da'])
    expect((await get(`/gallery`, {}, { 'hx-request': 'true' })).status).toBe(401)
  })

  it('shows all images page by page, newest first, and in their order within a batch', async () => {
    expect(await getAll('/gallery', many)).toEqual(many.slugs)
    const batches = await givenAccount(Array.from({ length: 15 }, () => ({ batchSize: 4 })))
    expect(await getAll('/gallery', batches)).toEqual(batches.slugs)
  })

  it('shows the thumbnail, or the image where there is none', async () => {
    const { html } = await get('/gallery', many)
    expect(html).toContain(`src="http://easel.test/cdn/${many.slugs[0]}.webp"`)
    expect(html).toContain(`src="http://easel.test/cdn/${many.slugs[9]}.png"`)
    expect(html).not.toContain(`${many.slugs[9]}.webp`)
  })

  it('shows hostile prompts as text, and no page weighs more than 100 KB', async () => {
    const { html } = await get('/gallery', many)
    expect(html).toContain('&lt;/span>&lt;script>alert(1)')
    expect(html).not.toContain('<script>alert')
    const worst = await givenAccount(Array.from({ length: 40 }, () => ({ prompt: HOSTILE[4] as string })))
    const image = await get(`/image/${worst.slugs[0]}`, worst)
    for (const page of [html, (await get('/gallery', worst)).html, image.html])
      expect(Buffer.byteLength(page)).toBeLessThan(100_000)
  })

  it('finds parts of prompts in any case, and takes LIKE’s own signs as they are', async () => {
    expect(await getAll('/gallery?q=lightHOUSE', many)).toEqual([50, 100, 150].map((n) => many.slugs[n]))
    for (const sought of ['100% of', '_ and', '\\ ', '"quotes" _'])
      expect(await getAll(`/gallery?q=${encodeURIComponent(sought)}`, many)).toEqual([many.slugs[2]])
    const [none, nul] = await Promise.all([get('/gallery?q=zebra', many), get('/gallery?q=%00zebra%ED%A0%80', many)])
    for (const { status, html } of [none, nul]) {
      expect(status).toBe(200)
      expect(html).toContain('Nothing found')
    }
  })

  it('finds what is far back, however many images are in between', async () => {
    const filler = Array.from({ length: 6100 }, () => ({ prompt: 'a door' }))
    const account = await givenAccount([{ prompt: 'a red key' }, ...filler, { prompt: 'a blue KEY' }])
    const all = await getAll('/gallery?q=key', account)
    expect(all).toEqual([account.slugs[0], account.slugs.at(-1)])
    expect((await get('/gallery?q=blue', account)).html).toContain('Search in older images')
  })

  it('tells and filters by model, and by how an image was made', async () => {
    const each = (wanted: (n: number) => boolean) => many.slugs.filter((_, n) => wanted(n))
    expect(await getAll(`/gallery?model=${SEED_MODELS[1]?.id}`, many)).toEqual(each((n) => n % 3 === 0))
    expect(await getAll('/gallery?made=website', many)).toEqual(each((n) => n % 2 === 0))
    expect(await getAll('/gallery?made=api&q=picture', many)).toEqual(each((n) => n % 2 === 1 && n >= HOSTILE.length))
    expect((await get('/gallery?made=api', many)).html.match(/>API<\/span>/g)).toHaveLength(40)
    expect((await get('/gallery?made=website', many)).html).not.toContain('>API</span>')
  })

  it('shows a gallery for an address that makes no sense', async () => {
    for (const search of ['model=x&made=y&cursor=z', 'model=99999', 'q=a&q=b', 'cursor=MC4wLjA'])
      expect((await get(`/gallery?${search}`, many)).status).toBe(200)
  })

  it('answers htmx with the part that changes, with the address to show', async () => {
    const search = await get('/gallery?q=lighthouse&model=&made=', many, { 'hx-request': 'true' })
    expect(search.html).toMatch(/^<ul class="pictures">/)
    expect(search.headers.get('hx-replace-url')).toBe('/gallery?q=lighthouse')
    const more = await get(nextIn((await get('/gallery', many)).html) as string, many, { 'hx-request': 'true' })
    expect(more.html).toMatch(/^<li class="picture"/)
    const restored = await get('/gallery', many, { 'hx-request': 'true', 'hx-history-restore-request': 'true' })
    expect(restored.html).toMatch(/^<!doctype html>/)
  })

  it('leads to the playground while it is empty, and never shows what others made', async () => {
    const { html, slugs } = await get('/gallery', await givenAccount())
    expect(slugs).toEqual([])
    expect(html).toContain('href="/playground"')
  })
})

describe('deleting an image', () => {
  it('removes it with its files, for its owner only', async () => {
    const { config } = context.service
    const account = await givenAccount([{}, {}])
    const [first = '', second = ''] = account.slugs
    await givenFiles(config, account.slugs)
    expect((await remove(first, many)).status).toBe(404)
    expect((await get(`/image/${first}`)).status).toBe(200)
    const plain = await remove(first, account)
    expect([plain.status, plain.headers.get('location')]).toEqual([303, '/gallery'])
    const inPlace = await remove(second, account, { 'hx-request': 'true' })
    expect([inPlace.status, await inPlace.text()]).toEqual([200, ''])
    expect((await get('/gallery', account)).slugs).toEqual([])
    expect((await get(`/image/${first}`, account)).status).toBe(410)
    expect(await imageStore(config).exists(first)).toBe(false)
    expect((await remove('x', account)).status).toBe(404)
  })

  it('is not done for another website', async () => {
    const account = await givenAccount([{}])
    expect((await remove(account.slugs[0] as string, account, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })
})

describe('the page of an image', () => {
  it('shows its owner how it was made, and nobody else', async () => {
    const account = await givenAccount([{ prompt: "a painter's secret", onWebsite: true }])
    const path = `/image/${account.slugs[0]}`
    const [own, others, anybody] = await Promise.all([get(path, account), get(path, many), get(path)])
    for (const text of ["a painter's secret", 'weeds', 'DPM++ 2M Karras', 'Website']) expect(own.html).toContain(text)
    expect(own.html).toContain(`href="/playground?from=${account.slugs[0]}"`)
    expect(own.html).toContain(`href="/playground?from=${account.slugs[0]}&amp;seed=1"`)
    expect(own.html).toContain(`a painter'\\''s secret`)
    for (const { status, html } of [others, anybody]) {
      expect(status).toBe(200)
      for (const secret of ['secret', 'weeds', 'Remix', 'Delete', account.user.username])
        expect(html).not.toContain(secret)
    }
  })

  it('leads to its neighbours in the gallery, over batches and what was removed', async () => {
    const account = await givenAccount([{}, { batchSize: 3 }, {}])
    const { slugs } = account
    await remove(slugs[2] as string, account)
    const left = slugs.filter((_, n) => n !== 2)
    for (const [n, slug] of left.entries()) {
      const { html } = await get(`/image/${slug}`, account)
      expect(/rel="prev" href="\/image\/(\w+)"/.exec(html)?.[1]).toBe(left[n - 1])
      expect(/rel="next" href="\/image\/(\w+)"/.exec(html)?.[1]).toBe(left[n + 1])
    }
  })
})

describeInBrowser('in a browser', () => {
  const browser = useBrowser()
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
    const account = await givenAccount(images)
    await givenFiles(context.service.config, account.slugs)
    const tab = await browser.open(origin, account.cookie)
    await tab.page.goto(path.replace(':slug', account.slugs[0] ?? ''))
    return { ...tab, ...account }
  }

  it.each([
    ['an empty gallery', [], '/gallery'],
    ['a gallery', HOSTILE.map((prompt, n) => ({ prompt, size: SIZES[n % 4] as (typeof SIZES)[0] })), '/gallery'],
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

  it('searches while one types, keeps the address, and loads more at its end', async () => {
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
    expect(new URL(page.url()).search).toBe('?q=red+d')
    await expect.poll(() => page.getByRole('status').textContent()).toBe('1 image shown.')
    await page.reload()
    expect([await search.inputValue(), await pictures.count()]).toEqual(['red d', 1])
    await search.fill('zebra')
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
  })

  it('is used by keys alone', async () => {
    const { page, slugs } = await open([{ prompt: 'first' }, { prompt: 'second' }, { prompt: 'third' }])
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toBe('second')
    await page.keyboard.press('k')
    expect(await focused()).toBe('first')
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('d')])
    expect(download.url()).toBe(`${origin}/cdn/${slugs[0]}.png`)
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
    expect(await page.getByRole('link', { name: 'Same seed' }).getAttribute('href')).toContain('seed=1')
  })

  it('deletes a picture in its place after asking once', async () => {
    const { page } = await open([{ prompt: 'first' }, { prompt: 'second' }])
    const picture = page.locator('.picture', { has: page.getByRole('link', { name: 'first' }) })
    await picture.hover()
    await picture.getByRole('button', { name: 'Delete' }).click()
    expect(await page.locator('.picture').count()).toBe(2)
    await picture.getByRole('button', { name: 'Delete for good?' }).click()
    await expect.poll(() => page.locator('.picture').count()).toBe(1)
    await page.getByRole('link', { name: 'second' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete for good?' }).click()
    await page.getByRole('heading', { name: 'No images yet' }).waitFor()
  })
})
