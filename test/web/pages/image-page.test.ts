import { beforeAll, describe, expect, it } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { type GivenUser, givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration, standInWorker } from '../../support/stand-in-worker.js'
import { textOf } from '../../support/website-client.js'

const context = useService({ env: { CDN_BASE_URL: 'https://cdn.test/images' } })
const HOSTILE = `</title><script>alert(1)</script> "onload='x' & <b>${'é'.repeat(3)}`
let owner: GivenUser

beforeAll(async () => {
  owner = await givenUser(context.service.db)
})

/** The slug of an image that has been made. */
async function givenImage(modelName = 'Pony Diffusion'): Promise<string> {
  const { slugs } = await givenEndedGeneration(context.service.db, owner, {
    prompt: 'a secret garden',
    negativePrompt: 'no weeds',
    model: { ...MODEL, modelName },
    width: 1024,
    height: 768,
    seed: 123456789,
  })
  return slugs[0] as string
}

async function page(slug: string, method = 'GET') {
  const answer = await fetch(`${context.service.url}/image/${slug}`, { method })
  return { status: answer.status, headers: answer.headers, html: await answer.text() }
}

const propertyOf = (html: string, property: string): string | undefined =>
  new RegExp(`<meta property="${property}" content="([^"]*)"`).exec(html)?.[1]

describe('GET /image/<slug>', () => {
  it('shows the image, its model, seed and size, to anyone', async () => {
    const slug = await givenImage()
    const { status, html } = await page(slug)
    expect(status).toBe(200)
    expect(html).toMatch(/^<!doctype html>/)
    expect(html).toContain(`src="https://cdn.test/images/${slug}.png"`)
    expect(html).toContain('<h1>Pony Diffusion</h1>')
    expect(html).toContain('123456789')
    expect(html).toContain('1024 × 768')
    expect(html).toContain('AI-generated')
  })

  it('has Open Graph tags, for previews where its link is shared', async () => {
    const slug = await givenImage()
    const { html } = await page(slug)
    expect(propertyOf(html, 'og:title')).toBe('Image made with Pony Diffusion')
    expect(propertyOf(html, 'og:type')).toBe('website')
    expect(propertyOf(html, 'og:url')).toBe(`http://easel.test/image/${slug}`)
    expect(propertyOf(html, 'og:image')).toBe(`https://cdn.test/images/${slug}.png`)
    expect(propertyOf(html, 'og:image:type')).toBe('image/png')
    expect(propertyOf(html, 'og:image:width')).toBe('1024')
    expect(propertyOf(html, 'og:image:height')).toBe('768')
    expect(propertyOf(html, 'og:description')).toContain('seed 123456789')
  })

  it('offers the file for download at the server itself: a browser would show one of another host', async () => {
    const slug = await givenImage()
    const { html } = await page(slug)
    expect(html).toContain(`<a class="button" href="/cdn/${slug}.png?download=1" download="${slug}.png">`)
  })

  it('shows neither the prompt nor the user', async () => {
    const { html } = await page(await givenImage())
    for (const secret of ['secret garden', 'weeds', owner.username, owner.id]) expect(html).not.toContain(secret)
  })

  it('lets the browser load nothing but the website’s own files and the image', async () => {
    const { headers } = await page(await givenImage())
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data: https://cdn.test",
      "script-src 'self'",
      "style-src 'self'",
      "style-src-attr 'unsafe-inline'",
    ])
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('shows a hostile model name as text, in the page and in its tags', async () => {
    const { status, html } = await page(await givenImage(HOSTILE))
    expect(status).toBe(200)
    expect(html).not.toContain('<script>')
    expect(html).not.toContain('<b>')
    expect(html).toContain('&lt;/title>&lt;script>alert(1)')
    // No quote ends an attribute early.
    const title = propertyOf(html, 'og:title') ?? ''
    expect(textOf(title)).toBe(`Image made with ${HOSTILE}`)
    expect(html.match(/<title>/g)).toHaveLength(1)
  })

  it('answers a HEAD like a GET, without the page', async () => {
    const { status, headers, html } = await page(await givenImage(), 'HEAD')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(html).toBe('')
  })

  it('is a 404 page where there is no image', async () => {
    for (const slug of [
      newSlug(),
      'x',
      '%3Cscript%3E',
      '%00',
      '..%2f..',
      "'%20OR%201=1--",
      'a'.repeat(8000),
      '%F0%9F%98%80',
    ]) {
      const { status, headers, html } = await page(slug)
      expect(status).toBe(404)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(html).toContain('There is no image at this address')
      expect(html).not.toContain('<script>')
    }
  })

  it('is a 404 page while the image is being made, since nobody can see it yet', async () => {
    const { slugs } = await givenGeneration(context.service.db, owner)
    expect((await page(slugs[0] as string)).status).toBe(404)
    await standInWorker(context.service.db).fail(await standInWorker(context.service.db).claim(), 'x')
    expect((await page(slugs[0] as string)).status).toBe(404)
  })

  it('is a 410 page once the image was removed, without the image', async () => {
    const slug = await givenImage()
    await context.service.db.pool.query(
      `UPDATE images SET removed_at = now(), removed_reason = 'asked' WHERE slug = $1`,
      [slug],
    )
    const { status, html } = await page(slug)
    expect(status).toBe(410)
    expect(html).toContain('Image removed')
    expect(html).not.toContain('.png')
    expect(html).not.toContain('Pony Diffusion')
  })

  it('needs no key and counts towards no rate limit', async () => {
    const slug = await givenImage()
    const answers = await Promise.all(Array.from({ length: 30 }, () => page(slug)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })
})
