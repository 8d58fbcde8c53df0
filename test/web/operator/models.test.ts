import sharp from 'sharp'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { inPlace } from '../../../src/core/catalog/model-version.js'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { operatorActionStore } from '../../../src/db/operator/operator-actions.js'
import { givenImages } from '../../support/given-images.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'
import { givenBackend } from './given-console.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>
beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})
beforeEach(async () => {
  const { pool } = context.service.db
  await pool.query('UPDATE model_versions SET cover = NULL, description = NULL, position = NULL, is_default = false')
  await pool.query('DELETE FROM backends')
  await pool.query('DELETE FROM operator_actions')
})

const PATH = '/operator/models'
const OWN = `${PATH}/${MODEL.id}`
const send = (path: string, body?: Record<string, string> | [string, string][]) =>
  visit(context.service.url, path, { body, cookie: operator.cookie })
const versions = () => operatorModelStore(context.service.db).list()
const version = async (id: number = MODEL.id) => (await versions()).find((it) => it.id === id)
const acts = async () =>
  (await operatorActionStore(context.service.db).list({ limit: 100, after: undefined })).items
    .map(({ action, target, reason }) => [action, target, reason])
    .reverse()

describe('the list of models', () => {
  it('stands in the order that people see, which each version changes by one place', async () => {
    const before = inPlace(await versions()).map(({ id }) => id)
    const [first, second, third] = before as [number, number, number]
    expect((await send(`${PATH}/${third}/move`, { by: 'up' })).location).toBe(`${PATH}#model-${third}`)
    await send(`${PATH}/${first}/move`, { by: 'down' })
    expect(
      inPlace(await versions())
        .map(({ id }) => id)
        .slice(0, 3),
    ).toEqual([third, first, second])
    const { html } = await send(PATH)
    expect([...html.matchAll(/<tr id="model-(\d+)"/g)].slice(0, 3).map(([, id]) => Number(id))).toEqual([
      third,
      first,
      second,
    ])
    // The first one stays where it is.
    await send(`${PATH}/${third}/move`, { by: 'up' })
    expect(inPlace(await versions())[0]?.id).toBe(third)
    expect((await send(`${PATH}/987/move`, { by: 'up' })).status).toBe(404)
    expect(await acts()).toEqual([
      ['moved up model version', `${third}`, ''],
      ['moved down model version', `${first}`, ''],
      ['moved up model version', `${third}`, ''],
    ])
  })

  it('says at once that no backend is up, or that none has the file', async () => {
    expect(textOf((await send(PATH)).html)).toContain('no backend is up')
    await givenBackend(context.service.db)
    const text = textOf((await send(PATH)).html)
    expect(text).toContain('no backend has this file')
    expect(text).not.toContain('no backend is up')
  })
})

describe('the page of a model', () => {
  const form = { price: '1', enabled: 'yes', reason: 'to tell people' }

  it('sets its description and makes it the default, and takes both away again', async () => {
    const box: [string, string][] = [
      ['default', 'no'],
      ['default', 'yes'],
    ]
    await send(OWN, [...Object.entries({ ...form, description: 'For <b>photographs</b>' }), ...box])
    expect(await version()).toMatchObject({ description: 'For <b>photographs</b>', isDefault: true })
    const { html } = await send(PATH)
    expect(html).toContain('For &lt;b>photographs&lt;/b>')
    expect(html).toMatch(new RegExp(`ID ${MODEL.id}<span class="badge good">default</span>`))
    expect((await send(OWN)).html).toMatch(/<input id="description"[^>]* value="For &lt;b>photographs/)
    // Another one is the default then.
    await send(`${PATH}/13`, [...Object.entries(form), ...box])
    expect((await versions()).filter(({ isDefault }) => isDefault).map(({ id }) => id)).toEqual([13])
    await send(`${PATH}/13`, { ...form, description: '', default: 'no' })
    await send(OWN, { ...form, description: '' })
    expect(await version()).toMatchObject({ description: null, isDefault: false })
    expect((await versions()).some(({ isDefault }) => isDefault)).toBe(false)
    const why = 'to tell people'
    expect(await acts()).toEqual([
      ['described model version', `${MODEL.id}`, why],
      ['made the default: model version', `${MODEL.id}`, why],
      ['made the default: model version', '13', why],
      ['chose no default model version', '', why],
      ['described model version', `${MODEL.id}`, why],
    ])
    // Nothing that was typed is lost.
    for (const [wrong, sentence] of [
      [{ description: 'x'.repeat(201) }, 'The description is one line of up to 200 characters.'],
      [{ price: '-1' }, 'The price is a whole number'],
      [{ reason: '' }, 'Say why in one line'],
    ] as const) {
      const typed = { ...form, description: 'Half a thought', price: '7', default: 'yes', ...wrong }
      const { status, html } = await send(OWN, typed)
      expect([status, textOf(html)]).toEqual([400, expect.stringContaining(sentence)])
      for (const value of [typed.description, typed.price]) expect(html).toContain(`value="${value}"`)
      expect(html).toMatch(/name="default" value="yes" checked/)
    }
  })

  it('takes a public image by the address of its page, of its file, or by its name', async () => {
    const { db, url } = context.service
    const [slug = ''] = await givenImages(db, await givenUser(db), [{}])
    for (const image of [`${url}/image/${slug}`, `http://easel.test/cdn/${slug}.png`, ` ${slug} `]) {
      await db.pool.query('UPDATE model_versions SET cover = NULL')
      expect((await send(`${OWN}/cover`, { image, reason: 'it shows hands' })).location).toBe(`${OWN}#cover`)
      expect((await version())?.cover).toBe(slug)
    }
    expect((await send(OWN)).html).toContain(`src="/covers/${MODEL.id}/${slug}"`)
    await db.pool.query('UPDATE images SET removed_at = now() WHERE slug = $1', [slug])
    for (const image of [slug, 'x'.repeat(22), 'https://elsewhere.test/a.png', '']) {
      const { status, html } = await send(`${OWN}/cover`, { image, reason: 'it shows hands' })
      expect([status, textOf(html)]).toEqual([400, expect.stringContaining('No public image has this address')])
      if (image) expect(html).toContain(`value="${image}"`)
    }
    const unsaid = await send(`${OWN}/cover`, { image: slug, reason: '' })
    expect([unsaid.status, textOf(unsaid.html)]).toEqual([400, expect.stringContaining('Say why in one line')])
    await send(`${OWN}/cover-remove`, { reason: 'it is gone' })
    expect((await version())?.cover).toBeNull()
    expect((await acts()).at(-1)).toEqual(['removed the cover of model version', `${MODEL.id}`, 'it is gone'])
  })

  const upload = async (file: Blob | undefined, reason = 'a better one', path = OWN) => {
    const body = new FormData()
    if (file) body.set('file', file, 'cover.png')
    body.set('reason', reason)
    const headers = { cookie: operator.cookie, 'sec-fetch-site': 'same-origin' }
    const answer = await fetch(`${context.service.url}${path}/cover-file`, {
      method: 'POST',
      body,
      headers,
      redirect: 'manual',
    })
    return { status: answer.status, location: answer.headers.get('location'), text: textOf(await answer.text()) }
  }
  const picture = (background: string) => sharp({ create: { width: 600, height: 900, channels: 3, background } })

  it.each(['png', 'jpeg', 'webp'] as const)('takes an uploaded %s, encoded anew and small', async (format) => {
    const bytes = await picture('teal')
      .withExif({ IFD0: { Copyright: 'a secret place' } })
      .toFormat(format)
      .toBuffer()
    expect(await upload(new Blob([new Uint8Array(bytes)]))).toMatchObject({ status: 303, location: `${OWN}#cover` })
    const cover = (await version())?.cover
    expect(cover).toMatch(/^[0-9a-f]{32}\.webp$/)
    const answer = await fetch(`${context.service.url}/covers/${MODEL.id}/${cover}`)
    const stored = Buffer.from(await answer.arrayBuffer())
    expect(await sharp(stored).metadata()).toMatchObject({ format: 'webp', width: 384, height: 256 })
    expect(stored.includes('a secret place')).toBe(false)
    expect(await acts()).toEqual([['set the cover of model version', `${MODEL.id}`, 'a better one']])
  })

  it.each<[string, Blob | undefined, string]>([
    ['no file', undefined, 'Choose a file first'],
    ['an empty file', new Blob([]), 'Choose a file first'],
    ['an SVG', new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>']), 'can’t be read as a PNG'],
    ['a damaged PNG', new Blob(['\x89PNG\r\n\x1a\nand no more']), 'can’t be read as a PNG'],
    ['more than 5 MB', new Blob([new Uint8Array(5 * 1024 * 1024 + 1)]), 'larger than 5 MB'],
  ])('refuses %s with a sentence', async (_, file, sentence) => {
    const { status, text } = await upload(file)
    expect([status, text]).toEqual([400, expect.stringContaining(sentence)])
    expect((await version())?.cover).toBeNull()
  })

  it('refuses what is no form, a form without a reason, and who is no operator', async () => {
    const { url, db } = context.service
    expect(await upload(new Blob(['x']), '')).toMatchObject({ status: 400, text: expect.stringContaining('Say why') })
    const headers = {
      cookie: operator.cookie,
      'sec-fetch-site': 'same-origin',
      'content-type': 'multipart/form-data; boundary=x',
    }
    const broken = await fetch(`${url}${OWN}/cover-file`, {
      method: 'POST',
      body: 'no form',
      headers,
      redirect: 'manual',
    })
    expect(broken.status).toBe(400)
    const cookie = await givenSession(db, await givenUser(db))
    const theirs = await fetch(`${url}${OWN}/cover-file`, {
      method: 'POST',
      body: 'x',
      headers: { ...headers, cookie },
    })
    expect(theirs.status).toBe(404)
    expect((await upload(new Blob(['x']), 'why', `${PATH}/987`)).status).toBe(404)
  })
})

describe('an import on the console', () => {
  const ENTRY = {
    ...{ id: 601, name: 'v1', model_name: 'Imported', base_model: 'SDXL', type: 'Checkpoint' },
    ...{ filename: 'imported.safetensors', description: 'Brought by hand', credits_per_image: 2 },
  }
  const bring = (models: unknown, more: Record<string, string> = {}) =>
    send(`${PATH}/import`, {
      models: typeof models === 'string' ? models : JSON.stringify(models),
      reason: 'asked for',
      ...more,
    })
  beforeEach(() => {
    onTestFinished(async () => {
      await context.service.db.pool.query('DELETE FROM model_versions WHERE id BETWEEN 600 AND 699')
    })
  })

  it('adds and updates versions, says how many, and that no backend has the file', async () => {
    await givenBackend(context.service.db)
    const { location } = await bring([ENTRY, { ...ENTRY, id: 602 }])
    expect(location).toBe(`${PATH}?count=2`)
    const text = textOf((await send(`${location}`)).html)
    expect(text).toContain('Imported 2 model versions.')
    expect(text).toMatch(/Imported v1imported\.safetensorsBrought by hand.*no backend has this file/)
    // As /admin/v1 answers them.
    await bring({ models: [{ ...ENTRY, description: null }] })
    expect(await version(601)).toMatchObject({ description: null, creditsPerImage: 2 })
    expect(await acts()).toEqual([
      ['imported 2 model versions', '', 'asked for'],
      ['imported 1 model version', 'imported.safetensors', 'asked for'],
    ])
  })

  it('gives a version that is drawn now what no GPU server can draw only when that is ticked', async () => {
    const { db } = context.service
    await givenBackend(db)
    const { id, name, modelName: model_name, baseModel: base_model, type } = MODEL
    const options = { lora: [{ file: 'detail', strength: 1 }] }
    const entry = { id, name, model_name, base_model, type, filename: MODEL.filename, options }
    onTestFinished(async () => {
      await db.pool.query('UPDATE model_versions SET filename = $2 WHERE id = $1', [MODEL.id, MODEL.filename])
    })
    await db.pool.query('UPDATE backends SET lacks = $1', [
      JSON.stringify({ [`${MODEL.filename.replace(/\.[^.]*$/, '')}@1`]: ['It has no file detail.'] }),
    ])
    const refused = await bring([entry])
    expect(refused.status).toBe(400)
    for (const part of ['No GPU server that is up can draw', 'tick the box below', 'It has no file detail.'])
      expect(textOf(refused.html)).toContain(part)
    expect((await version())?.filename).toBe(MODEL.filename)
    expect((await bring([entry], { anyway: 'yes' })).location).toBe(`${PATH}?count=1`)
    expect((await version())?.filename).toMatch(/@1$/)
  })

  it.each<[unknown, string]>([
    ['', 'The model versions are missing: paste the text of the file.'],
    ['[{', 'The text is not valid JSON'],
    ['{"id": 1}', 'The text must hold a JSON array of model versions.'],
    ['[]', 'The list is empty'],
    [[{ ...ENTRY, nsfw: 'no' }], 'Entry 1: nsfw must be true or false.'],
    [[ENTRY, { ...ENTRY, colour: 'red' }], 'Entry 2: unknown field "colour"'],
    [[{ ...ENTRY, filename: undefined, workflow_file: '/etc/passwd' }], 'is a file of another computer'],
  ])('refuses %j with a sentence, and keeps what was typed', async (models, sentence) => {
    const { status, html } = await bring(models)
    expect([status, textOf(html)]).toEqual([400, expect.stringContaining(sentence)])
    expect(html).toContain('value="asked for"')
    if (models) expect(textOf(html)).toContain(typeof models === 'string' ? models : JSON.stringify(models))
    expect(await version(601)).toBeUndefined()
  })
})
