import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ConfigError, parseConfig } from '../../src/process/config.js'
import { openSite } from '../../src/process/open-site.js'
import { drawing, FULL_SITE, FULL_SITE_FILES, givenSiteFile } from '../support/given-site.js'

const CDN_BASE_URL = 'https://cdn.example/images'
const open = (env: Record<string, string>) =>
  openSite(
    parseConfig({ DATABASE_URL: 'postgres://db/easel', BASE_URL: 'https://easel.example', CDN_BASE_URL, ...env }),
  )

function refusalOf(content: unknown, files: Record<string, string | Buffer> = {}): string {
  const path = givenSiteFile(content, files)
  try {
    open({ SITE_FILE: path })
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const [start, problem = ''] = (error as Error).message.split(`SITE_FILE: the file ${path} `)
    expect(start).toBe('')
    return problem
  }
  throw new Error('the file was accepted')
}

const picture = { src: '/cdn/x.png', alt: 'x' }
const pictures = (...srcs: string[]) => ({ home: { pictures: srcs.map((src) => ({ src, alt: 'x' })) } })
const link = (href: unknown) => ({ links: { terms: href } })
const A_TEXT = (max: number) =>
  `must be a text of 1 to ${max} characters, or an object with one for each language, like {"en": …, "de": …}, and "en" among them`
const A_LINK =
  'must be a link that begins with https://, http:// or mailto:, or with / for a page of this site, or an object with one for each language, like {"en": …, "de": …}, and "en" among them'
const OTHER_HOST =
  'must be a file beside this one, or begin with / or https://easel.example/ or https://cdn.example/, because pages load images from nowhere else'

/** Of each file: what is said of it. */
const FAULTS: [name: string, content: unknown, problem: string, files?: Record<string, string | Buffer>][] = [
  ['no JSON', '{"name": oops}', 'is not valid JSON from line 1, column 10 on.'],
  ['no object', [], "can't be used: the whole file: must be an object."],
  ['an unknown key', { colour: 'red' }, 'can\'t be used: the whole file: "colour" is not known.'],
  ['an unknown key within', { home: { title: 'x' } }, 'can\'t be used: home: "title" is not known.'],
  ['a name of two lines', { name: 'a\nb' }, "can't be used: name: must have 1 to 40 characters, in one line."],
  ['a name that is none', { name: 7 }, "can't be used: name: must have 1 to 40 characters, in one line."],
  ['an empty text', { home: { headline: ' ' } }, `can't be used: home.headline: ${A_TEXT(80)}.`],
  ['a text too long', { home: { lead: 'x'.repeat(301) } }, `can't be used: home.lead: ${A_TEXT(300)}.`],
  ['a text without English', { home: { lead: { de: 'x' } } }, `can't be used: home.lead: ${A_TEXT(300)}.`],
  ['an unknown language', { home: { lead: { en: 'x', 'De!': 'x' } } }, `can't be used: home.lead: ${A_TEXT(300)}.`],
  ['two pictures', pictures('/a', '/b'), "can't be used: home.pictures: must be three pictures."],
  [
    'a picture without words',
    { home: { pictures: [picture, { src: '/cdn/x.png' }, picture] } },
    `can't be used: home.pictures[1].alt: ${A_TEXT(300)}.`,
  ],
  [
    'a picture elsewhere',
    pictures('https://easel.example/cdn/a.png', 'https://cdn.example/images/a.png', 'https://other.example/a.png'),
    `can't be used: home.pictures[2].src: ${OTHER_HOST}.`,
  ],
  [
    'pictures that lead elsewhere',
    pictures('//other.example/a.png', 'data:image/png;base64,AA', '/\\other.example/a.png'),
    `can't be used: ${[0, 1, 2].map((i) => `home.pictures[${i}].src: ${OTHER_HOST}`).join('; ')}.`,
  ],
  ['a script', link('javascript:alert(1)'), `can't be used: links.terms: ${A_LINK}.`],
  ['another host by slashes', link('//other.example'), `can't be used: links.terms: ${A_LINK}.`],
  ['no link', link('terms'), `can't be used: links.terms: ${A_LINK}.`],
  ['an unknown link', { links: { agb: '/' } }, 'can\'t be used: links: "agb" is not known.'],
  [
    'nine links more',
    { links: { more: Array.from({ length: 9 }, () => ({ label: 'x', href: '/' })) } },
    "can't be used: links.more: must have at most 8 links.",
  ],
  ['one accent', { accent: { light: '#0b5cad' } }, "can't be used: accent.dark: must be a colour like #0b5cad."],
  ['no colour', { accent: 'blue' }, 'can\'t be used: accent: must be {"light": "#…", "dark": "#…"}.'],
  ['no such mark', { mark: 'mark.svg' }, "can't be used: mark: mark.svg can't be read (ENOENT)."],
  [
    'a mark outside of the folder',
    { mark: '../mark.svg' },
    "can't be used: mark: ../mark.svg must be the name of a file in the same folder or below it.",
  ],
  [
    'a mark by its path',
    { mark: '/etc/hostname' },
    "can't be used: mark: /etc/hostname must be the name of a file in the same folder or below it.",
  ],
  [
    'a mark that is no image',
    { mark: 'mark.png' },
    "can't be used: mark: mark.png must be an SVG, PNG, WebP or JPEG image, with the ending of its kind.",
    { 'mark.png': drawing('red') },
  ],
  [
    'a page for a mark',
    { mark: 'mark.svg' },
    "can't be used: mark: mark.svg must be an SVG, PNG, WebP or JPEG image, with the ending of its kind.",
    { 'mark.svg': '<!doctype html><body onload="alert(1)">' },
  ],
  [
    'a large mark',
    { mark: 'mark.svg' },
    "can't be used: mark: mark.svg has 101 KiB, more than 100: make it smaller.",
    { 'mark.svg': drawing('red').padEnd(100 * 1024 + 1) },
  ],
  [
    'a large picture',
    pictures('/a.png', 'large.svg', '/b.png'),
    "can't be used: home.pictures[1].src: large.svg has 2048 KiB, more than 1024: make it smaller.",
    { 'large.svg': drawing('red').padEnd(2048 * 1024) },
  ],
]

describe('a file that says what an installation shows of itself', () => {
  it.each(FAULTS)('with %s stops the start, with one sentence', (_name, content, problem, files) => {
    expect(refusalOf(content, files)).toBe(problem)
  })

  it('that is not there stops the start', () => {
    expect(() => open({ SITE_FILE: '/no/such.json' })).toThrow(
      "SITE_FILE: the file /no/such.json can't be read (ENOENT).",
    )
  })

  it('gives the name, unless SITE_NAME does, which comes first', () => {
    expect(open({}).site.name).toBe('Easel')
    const SITE_FILE = givenSiteFile({ name: 'Atelier' })
    expect(open({ SITE_FILE }).site.name).toBe('Atelier')
    expect(open({ SITE_FILE, SITE_NAME: 'Studio' }).site.name).toBe('Studio')
  })

  it('may look like the one in operators.md', () => {
    const operators = readFileSync(new URL('../../docs/operators.md', import.meta.url), 'utf8')
    const [, example = ''] = /<!-- the site file -->\n```json\n(.*?)```/s.exec(operators) ?? []
    const webp = Buffer.from('RIFF\0\0\0\0WEBP')
    const files = { ...FULL_SITE_FILES, 'lake.webp': webp, 'fox.webp': webp }
    expect(open({ SITE_FILE: givenSiteFile(example, files) }).site.name).toBe('Atelier K')
  })

  it('makes the same addresses of the same content, wherever it lies, so that any server answers for another', () => {
    const [one, other] = [1, 2].map(() => open({ SITE_FILE: givenSiteFile(FULL_SITE, FULL_SITE_FILES) }))
    expect(one).toEqual(other)
    expect(one?.assets.map(({ url }) => url.replace(/\.[\w-]{12}\./, '.HASH.'))).toEqual([
      ...['/assets/site.HASH.svg', '/assets/site.HASH.svg', '/assets/site.HASH.svg', '/assets/accent.HASH.css'],
    ])
  })

  it('may name one picture three times', () => {
    const { site, assets } = open({
      SITE_FILE: givenSiteFile(pictures('a.svg', 'a.svg', 'a.svg'), { 'a.svg': drawing('red') }),
    })
    expect(assets).toHaveLength(1)
    expect(site.home.pictures?.map(({ url }) => url)).toEqual(Array(3).fill(assets[0]?.url))
  })

  it('says where to get a plan only where none is sold', () => {
    const SITE_FILE = givenSiteFile({ links: { plan: 'https://club.example/join' } })
    const selling = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_1' }
    expect(open({ SITE_FILE }).site.planHref).toBe('https://club.example/join')
    expect(open({ SITE_FILE, ...selling }).site.planHref).toBeUndefined()
  })
})

describe('an accent', () => {
  const accentRefusal = (light: string, dark: string) => refusalOf({ accent: { light, dark } })

  it('that cannot be told from what is behind it is refused, with the ratio and what to change', () => {
    expect(accentRefusal('#ffcc00', '#8ec5ff')).toMatch(
      /^can't be used: accent\.light: #ffcc00 has a contrast of 1\.\d\d:1 to .+ \(#[0-9a-f]{6}\), which needs 4\.5:1; take a darker colour\.$/,
    )
    expect(accentRefusal('#0b5cad', '#0b5cad')).toMatch(
      /^can't be used: accent\.dark: #0b5cad has a contrast of \d\.\d\d:1 to .+, which needs 4\.5:1; take a lighter colour\.$/,
    )
    expect(accentRefusal('#ffffff', '#000000')).toMatch(/accent\.light: .+; accent\.dark: .+/)
  })

  it('that is near the limit is refused by the exact ratio', () => {
    // 4.5:1 to the darkest background of the light scheme, and to the lightest of the dark one, lies between two greys each.
    expect(accentRefusal('#686868', '#9a9a9a')).toMatch(
      /^can't be used: accent\.dark: #9a9a9a has a contrast of 4\.\d\d:1/,
    )
    expect(accentRefusal('#696969', '#8ec5ff')).toMatch(
      /^can't be used: accent\.light: #696969 has a contrast of 4\.\d\d:1/,
    )
    expect(
      open({ SITE_FILE: givenSiteFile({ accent: { light: '#686868', dark: '#9b9b9b' } }) }).site.accentUrl,
    ).toBeDefined()
  })

  it('of Easel itself would be accepted', () => {
    const { assets } = open({ SITE_FILE: givenSiteFile({ accent: { light: '#a83c19', dark: '#ff9d6e' } }) })
    expect(assets[0]?.body.toString()).toContain('--accent:light-dark(#a83c19,#ff9d6e)')
  })
})
