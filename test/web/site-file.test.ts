import { beforeAll, describe, expect, it } from 'vitest'
import { givenOperator, givenSession } from '../support/given-sign-in.js'
import { FULL_SITE, FULL_SITE_FILES, givenSiteFile, MARK } from '../support/given-site.js'
import { givenUser, MODEL } from '../support/givens.js'
import { useService } from '../support/service.js'
import { textOf, visit } from '../support/website-client.js'

const context = useService()
let url: string
beforeAll(async () => {
  const SITE_FILE = givenSiteFile(FULL_SITE, FULL_SITE_FILES)
  url = (await context.service.server({}, { SITE_FILE, SIGN_UP: 'open' })).url
})

const get = (path: string, cookie?: string) => visit(url, path, { cookie })
const footerOf = (html: string) => /<footer class="site">.*?<\/footer>/s.exec(html)?.[0] ?? ''
const linksOf = (html: string) => [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => href)

describe('a site with a face of its own', () => {
  it('shows its mark beside the name and as the tab’s icon', async () => {
    const { html } = await get('/sign-in')
    const [, mark] = /<img class="mark" src="([^"]+)"/.exec(html) ?? []
    expect(mark).toMatch(/^\/assets\/site\.[\w-]{12}\.svg$/)
    expect(html).toContain(`<link rel="icon" type="image/svg+xml" href="${mark}"/>`)
    expect(html).toContain('<title>Sign in · Atelier K</title>')
    expect(await get('/favicon.ico')).toMatchObject({ status: 302, location: mark })
  })

  it('serves its images so that nothing in them runs, and browsers keep them', async () => {
    const { html } = await get('/')
    const [mark = '', ...pictures] = [...html.matchAll(/<img [^>]*?src="(\/assets\/site[^"]+)"/g)].map(([, src]) => src)
    expect(pictures).toHaveLength(2)
    for (const image of [mark, ...pictures]) {
      const { headers } = await get(image as string)
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'image/svg+xml',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'public, max-age=31536000, immutable',
      })
    }
    expect((await get(mark)).html).toBe(MARK)
  })

  it('loads the colours of its accent after its other styles, from an address that says what is in it', async () => {
    const { html } = await get('/sign-in')
    const sheets = [...html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href as string)
    expect(sheets.at(-1)).toMatch(/^\/assets\/accent\.[\w-]{12}\.css$/)
    const { html: css, headers } = await get(sheets.at(-1) as string)
    expect(headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(css).toContain('--accent:light-dark(#0b5cad,#8ec5ff)')
  })

  it('has its own words and pictures on the front page, and the way to an account and a plan', async () => {
    const { html } = await get('/')
    expect(html).toContain('<title>Draw with words · Atelier K</title>')
    expect(html).toContain('<h1 dir="auto">Draw with words</h1>')
    expect(html).toContain('<meta name="description" content="For members of the club &amp; their friends."/>')
    const hero = /<section class="hero">.*?<\/section>/s.exec(html)?.[0] ?? ''
    expect([...hero.matchAll(/alt="([^"]+)"/g)].map(([, alt]) => alt)).toEqual([
      ...['a red rectangle', 'a blue rectangle', 'nothing'],
    ])
    expect([...hero.matchAll(/<figcaption[^>]*>([^<]+)</g)].map(([, caption]) => caption)).toEqual(['red'])
    expect(linksOf(hero)).toEqual(['/sign-up', '/sign-in', '/docs', 'https://club.example/join'])
    expect(html).toContain('<a class="button primary" href="/sign-up">')
  })

  it('has its links at the end of every page, for everybody', async () => {
    const { db } = context.service
    const { cookie } = await givenOperator(db)
    const open = ['/', '/sign-in', '/sign-up', '/docs', '/no-such-page'].map((path) => [path] as const)
    const own = ['/playground', '/gallery', '/account', '/operator'].map((path) => [path, cookie] as const)
    for (const [path, session] of [...open, ...own]) {
      const footer = footerOf((await get(path, session)).html)
      expect([path, linksOf(footer)]).toEqual([
        path,
        [
          ...['https://club.example/terms', 'https://club.example/privacy', '/imprint', 'mailto:help@club.example'],
          ...['https://status.club.example', 'https://forum.club.example'],
        ],
      ])
      expect(textOf(footer)).toBe('TermsPrivacyImprintContactStatusForum')
    }
  })

  it('says where to get a plan to who has none, or no credits', async () => {
    const { db } = context.service
    const cookie = await givenSession(db, await givenUser(db, { subscription: null }))
    for (const path of ['/playground', '/account', '/keys'])
      expect([path, linksOf((await get(path, cookie)).html).includes('https://club.example/join')]).toEqual([
        path,
        true,
      ])
    const poor = await givenSession(db, await givenUser(db, { credits: 0 }))
    const refused = await visit(url, '/playground', {
      cookie: poor,
      body: { prompt: 'a lighthouse', model_version_id: String(MODEL.id), shape: '1024x1024', batch_size: '1' },
      headers: { 'hx-request': 'true' },
    })
    expect(refused.status).toBe(402)
    expect(linksOf(refused.html)).toEqual(['/account', 'https://club.example/join'])
  })
})

describe('a site without one', () => {
  it('has Easel’s mark and colours, no footer, and shows how to get an account only if people may', async () => {
    const { html } = await visit(context.service.url, '/')
    expect(html).toContain('<span class="mark" aria-hidden="true"></span>')
    expect(html).toMatch(/rel="icon" type="image\/svg\+xml" href="\/assets\/easel\./)
    expect(html).toContain('<h1 dir="auto">Images from words</h1>')
    for (const absent of ['/assets/accent.', '<footer', 'href="/sign-up"', 'Get a plan'])
      expect(html).not.toContain(absent)
    expect(html).toContain('<a class="button primary" href="/sign-in">')
  })
})
