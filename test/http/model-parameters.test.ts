import { beforeAll, describe, expect, it } from 'vitest'
import { call, endOf, expectPersonalError, PROMPT } from '../support/client.js'
import { givenOwnModels, TURBO as OWN } from '../support/given-models.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService({ worker: true, env: { RATE_LIMIT_MAX: '1000' } })

/** A distilled model: few steps, no guidance, a price by its size. */
const TURBO = {
  pricing: { creditsPerMegapixel: 2, creditsPerStep: 0.1, minimum: 1 },
  parameters: {
    defaults: { steps: 8, cfgScale: 1, width: 256, height: 256, sampler: 'euler' },
    limits: { steps: { min: 1, max: 30 }, batchSize: { min: 1, max: 2 } },
    ignored: ['negativePrompt', 'cfgScale'],
  },
}
let user: GivenUser
beforeAll(async () => {
  const { db } = context.service
  await db.pool.query('UPDATE model_versions SET pricing = $1, parameters = $2, enabled = true WHERE id IN (1, 10)', [
    JSON.stringify(TURBO.pricing),
    JSON.stringify(TURBO.parameters),
  ])
  await givenOwnModels(db)
  user = await givenUser(db)
})

const post = (path: string, body: object, headers = {}) =>
  call(context.service.url, 'POST', path, { key: user.key, body, headers })
const rowOf = async (id: string) => {
  const { rows } = await context.service.db.pool.query(
    'SELECT steps, cfg_scale, width, height, sampler, negative_prompt, batch_size, cost FROM generations WHERE id = $1',
    [id],
  )
  return rows[0]
}
const ended = (id: string) => endOf(context.service, user, id)

describe('a model version with parameters and a price of its own', () => {
  it('draws with its own defaults, and charges by size and steps', async () => {
    const { status, body, headers } = await post('/api/v1/generate', PROMPT)
    expect(status).toBe(201)
    expect(headers.get('x-ignored-fields')).toBeNull()
    expect(await rowOf(body.id)).toEqual({
      ...{ steps: 8, cfg_scale: 1, width: 256, height: 256, sampler: 'euler', negative_prompt: '', batch_size: 1 },
      // 0.131 for the pixels and 0.8 for the steps, rounded up, and one for each image.
      cost: 2,
    })
    await ended(body.id)
  })

  it('names what has no effect in X-Ignored-Fields, before it is paid and after', async () => {
    const asked = { ...PROMPT, cfg_scale: 9, negative_prompt: 'blurry', steps: 30 }
    const dryRun = await post('/api/v1/generate?dry_run=true', asked)
    expect(dryRun.body).toMatchObject({ credits_needed: 5 })
    expect(dryRun.headers.get('x-ignored-fields')).toBe('negative_prompt, cfg_scale')
    const { body, headers } = await post('/api/v1/generate', asked)
    expect(headers.get('x-ignored-fields')).toBe('negative_prompt, cfg_scale')
    expect(body.credits_charged).toBe(5)
    expect(await rowOf(body.id)).toMatchObject({ cfg_scale: 1, negative_prompt: '', steps: 30 })
    await ended(body.id)
  })

  it('refuses what is outside its limits, and names them', async () => {
    expectPersonalError(
      await post('/api/v1/generate', { ...PROMPT, steps: 31 }),
      400,
      /^steps must be from 1 to 30 for Pony Diffusion V6 XL\.$/,
    )
    expectPersonalError(
      await post('/api/v1/generate?dry_run=true', { ...PROMPT, batch_size: 3 }),
      400,
      /^batch_size must be from 1 to 2 for Pony Diffusion V6 XL\.$/,
    )
  })

  it('has Create Image draw within that interface’s own limits, and say what was drawn', async () => {
    const created = await post('/v1/images/generate', { prompt: 'hills', cfg_scale: 9 })
    expect(created.status).toBe(200)
    expect(created.headers.get('x-ignored-fields')).toBe('cfg_scale')
    // Its own eight steps are below the 20 of this interface.
    expect(created.body.data.parameters).toMatchObject({ steps: 20, cfg_scale: 1, width: 256, height: 256 })
  })

  it('gives a repeat of Create Image the same parameters again', async () => {
    const headers = { 'idempotency-key': 'turbo' }
    const first = await post('/v1/images/generate', { prompt: 'hills' }, headers)
    const again = await post('/v1/images/generate', { prompt: 'hills' }, headers)
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  it('draws its own size in OpenAI’s shape', async () => {
    const { status, headers } = await post('/v1/images/generations', {
      prompt: 'hills',
      model: '10',
      user: 'me',
      cfg_scale: 9,
    })
    expect(status).toBe(200)
    expect(headers.get('x-ignored-fields')).toBe('user, cfg_scale')
    const { rows } = await context.service.db.pool.query(
      'SELECT width, height FROM generations ORDER BY seq DESC LIMIT 1',
    )
    expect(rows).toEqual([{ width: 256, height: 256 }])
  })

  it.each([
    [{ n: 3 }, 'n', 'n must be from 1 to 2 for Krea 2 turbo.'],
    [{ size: '1344x768' }, 'size', "size's width must be from 256 to 1024 for Krea 2 turbo."],
    [{ size: '512x520' }, 'size', "size's height must be a multiple of 64 for Krea 2 turbo."],
    [{ steps: 30 }, 'steps', 'steps must be from 1 to 10 for Krea 2 turbo.'],
  ])('refuses %j in OpenAI’s shape by the names of its fields', async (asked, param, message) => {
    const { status, body } = await post('/v1/images/generations', { prompt: 'hills', model: `${OWN.id}`, ...asked })
    expect([status, body.error]).toMatchObject([400, { param, message }])
  })

  it.each(['auto', undefined])('draws the model’s own size in OpenAI’s shape for the size %s', async (size) => {
    const asked = { prompt: 'hills', model: `${OWN.id}`, size, response_format: 'url' }
    expect((await post('/v1/images/generations', asked)).status).toBe(200)
    const { rows } = await context.service.db.pool.query(
      'SELECT width, height, steps FROM generations ORDER BY seq DESC LIMIT 1',
    )
    expect(rows).toEqual([{ width: 512, height: 512, steps: 10 }])
  })

  it('is listed with them under capabilities', async () => {
    const { body } = await call(context.service.url, 'GET', '/api/v1/capabilities', { key: user.key })
    expect(body.models).toContainEqual({
      ...{ model_version_id: 10, name: 'V6 XL', model_name: 'Pony Diffusion', credits_per_image: 1 },
      pricing: { credits_per_megapixel: 2, credits_per_step: 0.1, minimum_credits: 1 },
      defaults: { steps: 8, cfg_scale: 1, width: 256, height: 256, sampler: 'euler' },
      limits: { steps: { min: 1, max: 30 }, batch_size: { min: 1, max: 2 } },
      ignored: ['negative_prompt', 'cfg_scale'],
      ...{ size_multiple: 8, pixels: 2048 * 1536, scale: 1, in_plan: true },
    })
  })
})
