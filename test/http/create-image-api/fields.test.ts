import { describe, expect, it } from 'vitest'
import { call, expectCreateError } from '../../support/client.js'
import { chargesOf, type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const create = ({ key }: GivenUser, body: unknown) =>
  call(context.service.url, 'POST', '/v1/images/generate', { key, body })

/** The row that a request becomes, its generation brought to an end. */
async function rowFor(body: object) {
  const { db } = context.service
  const owner = await givenUser(db)
  const answer = create(owner, body)
  const worker = standInWorker(db)
  const claimed = await worker.claim()
  await worker.succeed(claimed)
  expect(await answer).toMatchObject({ status: 200 })
  const { rows } = await db.pool.query(
    'SELECT g.*, m.create_image_model FROM generations g JOIN model_versions m ON m.id = g.model_version_id WHERE g.user_id = $1',
    [owner.id],
  )
  expect(rows).toHaveLength(1)
  return rows[0]
}

const NOTHINGS = {
  negative_prompt: null,
  model: null,
  steps: null,
  cfg_scale: null,
  width: null,
  height: null,
  sampler: null,
  seed: null,
}
const P = { prompt: 'a lighthouse at dusk' }

describe('the generation of a Create Image request', () => {
  it.each([
    ['left out', P],
    ['null', { ...P, ...NOTHINGS }],
  ])('has the spec’s defaults for fields that are %s', async (_name, body) => {
    expect(await rowFor(body)).toMatchObject({
      lane: 'create_image',
      prompt: P.prompt,
      negative_prompt: '',
      create_image_model: 'noobai-xl',
      steps: 28,
      cfg_scale: 7,
      width: 832,
      height: 1216,
      sampler: 'dpmpp_2m_karras',
      batch_size: 1,
      cost: 1,
      metered: false,
    })
  })

  it.each([
    ['the smallest', { steps: 20, cfg_scale: 1, width: 256, height: 256, seed: 0 }],
    ['the largest', { steps: 50, cfg_scale: 20, width: 2048, height: 1536, seed: 4294967295 }],
    ['fractional guidance', { cfg_scale: 6.25 }],
    ['texts of 2000 characters', { prompt: '😀'.repeat(2000), negative_prompt: 'x'.repeat(2000) }],
    [
      'texts in any script, with line breaks and tabs',
      { prompt: 'ein Bär,\nمنارة\tат закате 灯台', negative_prompt: '' },
    ],
  ])('has what was asked for: %s', async (_name, values) => {
    expect(await rowFor({ ...P, ...values })).toMatchObject(values)
  })

  it.each(['noobai-xl', 'duchaiten', 'duchaiten-real', 'hassaku-illustrious', 'wai-nsfw-illustrious', 'plant-milk'])(
    'has the model version that serves %s',
    async (model) => {
      expect(await rowFor({ ...P, model })).toMatchObject({ create_image_model: model })
    },
  )

  it.each([
    ['euler-a', 'euler_a'],
    ['dpm-2m-karras', 'dpmpp_2m_karras'],
    ['dpm-sde-karras', 'dpmpp_sde_karras'],
    ['ddim', 'ddim'],
  ])('has for the sampler %s our %s', async (asked, sampler) => {
    expect(await rowFor({ ...P, sampler: asked })).toMatchObject({ sampler })
  })
})

describe('a Create Image request', () => {
  it.each<[string, unknown, string, RegExp]>([
    ['no prompt', {}, 'prompt', /^prompt is required/],
    ['a prompt that is null', { prompt: null }, 'prompt', /^prompt is required/],
    ['a prompt that is no string', { prompt: 5 }, 'prompt', /^prompt must be a string/],
    ['a blank prompt', { prompt: ' \n\u3000' }, 'prompt', /^prompt is required/],
    ['2001 characters', { prompt: '😀'.repeat(2001) }, 'prompt', /^prompt must be at most 2000 characters/],
    ['a NUL character', { prompt: 'a\0b' }, 'prompt', /^prompt must be valid Unicode text/],
    ['a lone surrogate', '{"prompt":"a\\udc00"}', 'prompt', /^prompt must be valid Unicode text/],
    [
      'a negative prompt that is no string',
      { ...P, negative_prompt: {} },
      'negative_prompt',
      /^negative_prompt must be a string/,
    ],
    [
      'a long negative prompt',
      { ...P, negative_prompt: 'x'.repeat(2001) },
      'negative_prompt',
      /^negative_prompt must be at most 2000/,
    ],
    ['an unknown model', { ...P, model: 'sdxl' }, 'model', /^model must be one of: noobai-xl, /],
    ['a model as a number', { ...P, model: 1 }, 'model', /^model must be one of: /],
    ['19 steps', { ...P, steps: 19 }, 'steps', /^steps must be an integer from 20 to 50/],
    ['51 steps', { ...P, steps: 51 }, 'steps', /^steps must be an integer from 20 to 50/],
    ['half a step', { ...P, steps: 20.5 }, 'steps', /^steps must be an integer from 20 to 50/],
    ['steps as text', { ...P, steps: '28' }, 'steps', /^steps must be an integer from 20 to 50/],
    ['guidance below 1', { ...P, cfg_scale: 0.99 }, 'cfg_scale', /^cfg_scale must be a number from 1 to 20/],
    ['guidance above 20', { ...P, cfg_scale: 20.01 }, 'cfg_scale', /^cfg_scale must be a number from 1 to 20/],
    ['infinite guidance', '{"prompt":"x","cfg_scale":1e309}', 'cfg_scale', /^cfg_scale must be a number from 1 to 20/],
    ['a width below 256', { ...P, width: 248 }, 'width', /^width must be an integer from 256 to 2048/],
    ['a height above 2048', { ...P, height: 2056 }, 'height', /^height must be an integer from 256 to 2048/],
    ['a height off the grid', { ...P, height: 1001 }, 'height', /^height must be a multiple of 8/],
    ['too many pixels', { ...P, width: 2048, height: 1544 }, 'width', /3145728 pixels/],
    [
      'a sampler of the other interface',
      { ...P, sampler: 'euler_a' },
      'sampler',
      /^sampler must be one of: euler-a, dpm-2m-karras, /,
    ],
    ['a seed below -1', { ...P, seed: -2 }, 'seed', /^seed must be an integer from 0 to 4294967295/],
    ['a seed above 2^32 - 1', { ...P, seed: 4294967296 }, 'seed', /^seed must be an integer/],
    ['a field of the other interface', { ...P, model_version_id: 1 }, 'model_version_id', /did you mean "model"\?/],
    ['a batch', { ...P, batch_size: 1 }, 'batch_size', /^Unknown field "batch_size"/],
    ['a misspelt field', { ...P, cfgscale: 7 }, 'cfgscale', /did you mean "cfg_scale"\?/],
    ['an array', [], 'body', /^The request body must be a JSON object/],
    ['a string', '"prompt"', 'body', /^The request body must be a JSON object/],
  ])('is refused with %s, naming the field, charging and keeping nothing', async (_name, body, parameter, sentence) => {
    const { db } = context.service
    const owner = await givenUser(db)
    expectCreateError(await create(owner, body), 400, 'invalid_parameter', sentence, { parameter })
    expect(await chargesOf(db, owner)).toEqual([])
    const { rows } = await db.pool.query('SELECT 1 FROM generations WHERE user_id = $1', [owner.id])
    expect(rows).toEqual([])
  })

  it.each([
    ['broken JSON', '{"prompt":'],
    ['nothing', ''],
  ])('is refused with %s, which names no field', async (_name, body) => {
    expectCreateError(
      await create(await givenUser(context.service.db), body),
      400,
      'invalid_parameter',
      /^The request body is (not valid JSON|empty)/,
    )
  })
})
