import { beforeAll, describe, expect, it } from 'vitest'
import { MAX_FOLDERS } from '../../../src/core/gallery/folders.js'
import { type GivenImage, givenFiles } from '../../support/given-images.js'
import { useService } from '../../support/service.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'
import { unzipped } from '../../support/unzip.js'
import { type Account, givenAccount as givenAccountOf } from './given-gallery.js'

const context = useService()

const givenAccount = (images?: readonly GivenImage[]) => givenAccountOf(context.service.db, images)

async function get(path: string, { cookie }: Account) {
  const answer = await fetch(context.service.url + path, {
    redirect: 'manual',
    headers: { accept: 'text/html', cookie },
  })
  const html = await answer.text()
  return { status: answer.status, html, slugs: slugsIn(html) }
}

const slugsIn = (html: string) => [...html.matchAll(/<a href="\/image\/(\w{22})"/g)].map(([, slug]) => slug as string)

/** As a form sends it. */
async function post(
  path: string,
  { cookie }: Account,
  fields: Readonly<Record<string, string | readonly string[]>> = {},
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((it) => [name, it])),
  )
  const answer = await fetch(context.service.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', ...headers },
    body,
  })
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() }
}

const HTMX = { 'hx-request': 'true' }

/** Puts images into a new folder. Resolves to its ID. */
async function givenFolder(account: Account, name: string, slugs: readonly string[]): Promise<string> {
  expect((await post('/gallery/selection', account, { act: 'add', slug: slugs, name })).status).toBe(303)
  const { html } = await get('/gallery', account)
  const found = [...html.matchAll(/<a href="\/gallery\?folder=([0-9a-f-]{36})"[^>]*>([^<]*)</g)]
  return found.find(([, , text]) => text === name)?.[1] as string
}

let stranger: Account
beforeAll(async () => {
  stranger = await givenAccount([{}])
})

describe('favourites', () => {
  it('are chosen one by one, on the gallery and on an image’s page, and listed newest first', async () => {
    const account = await givenAccount([{}, {}, {}])
    const [first = '', second = '', third = ''] = account.slugs
    expect(await post(`/image/${third}/favourite`, account)).toMatchObject({ status: 303, location: `/image/${third}` })
    const there = await post(`/image/${first}/favourite`, account, { back: '/gallery?q=a' })
    expect(there).toMatchObject({ status: 303, location: '/gallery?q=a' })
    const pressed = await post(`/image/${second}/favourite`, account, {}, HTMX)
    expect(pressed.text).toContain(`/image/${second}/unfavourite`)
    expect(pressed.text).toContain('aria-pressed="true"')
    expect((await get('/gallery?folder=favourites', account)).slugs).toEqual([first, second, third])
    await post(`/image/${second}/unfavourite`, account)
    expect((await get('/gallery?folder=favourites', account)).slugs).toEqual([first, third])
    expect((await get(`/image/${first}`, account)).html).toContain('aria-pressed="true"')
    expect((await get('/gallery', account)).slugs).toEqual([first, second, third])
  })

  it('are one’s own images only', async () => {
    const { slugs } = await givenAccount([{}])
    expect((await post(`/image/${slugs[0]}/favourite`, stranger)).status).toBe(404)
    await post('/gallery/selection', stranger, { act: 'add', folder: 'favourites', slug: [slugs[0] as string] })
    expect((await get('/gallery?folder=favourites', stranger)).slugs).toEqual([])
  })
})

describe('folders', () => {
  it('hold images that stay in the gallery, and an image may be in several', async () => {
    const account = await givenAccount([{}, {}, {}])
    const [first = '', second = '', third = ''] = account.slugs
    const castles = await givenFolder(account, 'Castles', [third, first])
    const night = await givenFolder(account, 'Night', [first, second])
    expect((await get(`/gallery?folder=${castles}`, account)).slugs).toEqual([first, third])
    expect((await get(`/gallery?folder=${night}`, account)).slugs).toEqual([first, second])
    expect((await get('/gallery', account)).slugs).toEqual(account.slugs)
    await post('/gallery/selection', account, { act: 'take', open: castles, slug: first })
    expect((await get(`/gallery?folder=${castles}`, account)).slugs).toEqual([third])
    await post(`/image/${third}/folders`, account, { folder: [night] })
    expect((await get(`/gallery?folder=${castles}`, account)).slugs).toEqual([])
    expect((await get(`/gallery?folder=${night}`, account)).slugs).toEqual(account.slugs)
  })

  it('are renamed and deleted, and their images stay', async () => {
    const account = await givenAccount([{}])
    const id = await givenFolder(account, 'Castles', account.slugs)
    expect((await post(`/gallery/folders/${id}`, account, { name: ' Old castles ' })).status).toBe(303)
    expect((await get(`/gallery?folder=${id}`, account)).html).toContain('>Old castles</h1>')
    expect((await post(`/gallery/folders/${id}/delete`, account)).location).toBe('/gallery')
    expect((await get(`/gallery?folder=${id}`, account)).status).toBe(404)
    expect((await get('/gallery', account)).slugs).toEqual(account.slugs)
  })

  it('have names that differ in more than their case, of 1 to 60 characters', async () => {
    const account = await givenAccount([{}])
    const { slugs } = account
    const id = await givenFolder(account, 'Castles', slugs)
    const other = await givenFolder(account, 'Night', slugs)
    const taken = await post('/gallery/selection', account, { act: 'add', slug: slugs, name: 'CASTLES' }, HTMX)
    expect([taken.status, taken.text]).toEqual([
      400,
      expect.stringContaining('You have a folder named &quot;CASTLES&quot;'),
    ])
    expect((await post(`/gallery/folders/${other}`, account, { name: 'castles' })).status).toBe(400)
    expect((await post(`/gallery/folders/${id}`, account, { name: 'castles' })).status).toBe(303)
    for (const name of ['x'.repeat(61), 'two\nlines', '\0'])
      expect((await post(`/gallery/folders/${id}`, account, { name })).status).toBe(400)
    const hostile = await givenFolder(account, '<b>&', slugs).catch(() => undefined)
    expect(hostile).toBeUndefined() // it is escaped
    expect((await get('/gallery', account)).html).toContain('>&lt;b>&amp;</a>')
  })

  it('get one of two names that are alike, also when both are asked for at once', async () => {
    const account = await givenAccount([{}])
    const ids = await Promise.all(
      ['One', 'Two', 'Three', 'Four'].map((name) => givenFolder(account, name, account.slugs)),
    )
    const answers = await Promise.all(ids.map((id) => post(`/gallery/folders/${id}`, account, { name: 'Castles' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400])
  })

  it('count only the images that are one’s own', async () => {
    const account = await givenAccount([{}])
    const [mine, others] = [account.slugs, stranger.slugs]
    const mixed = await post(
      '/gallery/selection',
      account,
      { act: 'add', slug: [...mine, ...others], name: 'New' },
      HTMX,
    )
    expect(mixed.text).toContain('1 image is in New now.')
    const none = await post('/gallery/selection', account, { act: 'add', slug: others, folder: 'favourites' }, HTMX)
    expect([none.status, none.text]).toEqual([400, expect.stringContaining('None of these images is yours any more')])
  })

  it('are made empty, too, and a refused name stays in its field', async () => {
    const account = await givenAccount([{}])
    const made = await post('/gallery/folders', account, { name: 'Castles' })
    const { html } = await get(made.location as string, account)
    expect(html).toContain('Nothing in here yet')
    const refused = await post('/gallery/folders', account, { name: 'castles' })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('value="castles"')])
    expect((await get('/gallery/folders', account)).html).toContain(`<a href="${made.location}" dir="auto">Castles</a>`)
  })

  it('of another account are none', async () => {
    const account = await givenAccount([{}])
    const id = await givenFolder(account, 'Castles', account.slugs)
    expect((await get(`/gallery?folder=${id}`, stranger)).status).toBe(404)
    const tries = [
      ['/gallery/selection', { act: 'add', slug: stranger.slugs, folder: id }],
      ['/gallery/selection', { act: 'take', slug: account.slugs, open: id }],
      [`/gallery/folders/${id}`, { name: 'Mine' }],
      [`/gallery/folders/${id}/delete`, {}],
    ] as const
    for (const [path, fields] of tries) expect((await post(path, stranger, fields)).status).toBe(404)
    const download = await fetch(`${context.service.url}/gallery/download?folder=${id}`, {
      headers: { cookie: stranger.cookie },
    })
    expect(download.status).toBe(404)
    expect((await get(`/gallery?folder=${id}`, account)).slugs).toEqual(account.slugs)
  })

  it(`are ${MAX_FOLDERS} at most, and a page with all of them weighs less than 100 KB`, async () => {
    const account = await givenAccount(Array.from({ length: 40 }, () => ({ prompt: '"'.repeat(2000) })))
    await context.service.db.pool.query(
      `INSERT INTO folders (user_id, name) SELECT $1, rpad('folder ' || n || ' ', 60, 'x') FROM generate_series(1, $2) AS n`,
      [account.user.id, MAX_FOLDERS],
    )
    const refused = await post('/gallery/selection', account, { act: 'add', slug: account.slugs, name: 'More' }, HTMX)
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(`You have ${MAX_FOLDERS} folders`)])
    for (const path of ['/gallery', '/gallery/folders'])
      expect(Buffer.byteLength((await get(path, account)).html)).toBeLessThan(100_000)
  })

  it('are filtered, searched and paged like the gallery', async () => {
    const account = await givenAccount(
      Array.from({ length: 100 }, (_, n) => ({
        prompt: `picture ${n}`,
        size: n % 2 === 0 ? ([832, 1216] as const) : ([1216, 832] as const),
      })),
    )
    const inside = account.slugs.filter((_, n) => n % 5 !== 0)
    const id = await givenFolder(account, 'Most', inside)
    const all: string[] = []
    for (let at: string | undefined = `/gallery?folder=${id}&sort=oldest`; at; ) {
      const { html, slugs } = await get(at, account)
      all.push(...slugs)
      at = /hx-get="([^"]*cursor[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(all).toEqual(inside.toReversed())
    expect((await get(`/gallery?folder=${id}&q=picture+7`, account)).slugs).toEqual(
      account.slugs.filter((_, n) => [7, 71, 72, 73, 74, 76, 77, 78, 79].includes(n)),
    )
    const portraits = inside.filter((slug) => account.slugs.indexOf(slug) % 2 === 0)
    expect((await get(`/gallery?folder=${id}&shape=portrait`, account)).slugs).toEqual(portraits.slice(0, 40))
  })
})

describe('the gallery', () => {
  it('shows the images of a shape, of some days, and the oldest first', async () => {
    const account = await givenAccount([{ size: [1024, 1024] }, { size: [832, 1216] }, { size: [1216, 832] }])
    const [square = '', portrait = '', landscape = ''] = account.slugs
    for (const [shape, slug] of [
      ['square', square],
      ['portrait', portrait],
      ['landscape', landscape],
    ])
      expect((await get(`/gallery?shape=${shape}`, account)).slugs).toEqual([slug])
    expect((await get('/gallery?sort=oldest', account)).slugs).toEqual([landscape, portrait, square])
    const day = `UPDATE generations SET created_at = '2025-03-31T23:59:00Z' FROM images WHERE generation_id = id AND slug = $1`
    await unguarded(context.service.db, day, [landscape])
    expect((await get('/gallery?from=2025-03-31&to=2025-03-31', account)).slugs).toEqual([landscape])
    expect((await get('/gallery?to=2025-03-30', account)).slugs).toEqual([])
    expect((await get('/gallery?from=2025-04-01', account)).slugs).toEqual([square, portrait])
    expect((await get('/gallery?from=never&to=2025-02-30', account)).slugs).toHaveLength(3)
  })

  it('sends as many pictures as were loaded before, for who comes back to a place far below', async () => {
    const account = await givenAccount(Array.from({ length: 130 }, () => ({})))
    const { html } = await get('/gallery', account)
    const next = /hx-get="([^"]*cursor[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    const answer = await fetch(`${context.service.url}${next}&count=80`, {
      headers: { cookie: account.cookie, ...HTMX },
    })
    expect(slugsIn(await answer.text())).toEqual(account.slugs.slice(40, 120))
    expect((await get(`${next}&count=80`, account)).slugs).toHaveLength(40)
  })
})

describe('several images at once', () => {
  it('are deleted together, and brought back while that can be undone', async () => {
    const account = await givenAccount([{}, {}, {}])
    const [first = '', second = '', third = ''] = account.slugs
    const id = await givenFolder(account, 'Castles', account.slugs)
    const deleted = await post('/gallery/selection', account, { act: 'delete', slug: [first, second] }, HTMX)
    expect(deleted.text).toContain('2 images deleted.')
    expect(deleted.text).toContain(`<li id="i-${first}" hx-swap-oob="delete">`)
    expect((await get('/gallery', account)).slugs).toEqual([third])
    expect((await get(`/gallery?folder=${id}`, account)).slugs).toEqual([third])
    expect((await post('/gallery/undo', account)).location).toBe('/gallery')
    expect((await get(`/gallery?folder=${id}`, account)).slugs).toEqual(account.slugs)
    expect((await post('/gallery/undo', account, {}, HTMX)).text).toContain('It is too late')
  })

  it('are on no page of the website from then on, and are not said to be deleted twice', async () => {
    const account = await givenAccount([{}, {}])
    const [kept = '', deleted = ''] = account.slugs
    await post('/gallery/selection', account, { act: 'delete', slug: deleted }, HTMX)
    const { html } = await get('/playground', account)
    expect([html.includes(kept), html.includes(deleted)]).toEqual([true, false])
    // In another tab it still stands there.
    const again = await post('/gallery/selection', account, { act: 'delete', slug: deleted }, HTMX)
    expect(again.text).toContain('These images are already deleted.')
    expect(again.text).toContain(`<li id="i-${deleted}" hx-swap-oob="delete">`)
    await post('/gallery/undo', account)
    expect((await get('/playground', account)).html).toContain(deleted)
  })

  it('are so many at most, which a sentence says', async () => {
    const account = await givenAccount([{}])
    const others = Array.from({ length: 5000 }, (_, n) => `${n}`.padStart(22, 'x'))
    const answer = await post(
      '/gallery/selection',
      account,
      { act: 'delete', slug: [...account.slugs, ...others] },
      HTMX,
    )
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('Select 2000 images at most.')])
    expect((await get('/gallery', account)).slugs).toEqual(account.slugs)
  })

  it('of others are left alone', async () => {
    const account = await givenAccount([{}])
    await post('/gallery/selection', stranger, { act: 'delete', slug: account.slugs }, HTMX)
    expect((await post('/gallery/undo', stranger, {}, HTMX)).status).toBe(400)
    expect((await get('/gallery', account)).slugs).toEqual(account.slugs)
  })

  it('are refused with a sentence if none is selected, or not two to compare', async () => {
    const account = await givenAccount([{}, {}])
    const refused = async (fields: Parameters<typeof post>[2]) =>
      (await post('/gallery/selection', account, fields, HTMX)).text
    expect(await refused({ act: 'delete' })).toContain('Select one or more images first.')
    expect(await refused({ act: 'compare', slug: account.slugs[0] as string })).toContain('exactly two images')
    expect(await refused({ act: 'add', slug: account.slugs })).toContain('Choose a folder')
    const compared = await post('/gallery/selection', account, { act: 'compare', slug: account.slugs })
    expect(compared.location).toBe(`/compare/${account.slugs.join('/')}`)
  })

  it('are downloaded as a ZIP, named after their prompts, with or without their parameters', async () => {
    const account = await givenAccount([
      { prompt: 'A lighthouse, at dusk!' },
      { prompt: '灯台' },
      { prompt: '灯台' },
      { prompt: '' },
    ])
    await givenFiles(context.service.config, account.slugs.slice(0, 3))
    const zip = async (fields: Readonly<Record<string, string>>) => {
      const body = new URLSearchParams([...account.slugs.map((slug) => ['slug', slug]), ...Object.entries(fields)])
      const headers = { cookie: account.cookie, 'sec-fetch-site': 'same-origin' }
      const answer = await fetch(`${context.service.url}/gallery/selection`, { method: 'POST', headers, body })
      expect(answer.headers.get('content-disposition')).toContain('filename="easel-images.zip"')
      return unzipped(Buffer.from(await answer.arrayBuffer()))
    }
    const plain = await zip({ act: 'download' })
    expect([...plain.keys()]).toEqual(['a-lighthouse-at-dusk-7.png', '灯台-7.png', '灯台-7 (2).png', 'missing.txt'])
    expect(plain.get('a-lighthouse-at-dusk-7.png')?.subarray(1, 4).toString()).toBe('PNG')
    expect(plain.get('a-lighthouse-at-dusk-7.png')?.includes('parameters')).toBe(false)
    expect(plain.get('missing.txt')?.toString()).toContain('image-7.png')
    const full = await zip({ act: 'download', parameters: '1' })
    expect(full.get('a-lighthouse-at-dusk-7.png')?.includes('A lighthouse, at dusk!')).toBe(true)
  })

  it('of a folder, or all there are, are downloaded at once', async () => {
    const account = await givenAccount(Array.from({ length: 120 }, (_, n) => ({ prompt: `n ${n}` })))
    await givenFiles(context.service.config, account.slugs)
    const id = await givenFolder(account, 'Café', account.slugs.slice(0, 2))
    const zip = async (path: string) => {
      const answer = await fetch(context.service.url + path, { headers: { cookie: account.cookie } })
      const files = unzipped(Buffer.from(await answer.arrayBuffer()))
      // nginx would keep 1 GB of it, and then read nothing for longer than this server waits.
      expect(answer.headers.get('x-accel-buffering')).toBe('no')
      return { names: [...files.keys()], disposition: answer.headers.get('content-disposition') }
    }
    const folder = await zip(`/gallery/download?folder=${id}`)
    expect(folder.names).toEqual(['n-0-7.png', 'n-1-7.png'])
    expect(folder.disposition).toContain(`filename*=UTF-8''easel-caf%C3%A9.zip`)
    expect((await zip('/gallery/download')).names).toHaveLength(120)
  })

  it('are not read for a request that wants no content', async () => {
    const account = await givenAccount([{}])
    const headers = { cookie: account.cookie }
    const answer = await fetch(`${context.service.url}/gallery/download`, { method: 'HEAD', headers })
    expect(answer.status).toBe(405)
  })

  it('of a folder that is deleted meanwhile make no file that looks complete', async () => {
    const account = await givenAccount(Array.from({ length: 300 }, () => ({})))
    await givenFiles(context.service.config, account.slugs)
    const id = await givenFolder(account, 'Castles', account.slugs)
    const answer = await fetch(`${context.service.url}/gallery/download?folder=${id}`, {
      headers: { cookie: account.cookie },
    })
    await post(`/gallery/folders/${id}/delete`, account)
    await expect(answer.arrayBuffer()).rejects.toThrow()
  })
})

describe('comparing two images', () => {
  it('shows both, and what is different in how they were made', async () => {
    const account = await givenAccount([{ prompt: 'a red door' }, { prompt: 'a blue door', size: [1024, 1024] }])
    const [one = '', other = ''] = account.slugs
    const { html } = await get(`/compare/${one}/${other}`, account)
    for (const text of ['a red door', 'a blue door', '832 × 1216', '1024 × 1024', 'type="range"'])
      expect(html).toContain(text)
    expect(html.match(/class="differs"/g)).toHaveLength(2)
    expect((await get(`/compare/${one}/${other}`, stranger)).status).toBe(404)
    expect((await get(`/compare/${one}/nothing`, account)).status).toBe(404)
  })
})

it('folders go with an account that is purged', async () => {
  const account = await givenAccount([{}])
  await givenFolder(account, 'Secret plans', account.slugs)
  const { purgeOf } = await import('../../../src/process/purge-account.js')
  await purgeOf(context.service.db, context.service.config)(account.user.id)
  const left = await context.service.db.pool.query('SELECT FROM folders WHERE user_id = $1', [account.user.id])
  expect(left.rowCount).toBe(0)
  await until(async () => (await get(`/image/${account.slugs[0]}`, stranger)).status === 410, 'the removal')
})
