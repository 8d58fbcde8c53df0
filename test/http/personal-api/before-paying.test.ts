import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createImageBody } from '../../../src/http/create-image-api/generate-schemas.js'
import { generateBody } from '../../../src/http/personal-api/generations/submit-schemas.js'
import { call, expectPersonalError, PROMPT } from '../../support/client.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { expectNoTrace } from '../../support/refusal.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const directory = mkdtempSync(join(tmpdir(), 'easel-rules-'))
const rules = join(directory, 'rules.json')
writeFileSync(rules, JSON.stringify({ categories: [{ name: 'tools', models: 'sfw', terms: ['chainsaw'] }] }))
afterAll(() => rmSync(directory, { recursive: true }))
const context = useService({ env: { RATE_LIMIT_MAX: '1000', MODERATION_RULES: rules } })
const post = ({ key }: GivenUser, path: string, body: object, headers = {}) =>
  call(context.service.url, 'POST', `/api/v1${path}`, { key, body, headers })
const dryRun = (user: GivenUser, body: object, headers = {}) => post(user, '/generate?dry_run=True', body, headers)
const FLAGGED = 'a chainsaw'
const SECRET = 'a nude child'

describe('POST /api/v1/generate?dry_run=true', () => {
  it('prices the request and leaves no trace of it', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const { status, body } = await dryRun(user, { ...PROMPT, batch_size: 4 }, { 'idempotency-key': 'dry' })
    expect(status).toBe(200)
    expect(body).toEqual({
      ...{ dry_run: true, model_version_id: 10, model_name: 'Pony Diffusion' },
      ...{ credits_needed: 4, credits_held: 100, sufficient: true, active_generation: null },
    })
    await expectNoTrace(db, user)
    // Neither a lock nor the key was taken.
    expect(await post(user, '/generate', PROMPT, { 'idempotency-key': 'dry' })).toMatchObject({ status: 201 })
  })

  it('names an active generation and missing credits instead of refusing', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 3 })
    const active = await givenGeneration(db, user)
    expect((await dryRun(user, { ...PROMPT, batch_size: 3 })).body).toMatchObject({
      ...{ credits_needed: 3, credits_held: 2, sufficient: false, active_generation: active.id },
    })
  })

  it('refuses whatever else a submit would refuse, in the same words', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await db.pool.query('UPDATE model_versions SET enabled = false WHERE id = 13')
    const bodies = [
      { ...PROMPT, prompt: '' },
      { ...PROMPT, stepss: 3 },
      { ...PROMPT, model_version_id: 999 },
      { ...PROMPT, model_version_id: 13 },
      { ...PROMPT, prompt: FLAGGED },
    ]
    const answers = await Promise.all(bodies.map((body) => dryRun(user, body)))
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 404, 403, 400])
    for (const [n, { status, body }] of answers.entries())
      expect(await post(user, '/generate', bodies[n] as object)).toMatchObject({ status, body })
    const lapsed = await givenUser(db, { subscription: null })
    expectPersonalError(await dryRun(lapsed, PROMPT), 403, /^No active subscription/)
  })

  it('is refused when dry_run is misspelt, instead of being charged', async () => {
    const user = await givenUser(context.service.db)
    for (const [query, sentence] of [
      ['dryrun=true', /^Unknown query parameter "dryrun": did you mean "dry_run"\?$/],
      ['dry_run=1', /^dry_run must be true or false\.$/],
    ] as const)
      expectPersonalError(await post(user, `/generate?${query}`, PROMPT), 400, sentence)
    await expectNoTrace(context.service.db, user)
    expect(await post(user, '/generate?dry_run=false', PROMPT)).toMatchObject({ status: 201 })
  })
})

describe('POST /api/v1/moderate', () => {
  it('says what moderation would say, to anyone with a key, for nothing', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const clean = { flagged: false, parameter: null, category: null, matched: [] }
    expect(await post(user, '/moderate', { prompt: 'a lighthouse' })).toMatchObject({ status: 200, body: clean })
    const { body } = await post(user, '/moderate', { prompt: FLAGGED })
    expect(body).toEqual({
      ...{ flagged: true, parameter: 'prompt', category: expect.any(String) },
      matched: expect.arrayContaining(['chainsaw']),
    })
    await expectNoTrace(db, user)
    expect(await post(await givenUser(db, { subscription: null }), '/moderate', { prompt: 'x' })).toMatchObject({
      status: 200,
      body: clean,
    })
  })

  it('judges for the given model version, and without one for the strictest', async () => {
    const user = await givenUser(context.service.db)
    const flagged = async (more: object) =>
      (await post(user, '/moderate', { prompt: 'a chainsaw', ...more })).body.flagged
    // Version 5 is marked as NSFW, version 10 is not.
    expect(await flagged({ model_version_id: 5 })).toBe(false)
    expect(await flagged({ model_version_id: 10 })).toBe(true)
    expect(await flagged({ model_version_id: null })).toBe(true)
    expect(await flagged({})).toBe(true)
  })

  it('refuses a request without a prompt, and a model version that does not exist', async () => {
    const user = await givenUser(context.service.db)
    expectPersonalError(await post(user, '/moderate', {}), 400, /^prompt is required/)
    expectPersonalError(await post(user, '/moderate', { prompt: 'x', modle: 1 }), 400, /^Unknown field "modle"/)
    expectPersonalError(await post(user, '/moderate', { prompt: 'x', model_version_id: 999 }), 404, /999 not found/)
  })
})

describe('a prompt that sexualises a minor', () => {
  const refused = { flagged: true, parameter: null, category: null, matched: [] }
  const noted = async ({ id }: GivenUser) =>
    (await context.service.db.pool.query('SELECT prompt, matched FROM refused_prompts WHERE user_id = $1', [id])).rows

  it('is refused without the words that matched, and without advice', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const sentence = /^Prompt flagged by moderation: sexual content with minors\.$/
    expectPersonalError(await post(user, '/generate', { ...PROMPT, prompt: SECRET }), 400, sentence)
    const developer = await givenUser(db, { developer: { concurrency: 1 } })
    const { body } = await call(url, 'POST', '/v1/images/generate', { key: developer.key, body: { prompt: SECRET } })
    expect(body.error.message).toMatch(sentence)
  })

  it('is only refused by free checks, which operators see, once for each text', async () => {
    const user = await givenUser(context.service.db)
    expect((await post(user, '/moderate', { prompt: SECRET })).body).toEqual(refused)
    expect((await post(user, '/moderate', { prompt: 'a child', negative_prompt: 'clothes' })).body).toEqual(refused)
    const sentence = /^Prompt flagged by moderation: refused\.$/
    expectPersonalError(await dryRun(user, { ...PROMPT, prompt: SECRET }), 400, sentence)
    expectPersonalError(await dryRun(user, { ...PROMPT, prompt: `${SECRET}!` }), 400, sentence)
    await until(async () => (await noted(user)).length >= 3)
    const prompts = (await noted(user)).map(({ prompt }) => prompt).sort()
    expect(prompts).toEqual([SECRET, `${SECRET}!`, 'clothes'].sort())
    expect(await noted(user)).toContainEqual({ prompt: SECRET, matched: ['child', 'nude'] })
  })
})

describe('free checks', () => {
  it('are limited to 30 a minute of an account, dry runs included', async () => {
    const { db } = context.service
    const [user, other] = [await givenUser(db), await givenUser(db)]
    for (let n = 0; n < 15; n++) {
      expect((await post(user, '/moderate', { prompt: 'a lighthouse' })).status).toBe(200)
      expect((await dryRun(user, PROMPT)).status).toBe(200)
    }
    expectPersonalError(await post(user, '/moderate', { prompt: 'a lighthouse' }), 429, /rate limit of 30 requests/)
    expectPersonalError(await dryRun(user, PROMPT), 429, /rate limit of 30 requests/)
    expect((await post(user, '/generate', PROMPT)).status).toBe(201)
    expect((await post(other, '/moderate', { prompt: 'a lighthouse' })).status).toBe(200)
  })
})

describe('GET /api/v1/capabilities', () => {
  const capabilities = ({ key }: GivenUser, headers = {}) =>
    call(context.service.url, 'GET', '/api/v1/capabilities', { key, headers })

  it('tells exactly what a submit accepts', async () => {
    const { body, status } = await capabilities(await givenUser(context.service.db))
    expect(status).toBe(200)
    const { limits, defaults, samplers, recommended_sizes: sizes, models } = body
    const accepts = (more: object) => generateBody.safeParse({ ...PROMPT, ...more }).success
    for (const name of ['batch_size', 'steps', 'cfg_scale', 'width', 'height', 'seed']) {
      const { min, max, step = 1 } = limits[name]
      const other = name === 'width' ? { height: limits.height.min } : { width: limits.width.min }
      expect(
        [min, max].map((n) => accepts({ ...other, [name]: n })),
        name,
      ).toEqual([true, true])
      expect(accepts({ ...other, [name]: max + step }), name).toBe(false)
      if (name !== 'seed') expect(accepts({ ...other, [name]: min - step }), name).toBe(false)
    }
    expect(accepts({ width: limits.width.min + 1 })).toBe(false)
    expect(accepts({ prompt: 'x'.repeat(limits.prompt_length) })).toBe(true)
    expect(accepts({ prompt: 'x'.repeat(limits.prompt_length + 1) })).toBe(false)
    expect(limits.pixels).toBe(2048 * 1536)
    expect(samplers.every((sampler: string) => accepts({ sampler }))).toBe(true)
    expect(samplers).toHaveLength(18)
    expect(sizes).toHaveLength(9)
    for (const size of sizes) expect(accepts(size), JSON.stringify(size)).toBe(true)
    expect(defaults.model_version_id).toBe(1)
    expect(generateBody.parse({ ...defaults, ...PROMPT }).request).toEqual(generateBody.parse(PROMPT).request)
    expect(models).toContainEqual({
      ...{ model_version_id: 10, name: 'V6 XL', model_name: 'Pony Diffusion', credits_per_image: 1 },
      ...{
        pricing: null,
        defaults: {},
        limits: {},
        ignored: [],
        in_plan: true,
        size_multiple: 8,
        pixels: 3145728,
        scale: 1,
      },
    })
    expect(body.rate_limit).toEqual({ requests: 1000, window_seconds: 10 })
  })

  it('tells exactly what Create Image accepts', async () => {
    const { body } = await capabilities(await givenUser(context.service.db))
    const { models, samplers, limits, defaults } = body.create_image
    const accepts = (more: object) => createImageBody.safeParse({ prompt: 'x', ...more }).success
    for (const name of ['steps', 'cfg_scale']) {
      const { min, max } = limits[name]
      expect([min - 1, min, max, max + 1].map((n) => accepts({ [name]: n }))).toEqual([false, true, true, false])
    }
    expect(models.every((model: string) => accepts({ model }))).toBe(true)
    expect(samplers.every((sampler: string) => accepts({ sampler }))).toBe(true)
    const { request } = createImageBody.parse({ prompt: 'x', ...defaults })
    expect(request).toEqual(createImageBody.parse({ prompt: 'x' }).request)
  })

  it('answers 304 for the ETag of the last answer, until a price changes', async () => {
    const user = await givenUser(context.service.db)
    const { headers } = await capabilities(user)
    const etag = headers.get('etag') as string
    expect(etag).toMatch(/^"[\w-]{16}"$/)
    const held = { 'if-none-match': `W/"other", ${etag}` }
    expect(await capabilities(user, held)).toMatchObject({ status: 304, body: '' })
    for (const same of ['*', etag, `"other", ${etag}`])
      expect(await capabilities(user, { 'if-match': same })).toMatchObject({ status: 200 })
    await context.service.db.pool.query('UPDATE model_versions SET credits_per_image = 2 WHERE id = 12')
    expect(await capabilities(user, held)).toMatchObject({ status: 200 })
    for (const other of [etag, '"other"', ''])
      expect(await capabilities(user, { 'if-match': other })).toMatchObject({
        status: 412,
        body: { error: expect.stringMatching(/^The answer is not/) },
      })
  })
})
