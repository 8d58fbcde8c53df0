import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { operatorActionStore } from '../../../src/db/operator/operator-actions.js'
import { graphFile, node, sampler, textToImage } from '../../inference/comfyui/workflow/given-graphs.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'
import { HOSTILE } from './given-console.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const PATH = '/operator/models/workflow'
const visitPage = (path: string, body?: Record<string, string>, headers: Record<string, string> = {}) =>
  visit(context.service.url, path, { body, headers, cookie: operator.cookie })
const FORM = {
  ...{ id: '301', model_name: 'FLUX.1', name: 'dev', base_model: 'Flux', credits_per_image: '2' },
  ...{ workflow: JSON.stringify(textToImage()), reason: 'asked for by many' },
}
const check = (changes: Record<string, string> = {}) => visitPage(PATH, { ...FORM, ...changes, action: 'check' })
const bring = (changes: Record<string, string> = {}) => visitPage(PATH, { ...FORM, ...changes, action: 'import' })
const versions = () => operatorModelStore(context.service.db).list()
const version = async (id: number) => (await versions()).find((it) => it.id === id)

/** A backend that says for a minute, whenever it is asked, what it can draw and what it lacks. */
async function givenAnnounced({ models, lacks }: { models: string[]; lacks?: ReadonlyMap<string, readonly string[]> }) {
  const { db } = context.service
  const serves = { models, samplers: [], maxSeed: 4294967295, sizeMultiple: 8 }
  const condition = { loaded: undefined, error: undefined, lacks }
  await backendRegistry(db).announce('gpu-7', 'comfyui+http://gpu-7', true, serves, condition)
  await db.pool.query(`UPDATE backends SET seen_at = now() + interval '1 minute'`)
  onTestFinished(async () => void (await db.pool.query('DELETE FROM backends')))
}

/** What a text field of the page holds. */
const fieldIn = (html: string, id: string) =>
  textOf(
    (new RegExp(`<textarea id="${id}"[^>]*>(.*?)</textarea>`, 's').exec(html) ??
      new RegExp(`<input id="${id}"[^>]* value="([^"]*)"`).exec(html))?.[1] ?? '',
  )

describe('the check of a workflow', () => {
  it('says what easel workflow check says, keeps what was typed, and stores nothing', async () => {
    const before = await versions()
    const workflow = graphFile('f2-sampler-custom-advanced-basic-flux-style')
    const { status, html } = await check({ workflow, reason: '', id: '' })
    expect(status).toBe(200)
    const text = textOf(html)
    for (const part of [
      'prompttext of "CLIP Text Encode (Positive Prompt)" (CLIPTextEncode, node 6)',
      'negativenothing',
      'seednoise_seed of "RandomNoise" (RandomNoise, node 25)',
      'steps: 4',
      'negative_prompt has no effect: ',
      'Node classes',
      'noise-nano.safetensors, for "Load Checkpoint" (CheckpointLoaderSimple, node 4)',
    ])
      expect(text).toContain(part)
    expect(fieldIn(html, 'workflow')).toBe(workflow)
    expect(fieldIn(html, 'model_name')).toBe('FLUX.1')
    expect(await versions()).toEqual(before)
  })

  it('shows a node’s title as text, whatever is in it', async () => {
    const title = `</dd><script>alert(1)</script>${HOSTILE}`
    const { html } = await check({ workflow: JSON.stringify(textToImage({ '3': sampler({}, title) })) })
    expect(html).not.toMatch(/<script>alert|<img src=x/)
    expect(textOf(html)).toContain('seed of "</dd><script>alert(1)</script>')
  })

  it.each([
    ['no text', { workflow: ' ' }, 'The workflow is missing: paste'],
    ['no JSON', { workflow: 'a cat' }, 'The workflow is not JSON'],
    ['the editor’s format', { workflow: '{"nodes": [], "links": []}' }, 'Export (API)'],
    ['an image as input', { workflow: graphFile('k-img2img') }, 'loads an image or another file as input'],
  ])('refuses %s in one sentence', async (_, changes, sentence) => {
    const { status, html } = await check(changes)
    expect(status).toBe(400)
    expect(textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')).toContain(sentence)
    expect(fieldIn(html, 'reason')).toBe(FORM.reason)
  })

  it('lets a node class pass that the operator allows, one a line', async () => {
    const reaching = node('VAELoaderFromUrl', { url: 'https://models.test/vae.safetensors' })
    const decode = node('VAEDecode', { samples: ['3', 0], vae: ['10', 0] })
    const workflow = JSON.stringify(textToImage({ '8': decode, '10': reaching }))
    expect((await check({ workflow })).html).toContain('--allow-node')
    expect((await check({ workflow, allow_nodes: 'Other (rgthree)\r\n VAELoaderFromUrl \r\n' })).status).toBe(200)
  })

  it('takes a workflow far beyond the 64 KiB of other forms, and says how much is too much', async () => {
    const notes = Array.from({ length: 2500 }, (_, n) => [
      `${n + 20}`,
      node('Note', { text: 'It is long. '.repeat(25) }),
    ])
    const large = textToImage(Object.fromEntries(notes))
    expect(JSON.stringify(large).length).toBeGreaterThan(800_000)
    expect((await check({ workflow: JSON.stringify(large) })).status).toBe(200)
    const { status, html } = await check({ workflow: 'x'.repeat(2 * 1024 * 1024) })
    expect([status, textOf(html)]).toEqual([413, expect.stringContaining('larger than 2048 KiB')])
    const other = await visitPage(`/operator/models/${MODEL.id}`, { reason: 'x'.repeat(70_000) })
    expect([other.status, textOf(other.html)]).toEqual([413, expect.stringContaining('larger than 64 KiB')])
  })
})

describe('the import of a workflow', () => {
  it('adds a version with the workflow’s own values, records who and why, and leads to the list', async () => {
    const { status, location } = await bring({ nsfw: 'yes' })
    expect([status, location]).toEqual([303, '/operator/models?imported=301&change=new'])
    expect(await version(301)).toMatchObject({
      ...{ modelName: 'FLUX.1', name: 'dev', baseModel: 'Flux', type: 'Workflow', filename: 'flux.1-dev@1' },
      ...{ nsfw: true, enabled: true, creditsPerImage: 2 },
      parameters: { defaults: { width: 512, height: 768, steps: 20 } },
    })
    const [act] = (await operatorActionStore(context.service.db).list({ limit: 1, after: undefined })).items
    expect(act).toMatchObject({
      ...{ actor: operator.username, reason: FORM.reason },
      ...{ action: 'imported 1 model version', target: 'flux.1-dev@1' },
    })
    await givenAnnounced({ models: ['flux.1-dev@1'] })
    const { url } = await context.service.server()
    const list = await visit(url, `${location}`, { cookie: operator.cookie })
    expect(textOf(list.html)).toContain(
      'Version 301 is new and draws with flux.1-dev@1; served by comfyui+http://gpu-7.',
    )
    expect(/<tr>(?:(?!<tr>).)*flux\.1-dev@1.*?<\/tr>/s.exec(list.html)?.[0]).toContain('comfyui+http://gpu-7')
  })

  it('replaces what is drawn by what no GPU server can draw only when that is ticked, and says what they lack', async () => {
    await bring({ id: '305', name: 'safe' })
    const lacks = 'It has no "new.safetensors" for ckpt_name of <b>: put that file where the server looks for it.'
    await givenAnnounced({ models: ['flux.1-safe@1'], lacks: new Map([['flux.1-safe@2', [lacks]]]) })
    const workflow = JSON.stringify(textToImage({ '3': sampler({ steps: 9 }) }))
    const form = { version: '305', id: '', name: 'safe', workflow }
    const { status, html } = await bring(form)
    expect(status).toBe(400)
    expect(textOf(html)).toContain(
      'No GPU server that is up can draw flux.1-safe@2, and version 305 is drawn with flux.1-safe@1',
    )
    expect(textOf(html)).toContain(`comfyui+http://gpu-7: ${lacks}`)
    expect(html).toContain('name="anyway"')
    expect((await version(305))?.filename).toBe('flux.1-safe@1')
    const meant = await bring({ ...form, anyway: 'yes' })
    expect([meant.status, meant.location]).toEqual([303, '/operator/models?imported=305&change=moved'])
    const list = textOf((await visitPage(`${meant.location}`)).html)
    expect(list).toContain('Version 305 draws with flux.1-safe@2 now; no GPU server that is up can draw it.')
    expect(list).toContain(`no backend can draw itcomfyui+http://gpu-7: ${lacks}`)
    const back = await bring({ version: '305', id: '', name: 'safe' })
    expect(back.location).toBe('/operator/models?imported=305&change=back')
  })

  it('proposes the next ID, and never touches a version that has the ID already', async () => {
    const highest = Math.max(...(await versions()).map(({ id }) => id))
    expect(fieldIn((await visitPage(PATH)).html, 'id')).toBe(`${highest + 1}`)
    const before = await version(MODEL.id)
    const { status, html } = await bring({ id: `${MODEL.id}` })
    expect([status, textOf(html)]).toEqual([400, expect.stringContaining(`Model version ${MODEL.id} exists already`)])
    expect(await version(MODEL.id)).toEqual(before)
    const answers = await Promise.all([1, 2, 3].map((n) => bring({ id: '400', name: `v${n}` })))
    expect(answers.map((it) => it.status).sort()).toEqual([303, 400, 400])
  })

  it('gives a chosen version its next revision, and keeps what the form does not ask for', async () => {
    await bring({ id: '302', name: 'pro' })
    const limits = { steps: { min: 1, max: 30 } }
    await context.service.db.pool.query(
      `UPDATE model_versions SET enabled = false, pricing = '{"creditsPerStep": 0.5}',
         parameters = parameters || $1 WHERE id = 302`,
      [{ limits }],
    )
    const { html } = await visitPage(`${PATH}?version=302`)
    expect([fieldIn(html, 'model_name'), fieldIn(html, 'name')]).toEqual(['FLUX.1', 'pro'])
    expect(html).not.toContain('id="id"')
    const workflow = JSON.stringify(textToImage({ '3': sampler({ steps: 8 }) }))
    expect((await bring({ version: '302', id: '', name: 'pro 2', workflow })).status).toBe(303)
    expect(await version(302)).toMatchObject({
      ...{ name: 'pro 2', filename: 'flux.1-pro@2', enabled: false, pricing: { creditsPerStep: 0.5 } },
      parameters: { limits, defaults: { steps: 8 } },
    })
    const beyond = JSON.stringify(textToImage({ '3': sampler({ steps: 31 }) }))
    const refused = await bring({ version: '302', id: '', name: 'pro 3', workflow: beyond })
    expect(textOf(refused.html)).toContain('The default steps 31 is outside its own limits, 1 to 30.')
    // Whatever ID is sent besides.
    await bring({ version: '302', id: `${MODEL.id}`, name: 'pro 4', workflow })
    expect([(await version(302))?.name, (await version(MODEL.id))?.filename]).toEqual(['pro 4', MODEL.filename])
  })

  it('makes a version of a checkpoint draw with a workflow', async () => {
    const { rows } = await context.service.db.pool.query('SELECT max(id)::int AS id FROM model_versions WHERE id < 100')
    const { id } = rows[0]
    expect((await bring({ version: `${id}`, name: 'as a workflow' })).status).toBe(303)
    expect((await version(id))?.filename).toBe('flux.1-as-a-workflow@1')
  })

  it('calls the file of a version whose names have no letters by its ID', async () => {
    await bring({ id: '304', model_name: '🔥', name: '✨' })
    expect((await version(304))?.filename).toBe('workflow-304@1')
  })

  it('stores the scale that a workflow does not say', async () => {
    const workflow = JSON.stringify(
      textToImage({
        '9': node('SaveImage', { filename_prefix: 'x', images: ['10', 0] }),
        '10': node('ImageUpscaleWithModel', { upscale_model: ['11', 0], image: ['8', 0] }),
        '11': node('UpscaleModelLoader', { model_name: '4x.pth' }),
      }),
    )
    expect(textOf((await check({ workflow })).html)).toContain('an import needs the scale')
    const refused = await bring({ id: '303', name: 'large', workflow })
    expect(textOf(refused.html)).toContain('does not say how large its image is')
    await bring({ id: '303', name: 'large', workflow, scale: '4' })
    expect((await version(303))?.parameters).toMatchObject({ scale: 4 })
  })

  it.each([
    ['no reason', { reason: ' ' }, 'Say why in one line'],
    ['no name', { name: '' }, 'The name must be one line of 1 to 255 characters.'],
    ['a model name of two lines', { model_name: 'a\nb' }, 'The model name must be one line'],
    ['an empty base model', { base_model: ' ' }, 'The base model must be one line'],
    ['half an ID', { id: '1.5' }, 'The ID must be a whole number from 1.'],
    ['no ID', { id: '' }, 'The ID must be a whole number from 1.'],
    ['no price', { credits_per_image: '' }, 'The credits per image must be a whole number from 0 to 1000000.'],
    ['a price in words', { credits_per_image: 'two' }, 'The credits per image must be a whole number'],
    ['a scale of 9', { scale: '9' }, 'The scale must be a number from 0.125 to 8.'],
    [
      'a size that is not taken',
      {
        workflow: JSON.stringify(
          textToImage({ '5': node('EmptyLatentImage', { width: 4096, height: 768, batch_size: 1 }) }),
        ),
      },
      'In the workflow, width must be a whole number from 256 to 2048: change it in ComfyUI',
    ],
  ])('refuses %s in one sentence, keeps what was typed, and stores nothing', async (_, changes, sentence) => {
    const before = await versions()
    const { status, html } = await bring({ id: '500', ...changes })
    expect(status).toBe(400)
    expect(textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')).toContain(sentence)
    expect(fieldIn(html, 'workflow')).toBe({ ...FORM, ...changes }.workflow)
    expect(await versions()).toEqual(before)
  })

  it('is refused from another site', async () => {
    const { status } = await visitPage(
      PATH,
      { ...FORM, id: '501', action: 'import' },
      { 'sec-fetch-site': 'cross-site' },
    )
    expect([status, await version(501)]).toEqual([403, undefined])
  })
})
