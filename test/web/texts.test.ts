import { readdir, readFile } from 'node:fs/promises'
import ts from 'typescript'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { promptFlagged } from '../../src/core/errors.js'
import { BACKEND_FAULTS } from '../../src/core/generations/run/backend.js'
import { LACKING } from '../../src/core/generations/servable.js'
import { requestFor } from '../../src/core/generations/submit/requested.js'
import { askedOf, generateBody, requestFields } from '../../src/http/personal-api/generations/submit-schemas.js'
import { failure } from '../../src/inference/backend-failure.js'
import { accountRefusals } from '../../src/web/texts/de/account-refusals.js'
import { refusals } from '../../src/web/texts/de/refusals.js'
import { inWords } from '../../src/web/texts/refusals.js'
import { en, LANGUAGES, mailTextsOf, textsFor, textsIn } from '../../src/web/texts/texts.js'
import { givenSession } from '../support/given-sign-in.js'
import { givenUser, MODEL } from '../support/givens.js'
import { useService } from '../support/service.js'
import { visit } from '../support/website-client.js'

const asks = (acceptLanguage?: string, language: string | null = null) =>
  textsFor({ headers: { 'accept-language': acceptLanguage }, signedIn: language ? ({ language } as never) : null }, [
    'en',
    'de',
  ]).language

describe('the language of a page', () => {
  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['fr', 'en'],
    ['de', 'de'],
    ['de-AT,en;q=0.5', 'de'],
    ['en;q=0.5,DE;q=0.8', 'de'],
    ['de;q=0,en', 'en'],
    ['fr,*;q=0.1', 'en'],
    ['de;q=nonsense', 'en'],
    [',;=,de', 'de'],
  ])('is, for a browser that sends %o, %s', (header, language) => expect(asks(header)).toBe(language))

  it('is the one that the account remembers, as long as the site offers it', () => {
    expect(asks('en', 'de')).toBe('de')
    expect(asks('de', 'fr')).toBe('de')
  })

  it('is the first of the site where the browser likes none of them', () => {
    expect(textsFor({ headers: {}, signedIn: null }, ['de', 'en']).language).toBe('de')
    expect(textsFor({ headers: { 'accept-language': 'de' }, signedIn: null }, ['en']).language).toBe('en')
  })
})

/** Every text that stands somewhere, by its path. */
function textsAt(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, it]) => textsAt(it, `${path}.${name}`))
}

describe.each(LANGUAGES.filter((it) => it !== 'en'))('the texts in %s', (language) => {
  it('leave none out, and say none in English', () => {
    const mine = new Map(textsAt(textsIn(language)))
    expect([...mine].filter(([, text]) => text.trim() === '')).toEqual([])
    const same = textsAt(en).filter(([path, text]) => mine.get(path) === text)
    // Words that both languages have.
    expect(same.map(([, text]) => text)).toSatisfy((texts: string[]) => texts.every((text) => SHARED.test(text)))
  })
})

const SHARED =
  /^(Website|Webhooks?|Status|Credits?|Name|URL|Seed|Sampler|Prompt|Remix|API|Guidance \(CFG\)|Personal Access API|Website und API)$/

describe('the texts of a mail', () => {
  const textsIn = mailTextsOf(['en', 'de'])

  it('are in the first language that the site offers', () => {
    expect(textsIn('de').language).toBe('de')
    expect(textsIn(null, 'de').language).toBe('de')
    expect(textsIn('en', 'de').language).toBe('en')
    expect(textsIn('fr', 'de').language).toBe('de')
  })

  it('are in the usual language of the site where it offers none of them', () => {
    expect(textsIn(null, 'fr').language).toBe('en')
    expect(mailTextsOf(['de', 'en'])().language).toBe('de')
    expect(mailTextsOf(['en'])('de').language).toBe('en')
  })
})

describe('a refusal', () => {
  it('is said in German where it is known, with what differs in its place', () => {
    const sentence = 'You have a folder named "$& {}.*": choose another name.'
    expect(inWords(sentence, { language: 'de' })).toBe(
      'Du hast schon einen Ordner namens „$& {}.*“: Wähle einen anderen Namen.',
    )
  })

  it('is said in English where it is not', () => {
    expect(inWords('batch_size is too large.', { language: 'de' })).toBe('The number of images is too large.')
  })

  it('names a field of the form in German', () => {
    const said = inWords('cfg_scale must be a number from 1 to 30.', { language: 'de' })
    expect(said).toBe('Guidance: Gib eine Zahl von 1 bis 30 ein.')
  })

  it.each([
    [{ sampler: 'pencil' }, /^Sampler: Möglich sind \w+, /],
    [{ width: 300 }, 'Breite: Gib ein Vielfaches von 8 ein.'],
    [{ width: 4096 }, 'Breite: Gib eine ganze Zahl von 256 bis 2048 ein.'],
    [{ width: 2048, height: 2048 }, 'Breite × Höhe darf höchstens 3145728 Pixel sein (wie 2048 × 1536).'],
    [{ batch_size: 9 }, 'Zahl der Bilder: Gib eine ganze Zahl von 1 bis 4 ein.'],
    [{ steps: Number.NaN }, 'Zahl der Schritte: Gib eine ganze Zahl von 1 bis 100 ein.'],
    [{ cfg_scale: 31 }, 'Guidance: Gib eine Zahl von 0 bis 30 ein.'],
    [{ seed: -2 }, /^Seed: Gib eine ganze Zahl von 0 bis \d+ ein, oder -1 für einen zufälligen\.$/],
    [{ prompt: 'x'.repeat(2001) }, 'Prompt: Höchstens 2000 Zeichen sind möglich.'],
    [{ negative_prompt: '\0' }, /^Negativer Prompt: Der Text hat Zeichen, die nicht gespeichert werden können\./],
    [{ model_version_id: undefined }, 'Wähle ein Modell.'],
  ])('of the form of Create with %o is said in German', (fields, sentence) => {
    const { error } = generateBody.safeParse({ prompt: 'a lighthouse', model_version_id: 1, ...fields })
    expect(inWords(error?.issues[0]?.message ?? '', { language: 'de' })).toMatch(sentence)
  })

  it('of a model with fewer pixels is said in German', () => {
    const asked = askedOf(z.object(requestFields).parse({ prompt: 'a lighthouse', width: 2048, height: 1024 }))
    const sentence = 'width × height must be at most 1048576 pixels for Small 1.5.'
    const model = { modelName: 'Small', name: '1.5', parameters: { scale: 4 } }
    expect(() => requestFor(model, asked)).toThrow(sentence)
    expect(inWords(sentence, { language: 'de' })).toBe(
      'Breite × Höhe darf höchstens 1048576 Pixel sein, so verlangt es Small 1.5.',
    )
  })

  it('of a GPU server, and why no server can draw something, is said in German', () => {
    const ofServers = BACKEND_FAULTS.map((kind) => failure(kind, 'not for people').publicMessage)
    const sentences = [...ofServers, ...Object.values(LACKING).map((it) => it.replace('%', '7'))]
    const inGerman = sentences.map((sentence) => inWords(sentence, { language: 'de' }))
    expect(inGerman.filter((sentence) => !/GPU-Server|Generierung|der GPU/.test(sentence))).toEqual([])
    expect(inWords(LACKING.sampler.replace('%', 'dpmpp_2m'), { language: 'de' })).toContain('Den Sampler „DPM++ 2M“')
  })

  it('of a workflow that cannot be drawn so is said in German', () => {
    const sentences = [
      'width and height must be multiples of 16 for this model.',
      'This model is not set up correctly and cannot be drawn with these settings.',
    ]
    expect(sentences.map((sentence) => inWords(sentence, { language: 'de' }))).toEqual([
      'Breite und Höhe: Gib Vielfache von 16 ein, so verlangt es dieses Modell.',
      'Dieses Modell ist nicht richtig eingerichtet und kann mit diesen Einstellungen nicht gezeichnet werden.',
    ])
  })

  it('of moderation names a category that is known in German, and no other one', () => {
    const of = (category: string, words: string[]) =>
      inWords(promptFlagged('prompt', category, words).message, { language: 'de' })
    expect(of('sexual violence', ['raping'])).toContain('abgelehnt: sexuelle Gewalt (gefunden: "raping").')
    expect(of('violence', [])).toContain('abgelehnt: Gewalt. Formuliere ihn um')
    expect(of('house rules', [])).toContain('abgelehnt: house rules. Formuliere')
    const folder = inWords('You have a folder named "violence": choose another name.', { language: 'de' })
    expect(folder).toContain('„violence“')
  })

  it('of the list is one that the source has, so that a sentence that changes is changed here, too', async () => {
    const root = new URL('../../src/', import.meta.url)
    const files = (await readdir(root, { recursive: true })).filter(
      (it) => /\.tsx?$/.test(it) && !it.startsWith('web/texts/'),
    )
    const sources = await Promise.all(files.map((file) => readFile(new URL(file, root), 'utf8')))
    const source = sources.join('\n').replaceAll(/\$\{[^}]*\}|%/g, '{}')
    const sentences = [...refusals, ...accountRefusals].map(([english]) => english.replaceAll('{name}', '{}'))
    expect(sentences.filter((sentence) => !source.includes(sentence))).toEqual([])
  })
})

/** Pages and parts that are for operators, or show the API's English reference. */
const ENGLISH = /operator-(?:keys|forms)|parts\/(?:reference|samples)/
/** The same in every language. */
const NAMES = ['https://example.com/easel', 'API', 'EASEL_KEY', 'HTTP', 'llms.txt', 'Markdown', 'OpenAPI 3.1']

it('a page has no words of its own: all are in web/texts', async () => {
  const root = new URL('../../src/web/', import.meta.url)
  const files = (await readdir(root, { recursive: true })).filter(
    (it) => /^(?:pages|parts)\/.*\.tsx$/.test(it) && !ENGLISH.test(it),
  )
  const found: string[] = []
  for (const file of files) {
    const text = await readFile(new URL(file, root), 'utf8')
    const note = (words: string) => {
      if (/\p{L}{2}/u.test(words) && !NAMES.includes(words.trim())) found.push(`${file}: ${words.trim()}`)
    }
    const walk = (node: ts.Node): void => {
      if (ts.isJsxText(node)) note(node.text)
      if (ts.isStringLiteralLike(node) && isShown(node)) note(node.text)
      ts.forEachChild(node, walk)
    }
    walk(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX))
  }
  expect(found).toEqual([])
})

/** Whether it is a child of an element, or what `? :` and `&&` choose as one; or an attribute that is read out. */
function isShown(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isConditionalExpression(parent)) return node !== parent.condition && isShown(parent)
  if (ts.isBinaryExpression(parent)) return /^(?:&&|\|\||\?\?)$/.test(parent.operatorToken.getText()) && isShown(parent)
  if (ts.isJsxExpression(parent)) return ts.isJsxAttribute(parent.parent) ? isShown(parent) : true
  return ts.isJsxAttribute(parent) && /^(?:aria-label|title|placeholder|alt|label|heading)$/.test(parent.name.getText())
}

describe('the website', () => {
  const context = useService({ env: { SITE_LANGUAGES: 'en,de' } })

  it('speaks the language of the browser until the account chooses another, and again after that', async () => {
    const { db, url } = context.service
    const cookie = await givenSession(db, await givenUser(db))
    const german = { 'accept-language': 'de-DE,de;q=0.9,en;q=0.5' }
    const heading = async (headers: Record<string, string>) => {
      const { html } = await visit(url, '/gallery', { cookie, headers })
      return [/<html lang="(\w+)"/.exec(html)?.[1], /<h1[^>]*>([^<]*)</.exec(html)?.[1]]
    }
    expect(await heading(german)).toEqual(['de', 'Galerie'])
    expect(await heading({})).toEqual(['en', 'Gallery'])
    await visit(url, '/account/language', { cookie, body: [['language', 'en']] })
    expect(await heading(german)).toEqual(['en', 'Gallery'])
    await visit(url, '/account/language', { cookie, body: [['language', 'de']] })
    expect(await heading({})).toEqual(['de', 'Galerie'])
    await visit(url, '/account/language', { cookie, body: [['language', '']] })
    expect(await heading({})).toEqual(['en', 'Gallery'])
  })

  it('says what it refuses, and that a page is missing, in that language', async () => {
    const { db, url } = context.service
    const cookie = await givenSession(db, await givenUser(db))
    const headers = { 'accept-language': 'de' }
    const refused = await visit(url, '/gallery/folders', { cookie, headers, body: [['name', ' ']] })
    expect(refused.html).toContain('Gib dem Ordner einen Namen mit 1 bis')
    const unnamed = await visit(url, '/keys', { cookie, headers, body: [['name', ' ']] })
    expect(unnamed.html).toContain('Gib dem Schlüssel einen Namen mit 1 bis')
    const nowhere = await visit(url, '/webhooks', { cookie, headers, body: [['url', 'ftp://example.com']] })
    expect(nowhere.html).toContain('Wähle ein oder mehrere Ereignisse.')
    const inside = [
      ['url', 'https://localhost/'],
      ['events', 'credits.low'],
    ] as const
    expect((await visit(url, '/webhooks', { cookie, headers, body: inside })).html).toContain(
      'URL: Gib eine öffentliche Adresse an; diese liegt in einem internen Netz.',
    )
    const unknownDay = await visit(url, '/usage?from=yesterday', { cookie, headers })
    expect(unknownDay.html).toContain('Von: Gib einen Tag ein, wie 2026-01-31.')
    const missing = await visit(url, '/no-such-page', { headers })
    expect(missing.html).toContain('Unter dieser Adresse gibt es keine Seite.')
    expect(missing.html).toContain('<html lang="de">')
    const notAllowed = await visit(url, '/sign-out', { headers })
    expect(notAllowed.html).toContain('Die Methode GET ist für /sign-out nicht erlaubt: Verwende POST.')
  })

  it('follows a generation in that language, too', async () => {
    const { db, url } = context.service
    const cookie = await givenSession(db, await givenUser(db))
    const headers = { 'accept-language': 'de' }
    const form = [
      ['prompt', 'a lighthouse'],
      ['model_version_id', `${MODEL.id}`],
      ['batch_size', '1'],
    ] as const
    await visit(url, '/playground', { cookie, headers, body: form })
    const { html } = await visit(url, '/playground', { cookie, headers })
    expect(html).toContain('in der Warteschlange')
    const events = /hx-sse:connect="([^"]+)"/.exec(html)?.[1]
    const answer = await fetch(`${url}${events}`, { headers: { ...headers, cookie } })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    onTestFinished(() => reader?.cancel())
    let told = ''
    while (!told.includes('</hx-partial>')) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (done) break
      told += value
    }
    expect(told).toContain('in der Warteschlange')
  })
})
