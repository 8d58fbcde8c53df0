import { beforeAll, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { imageStore } from '../../../src/images/open-image-store.js'
import { type GivenImage, givenFiles } from '../../support/given-images.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { type Account, givenAccount as givenAccountOf, HOSTILE, sizeOf } from './given-gallery.js'

const context = useService()

const givenAccount = (images?: readonly GivenImage[]) => givenAccountOf(context.service.db, images)

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

let many: Account

beforeAll(async () => {
  many = await givenAccount(
    Array.from({ length: 200 }, (_, n) => ({
      prompt: n < HOSTILE.length ? (HOSTILE[n] as string) : `picture ${n}${n % 50 === 0 ? ' of a Lighthouse' : ''}`,
      size: sizeOf(n),
      onWebsite: n % 2 === 0,
      modelVersionId: SEED_MODELS[n % 3 === 0 ? 1 : 0]?.id as number,
      hasThumbnail: n % 10 !== 9,
    })),
  )
})

describe('the gallery', () => {
  it('asks who is not signed in to sign in', async () => {
    const { status, headers } = await get('/gallery?q=a')
    expect([status, headers.get('location')]).toEqual([303, '/sign-in?next=%2Fgallery%3Fq%3Da'])
    expect((await get(`/gallery`, {}, { 'hx-request': 'true' })).status).toBe(401)
  })

  it('shows all images page by page, the newest first, and those of a batch in their order', async () => {
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

  it('finds parts of prompts in capital or small letters, and takes % and _ as they are', async () => {
    expect(await getAll('/gallery?q=lightHOUSE', many)).toEqual([50, 100, 150].map((n) => many.slugs[n]))
    for (const sought of ['100% of', '_ and', '\\ ', '"quotes" _'])
      expect(await getAll(`/gallery?q=${encodeURIComponent(sought)}`, many)).toEqual([many.slugs[2]])
    const [none, nul] = await Promise.all([get('/gallery?q=zebra', many), get('/gallery?q=%00zebra', many)])
    for (const { status, html } of [none, nul]) {
      expect(status).toBe(200)
      expect(html).toContain('Nothing found')
    }
  })

  it('finds an image however many newer ones do not fit the search', async () => {
    const filler = Array.from({ length: 6100 }, () => ({ prompt: 'a door' }))
    const account = await givenAccount([{ prompt: 'a red key' }, ...filler, { prompt: 'a blue KEY' }])
    const all = await getAll('/gallery?q=key', account)
    expect(all).toEqual([account.slugs[0], account.slugs.at(-1)])
    expect((await get('/gallery?q=blue', account)).html).toContain('Search in older images')
  })

  it('shows how an image was made, and filters by that and by model', async () => {
    const each = (wanted: (n: number) => boolean) => many.slugs.filter((_, n) => wanted(n))
    expect(await getAll(`/gallery?model=${SEED_MODELS[1]?.id}`, many)).toEqual(each((n) => n % 3 === 0))
    expect(await getAll('/gallery?made=website', many)).toEqual(each((n) => n % 2 === 0))
    expect(await getAll('/gallery?made=api&q=picture', many)).toEqual(each((n) => n % 2 === 1 && n >= HOSTILE.length))
    expect((await get('/gallery?made=api', many)).html.match(/>API<\/span>/g)).toHaveLength(40)
    expect((await get('/gallery?made=website', many)).html).not.toContain('>API</span>')
  })

  it('is shown even for an address with fields that make no sense', async () => {
    for (const search of ['model=x&made=y&cursor=z', 'model=99999', 'q=a&q=b', 'cursor=MC4wLjA'])
      expect((await get(`/gallery?${search}`, many)).status).toBe(200)
  })

  it('answers htmx with only the part that changes, and with the address to show', async () => {
    const search = await get('/gallery?q=lighthouse&model=&made=', many, { 'hx-request': 'true' })
    expect(search.html).toMatch(/^<ul class="pictures">/)
    expect(search.headers.get('hx-replace-url')).toBe('/gallery?q=lighthouse')
    const more = await get(nextIn((await get('/gallery', many)).html) as string, many, { 'hx-request': 'true' })
    expect(more.html).toMatch(/^<li class="picture"/)
    const restored = await get('/gallery', many, { 'hx-request': 'true', 'hx-history-restore-request': 'true' })
    expect(restored.html).toMatch(/^<!doctype html>/)
  })

  it('leads to the playground while the account has no images, and never shows other accounts’ images', async () => {
    const { html, slugs } = await get('/gallery', await givenAccount())
    expect(slugs).toEqual([])
    expect(html).toContain('href="/playground"')
  })
})

describe('deleting an image', () => {
  it('takes it out of the gallery at once, and removes it with its files when that can no longer be undone', async () => {
    const { config } = context.service
    const account = await givenAccount([{}, {}])
    const [first = '', second = ''] = account.slugs
    await givenFiles(config, account.slugs)
    expect((await remove(first, many)).status).toBe(404)
    expect((await get('/gallery', account)).slugs).toEqual([first, second])
    const answer = await remove(first, account)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/gallery'])
    const { slugs, html } = await get('/gallery', account)
    expect(slugs).toEqual([second])
    expect(html).toContain('1 image deleted.')
    await until(async () => (await get(`/image/${first}`)).status === 410, 'the removal')
    await until(async () => !(await imageStore(config).exists(first)), 'the removal of the file')
    expect((await get('/gallery', account)).html).not.toContain('deleted.')
    expect((await remove(first, account)).status).toBe(404)
    expect((await remove('x', account)).status).toBe(404)
  })

  it('is refused if another website sends the form', async () => {
    const account = await givenAccount([{}])
    expect((await remove(account.slugs[0] as string, account, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })
})

describe('the page of an image', () => {
  it('shows how the image was made to its owner, and to nobody else', async () => {
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

  it('is downloaded by its owner as PNG, with its parameters or without, or as WebP, named after its prompt', async () => {
    const account = await givenAccount([{ prompt: 'Ein Schloß, im Nebel' }])
    const [slug = ''] = account.slugs
    await givenFiles(context.service.config, account.slugs)
    const download = async (as: string, { cookie }: Account) => {
      const answer = await fetch(`${context.service.url}/image/${slug}/download?as=${as}`, { headers: { cookie } })
      const bytes = Buffer.from(await answer.arrayBuffer())
      return { status: answer.status, disposition: answer.headers.get('content-disposition'), bytes }
    }
    const [full, plain, webp] = [
      await download('parameters', account),
      await download('png', account),
      await download('webp', account),
    ]
    expect(full.disposition).toContain(`filename*=UTF-8''ein-schlo%C3%9F-im-nebel-7.png`)
    expect([full.bytes.includes('Steps: 30'), plain.bytes.includes('Steps: 30')]).toEqual([true, false])
    expect([webp.disposition?.endsWith('.webp'), webp.bytes.subarray(8, 12).toString()]).toEqual([true, 'WEBP'])
    expect((await download('png', many)).status).toBe(404)
    const { html } = await get(`/image/${slug}`, account)
    expect(html).toContain('Sampler: DPM++ 2M, Schedule type: Karras')
    expect(html).toContain('Whoever has the link of this page can see the image')
    expect((await get(`/image/${slug}`)).html).toContain('Make your own')
  })

  it('leads to its neighbours in the gallery, within batches and past removed images', async () => {
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
