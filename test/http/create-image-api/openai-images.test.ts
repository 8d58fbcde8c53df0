import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAiBody } from '../../../src/http/create-image-api/openai-routes.js'
import { call } from '../../support/client.js'
import { chargesOf, creditsOf, type GivenUser, givenUser, type UserOptions } from '../../support/givens.js'
import { sendRaw } from '../../support/raw-http.js'
import { refuse, type S3Server, startS3 } from '../../support/s3-server.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useService({ worker: true, env: { RATE_LIMIT_MAX: '1000', INFERENCE_URL: 'preview:' } })
const user = (options?: UserOptions) => givenUser(context.service.db, options)
const clientOf = ({ key }: Pick<GivenUser, 'key'>) =>
  new OpenAI({ apiKey: key, baseURL: `${context.service.url}/v1`, maxRetries: 0 })
const post = ({ key }: GivenUser, body: unknown, headers = {}) =>
  call(context.service.url, 'POST', '/v1/images/generations', { key, body, headers })
const SMALL = { prompt: 'a lighthouse at dusk', size: '256x256' as '1024x1024' }

async function failureOf(work: Promise<unknown>): Promise<APIError> {
  const error = await work.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(APIError)
  return error as APIError
}

describe('OpenAI’s own client', () => {
  it('gets the public URL of an image, and its credit is charged', async () => {
    const owner = await user()
    const from = Math.floor(Date.now() / 1000)
    const { data, created } = await clientOf(owner).images.generate({ ...SMALL, model: 'plant-milk' })
    expect(data).toEqual([{ url: expect.stringMatching(/^http:\/\/easel\.test\/cdn\/[0-9A-Za-z]{22}\.png$/) }])
    expect(created).toBeGreaterThanOrEqual(from)
    expect(created).toBeLessThanOrEqual(Date.now() / 1000)
    const path = new URL(data?.[0]?.url as string).pathname
    expect(await call(context.service.url, 'GET', path)).toMatchObject({ status: 200 })
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('gets the image itself as base64, from a model version by its ID', async () => {
    const asked = { ...SMALL, model: '10', response_format: 'b64_json', output_format: 'png' } as const
    const { data } = await clientOf(await user()).images.generate(asked)
    expect(Object.keys(data?.[0] ?? {})).toEqual(['b64_json'])
    const png = Buffer.from(data?.[0]?.b64_json as string, 'base64')
    expect(await sharp(png).metadata()).toMatchObject({ format: 'png', width: 256, height: 256 })
    expect(png.includes(SMALL.prompt)).toBe(false)
  })

  it.each(['10', 'pony-diffusion-v6-xl'])('asks for a model version as %s', async (model) => {
    const owner = await user()
    await clientOf(owner).images.generate({ ...SMALL, model })
    const { rows } = await context.service.db.pool.query(
      'SELECT model_version_id FROM generations WHERE user_id = $1',
      [owner.id],
    )
    expect(rows).toEqual([{ model_version_id: 10 }])
  })

  it('gets two images for n = 2, charged together', async () => {
    const owner = await user()
    const { data } = await clientOf(owner).images.generate({ ...SMALL, n: 2 })
    expect(new Set(data?.map(({ url }) => url)).size).toBe(2)
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -2]])
  })

  it('lists the models that it may ask for', async () => {
    const client = clientOf(await user())
    const models: string[] = []
    for await (const { id, object } of client.models.list()) {
      expect(object).toBe('model')
      models.push(id)
    }
    expect(models).toEqual([
      ...['duchaiten', 'duchaiten-real', 'hassaku-illustrious', 'noobai-xl', 'plant-milk', 'wai-nsfw-illustrious'],
      ...['pony-diffusion-v6-xl', 'illustrious-xl-v1.0', 'animagine-xl-4.0', 'stable-diffusion-xl-1.0'],
    ])
  })

  it('understands a refusal: its status, type, code and parameter', async () => {
    const client = clientOf(await user())
    const missing = await failureOf(client.images.generate({ ...SMALL, model: 'dall-e-3' }))
    expect(missing).toMatchObject({
      ...{ status: 404, type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
      message: expect.stringContaining('Model "dall-e-3" is not installed'),
    })
    const flagged = await failureOf(client.images.generate({ ...SMALL, prompt: 'a nude child' }))
    expect(flagged).toMatchObject({ status: 400, code: 'content_policy_violation', param: 'prompt' })
    const stranger = clientOf({ key: 'sk-nothing' })
    expect(await failureOf(stranger.images.generate(SMALL))).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(await failureOf(stranger.models.list())).toMatchObject({ status: 401, code: 'invalid_api_key' })
    const poor = clientOf(await user({ credits: 0 }))
    expect(await failureOf(poor.images.generate(SMALL))).toMatchObject({ status: 402, code: 'insufficient_quota' })
  })

  it('works with a developer key, whose images are counted instead of charged', async () => {
    const { db } = context.service
    const developer = await user({ developer: { concurrency: 1 } })
    const { data } = await clientOf(developer).images.generate({ ...SMALL, n: 2 })
    expect(data).toHaveLength(2)
    expect(await creditsOf(db, developer)).toBe(100)
    const { rows } = await db.pool.query('SELECT idx FROM usage WHERE user_id = $1 ORDER BY idx', [developer.id])
    expect(rows).toEqual([{ idx: 0 }, { idx: 1 }])
  })
})

describe('POST /v1/images/generations', () => {
  it('names the fields that it ignores, and takes Create Image’s fields beside OpenAI’s', async () => {
    const owner = await user()
    const body = {
      ...{ ...SMALL, steps: 20, seed: 7, negative_prompt: 'fog', cfg_scale: 5, sampler: 'ddim' },
      ...{ user: 'u-1', quality: 'hd', style: null, background: 'opaque', moderation: 'low' },
    }
    const { status, headers } = await post(owner, body)
    expect(status).toBe(200)
    expect(headers.get('x-ignored-fields')).toBe('user, quality, moderation')
    expect(headers.get('x-credits-remaining')).toBe('99')
    const { rows } = await context.service.db.pool.query('SELECT * FROM generations WHERE user_id = $1', [owner.id])
    expect(rows[0]).toMatchObject({
      ...{ lane: 'create_image', steps: 20, seed: 7, negative_prompt: 'fog', cfg_scale: 5, sampler: 'ddim' },
    })
  })

  it.each(['256X256', '256×256', '256*256'])('takes %s for a size', async (size) => {
    const asked = {
      ...SMALL,
      size,
      model: '',
      style: '',
      user: '',
      response_format: '',
      quality: '',
      negative_prompt: '',
    }
    const answer = await post(await user(), asked)
    expect(answer).toMatchObject({ status: 200, body: { data: [{ url: expect.any(String) }] } })
    expect(answer.headers.get('x-ignored-fields')).toBeNull()
  })

  it.each([{}, { size: null }, { size: 'auto' }])('draws 1024x1024 when the size is left to it: %j', (asked) => {
    const { request } = openAiBody.parse({ prompt: 'x', ...asked })
    expect(request).toMatchObject({ width: 1024, height: 1024, batchSize: 1 })
  })

  it.each([
    ['512x256', 512, 256],
    ['256x384', 256, 384],
  ])('draws %s that wide and that high', async (size, width, height) => {
    const { status, body } = await post(await user(), { ...SMALL, size, response_format: 'b64_json' })
    expect(status).toBe(200)
    expect(await sharp(Buffer.from(body.data[0].b64_json, 'base64')).metadata()).toMatchObject({ width, height })
  })

  it('is the same under its Idempotency-Key as release 0.2.0 took it to be', async () => {
    const owner = await user()
    const prompt = 'a lighthouse at dusk'
    await post(owner, { prompt, size: '256x256', user: 'somebody', quality: 'high' }, { 'idempotency-key': 'k' })
    const hashed = [
      'openai\n{"format":"url","ignored":["user","quality"],"model":"noobai-xl","request":{"batchSize":1,"cfgScale":7',
      '"height":256,"negativePrompt":"","prompt":"a lighthouse at dusk","sampler":"dpmpp_2m_karras","steps":28,"width":256}}',
    ].join()
    const { rows } = await context.service.db.pool.query('SELECT body_hash FROM idempotency_keys WHERE user_id = $1', [
      owner.id,
    ])
    expect(rows).toEqual([{ body_hash: createHash('sha256').update(hashed).digest() }])
  })

  it('gets the first answer again for the same Idempotency-Key', async () => {
    const owner = await user()
    const headers = { 'idempotency-key': 'k' }
    const first = await post(owner, SMALL, headers)
    const again = await post(owner, SMALL, headers)
    expect(again).toMatchObject({ status: 200, body: first.body })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await chargesOf(context.service.db, owner)).toHaveLength(1)
  })

  const NEWER = [
    ...[{ background: 'opaque' }, { output_format: 'png' }, { moderation: 'auto' }, { output_compression: 100 }],
    ...[{ partial_images: 0 }, { stream: false }, { quality: 'high' }, { quality: 'auto' }, { size: 'auto' }],
  ]
  it.each(NEWER)('answers with base64 as OpenAI’s newer models do, which alone take %j', (asked) => {
    expect(openAiBody.parse({ prompt: 'x', ...asked })).toMatchObject({ format: 'b64_json' })
    expect(openAiBody.parse({ prompt: 'x', ...asked, response_format: 'url' })).toMatchObject({ format: 'url' })
  })

  it.each([
    ...[{}, { quality: 'hd' }, { quality: 'standard', style: 'vivid', user: 'u' }, { size: '256x256', n: 2 }],
    ...[{ quality: null, background: null, size: null, response_format: null }],
  ])('answers with URLs otherwise, as to %j', (asked) => {
    expect(openAiBody.parse({ prompt: 'x', ...asked })).toMatchObject({ format: 'url' })
  })

  it('gives OpenAI’s client the image itself in the style of the newer models', async () => {
    const asked = { ...SMALL, quality: 'low', background: 'auto', output_format: 'png', moderation: 'low' } as const
    const { data } = await clientOf(await user()).images.generate(asked)
    const png = Buffer.from(data?.[0]?.b64_json as string, 'base64')
    expect(await sharp(png).metadata()).toMatchObject({ format: 'png', width: 256, height: 256 })
  })

  it.each([
    [{}, 'prompt', /^prompt is required/],
    [{ ...SMALL, n: 5 }, 'n', /^n must be an integer from 1 to 4\.$/],
    [{ ...SMALL, size: '1024' }, 'size', /^size must be "auto" or <width>x<height>/],
    [{ ...SMALL, size: '1000x1001' }, 'size', /^size's height must be a multiple of 8\.$/],
    [{ ...SMALL, size: '4096x1024' }, 'size', /^size's width must be an integer from 256 to 2048\.$/],
    [{ ...SMALL, size: '2048x2048' }, 'size', /^width × height must be at most/],
    [{ ...SMALL, response_format: 'jpg' }, 'response_format', /^response_format must be one of: url, b64_json\.$/],
    [{ ...SMALL, background: 'transparent' }, 'background', /^background must be one of: auto, opaque\.$/],
    [{ ...SMALL, output_format: 'webp' }, 'output_format', /^output_format must be one of: png\.$/],
    [{ ...SMALL, stream: true }, 'stream', /^stream must be false/],
    [{ ...SMALL, imagee: 'x' }, 'imagee', /^Unknown field "imagee"/],
    ['{', null, /^The request body is not valid JSON/],
  ])('refuses %j in OpenAI’s shape', async (body, param, message) => {
    const { db } = context.service
    const owner = await user()
    const answer = await post(owner, body)
    expect(answer.body).toEqual({
      error: {
        message: expect.stringMatching(message),
        type: 'invalid_request_error',
        param,
        code: 'invalid_parameter',
      },
    })
    expect(answer.status).toBe(400)
    expect(await creditsOf(db, owner)).toBe(100)
  })
})

describe('GET /v1/models/{id}', () => {
  it.each([
    ['plant-milk', 'plant-milk'],
    ['pony-diffusion-v6-xl', 'pony-diffusion-v6-xl'],
    ['10', '10'],
  ])('shows OpenAI’s client the model %s', async (id) => {
    const client = clientOf(await user())
    const { data } = await client.models.list()
    const { owned_by: name } = await client.models.retrieve(id)
    expect(await client.models.retrieve(id)).toEqual({ id, object: 'model', created: 0, owned_by: name })
    if (id !== '10') expect(data).toContainEqual({ id, object: 'model', created: 0, owned_by: name })
  })

  it.each(['dall-e-3', '999', '010', ' 10', 'a/b', '..%2f', '\0', 'x'.repeat(500)])('does not find %j', async (id) => {
    const missing = await failureOf(clientOf(await user()).models.retrieve(id))
    expect(missing).toMatchObject({
      status: 404,
      type: 'invalid_request_error',
      code: 'model_not_found',
      param: 'model',
    })
  })

  it('does not find a model that is not offered', async () => {
    const { db } = context.service
    await db.pool.query('UPDATE model_versions SET enabled = false WHERE id = 11')
    expect(await failureOf(clientOf(await user()).models.retrieve('11'))).toMatchObject({ status: 404 })
    await db.pool.query('UPDATE model_versions SET enabled = true WHERE id = 11')
  })

  it('needs a key', async () => {
    const stranger = clientOf({ key: 'sk-nothing' })
    expect(await failureOf(stranger.models.retrieve('10'))).toMatchObject({ status: 401, code: 'invalid_api_key' })
  })
})

describe('what OpenAI has and this server has not', () => {
  const sentence = /makes images from text and nothing else: use POST \/v1\/images\/generations\.$/
  const image = new File(['x'], 'a.png', { type: 'image/png' })

  it.each<[string, (client: OpenAI) => Promise<unknown>]>([
    ['images.edit', (client) => client.images.edit({ image, prompt: 'x' })],
    ['images.createVariation', (client) => client.images.createVariation({ image })],
    ['chat.completions', (client) => client.chat.completions.create({ model: 'x', messages: [] })],
    ['responses', (client) => client.responses.create({ model: 'x', input: 'x' })],
    ['completions', (client) => client.completions.create({ model: 'x', prompt: 'x' })],
    ['embeddings', (client) => client.embeddings.create({ model: 'x', input: 'x' })],
    ['moderations', (client) => client.moderations.create({ input: 'x' })],
    ['audio.speech', (client) => client.audio.speech.create({ model: 'x', input: 'x', voice: 'alloy' })],
    ['files', async (client) => client.files.list()],
    ['batches', async (client) => client.batches.list()],
    ['fineTuning.jobs', async (client) => client.fineTuning.jobs.list()],
    ['vectorStores', async (client) => client.vectorStores.list()],
    ['videos', (client) => client.videos.create({ prompt: 'x' })],
  ])('is a 404 in its shape, with a sentence: %s', async (_name, ask) => {
    expect(await failureOf(ask(clientOf(await user())))).toMatchObject({
      ...{ status: 404, type: 'invalid_request_error', code: 'not_found', param: null },
      message: expect.stringMatching(sentence),
    })
  })

  it.each([
    ['DELETE', '/v1/models/10', 405, /use GET, HEAD\.$/],
    ['GET', '/v1/models/10/x', 404, sentence],
    ['PUT', '/v1/images/generations/', 404, sentence],
    ['GET', '/v1/%zz', 400, /percent-encode it as UTF-8/],
    ['GET', '/v1/chat/%zz', 400, /percent-encode it as UTF-8/],
  ])('is refused likewise: %s %s', async (method, path, status, message) => {
    const { body, ...answer } = await call(context.service.url, method, path, { key: (await user()).key })
    expect(answer.status).toBe(status)
    if (path !== '/v1/%zz') expect(Object.keys(body)).toEqual(['error'])
    expect(body.error.message).toMatch(message)
  })

  it.each([
    ['/v1/images/generations', 'x'.repeat(70_000), 'application/json', 413, 'payload_too_large'],
    ['/v1/images/generations', 'prompt=x', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['/v1/models/10', '{}', 'application/json', 405, 'method_not_allowed'],
  ])('a POST to %s that is too much is refused likewise', async (path, body, type, status, code) => {
    const answer = await call(context.service.url, 'POST', path, {
      ...{ key: (await user()).key, body, headers: { 'content-type': type } },
    })
    const error = { message: expect.any(String), type: 'invalid_request_error', param: null, code }
    expect([answer.status, answer.body]).toEqual([status, { error }])
  })

  it('a rate limit is told likewise', async () => {
    const strict = await context.service.server({}, { RATE_LIMIT_MAX: '1' })
    const { key } = await user()
    const get = () => call(strict.url, 'GET', '/v1/models/10', { key })
    expect(await get()).toMatchObject({ status: 200 })
    expect(await get()).toMatchObject({
      status: 429,
      body: { error: { type: 'requests', code: 'rate_limit_exceeded' } },
    })
  })
})

describe.each(['/v1/images/generations', '/v1/models', '/v1/models/10'])('a method that %s does not have', (path) => {
  it.each(['PUT', 'DELETE', 'OPTIONS', 'PROPFIND', 'FROB'])('is refused in OpenAI’s shape: %s', async (method) => {
    const answer = await sendRaw(context.service.url, `${method} ${path} HTTP/1.1\r\nHost: easel.test\r\n\r\n`)
    expect(answer?.status).toBe(method === 'FROB' ? 400 : 405)
    expect(answer?.body).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: expect.any(String) },
    })
  })
})

describe('an image that is drawn and can not be read for its answer', () => {
  let directory: string
  let s3: S3Server
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'easel-openai-'))
    s3 = await startS3(directory)
  })
  afterAll(async () => {
    await s3.close()
    await rm(directory, { recursive: true, force: true, maxRetries: 20 })
  })
  const inBucket = useService(async () => ({
    worker: true,
    env: { ...(await s3.env('openai')), INFERENCE_URL: 'preview:', RATE_LIMIT_MAX: '1000' },
  }))

  it('is a 503 after which the client does not submit it again, since it is charged', async () => {
    const { db, url } = inBucket.service
    s3.fault = ({ method }, response) => (method === 'GET' ? refuse(response, 403, 'AccessDenied') : 'pass')
    const owner = await givenUser(db)
    const body = { ...SMALL, response_format: 'b64_json' }
    const { status, headers } = await call(url, 'POST', '/v1/images/generations', { key: owner.key, body })
    expect([status, headers.get('x-should-retry')]).toEqual([503, 'false'])
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })
})

describe('a generation that fails', () => {
  const workless = useService({ env: { RATE_LIMIT_MAX: '1000' } })

  it('is a 500 that OpenAI’s client does not repeat, though it repeats others', async () => {
    const { db, url } = workless.service
    const { key, id } = await givenUser(db)
    const failure = failureOf(new OpenAI({ apiKey: key, baseURL: `${url}/v1` }).images.generate(SMALL))
    const worker = standInWorker(db)
    await worker.fail(await worker.claim(), 'The GPU ran out of memory.')
    expect(await failure).toMatchObject({
      ...{ status: 500, type: 'server_error', code: 'generation_failed', param: null },
      message: '500 The GPU ran out of memory.',
    })
    const { rows } = await db.pool.query('SELECT status FROM generations WHERE user_id = $1', [id])
    expect(rows).toEqual([{ status: 'failed' }])
  })

  it('is not to be repeated by the client when its server leaves amid the wait', async () => {
    const { db, server } = workless.service
    const leaving = await server({ waitersMs: 0 })
    const { key, id } = await givenUser(db)
    const refused = call(leaving.url, 'POST', '/v1/images/generations', { key, body: SMALL })
    const submits = async () => (await db.pool.query('SELECT FROM generations WHERE user_id = $1', [id])).rowCount
    await until(async () => (await submits()) === 1, 'the submit')
    await leaving.stop()
    const { status, headers, body } = await refused
    expect([status, headers.get('x-should-retry')]).toEqual([503, 'false'])
    expect(body.error.message).toMatch(/^This server is restarting\. Generation gen_\w+ goes on/)
  })
})
