import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import sharp from 'sharp'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { audit } from '../../src/db/audit/audit.js'
import { wholeImageStore } from '../../src/process/image-files.js'
import type { WorkerOptions } from '../../src/process/start-worker.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { drawImage } from '../stand-ins/a1111/images.js'
import { startModerationStandIn } from '../stand-ins/moderation/moderation-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { openEvents } from '../support/event-source.js'
import { freePort } from '../support/free-port.js'
import { givenWebhook, INSIDE } from '../support/given-webhook.js'
import { chargesOf, creditsOf, givenUser } from '../support/givens.js'
import { directoryOf } from '../support/image-storage.js'
import { type ServiceOptions, useService } from '../support/service.js'
import { until } from '../support/until.js'
import { givenReceiver } from '../support/webhook-receiver.js'

const endpoint = await startModerationStandIn({ auth: ':image-key' })
afterAll(() => endpoint.close())
beforeEach(() => endpoint.set({ fault: 'none', flags: [], from: 1, withoutFlagged: false }))

/** Its worker asks once about each image. */
const ASKS_ONCE = { times: { checkImageForMs: 0 } }

const withCheck = (env: Record<string, string> = {}, worker: WorkerOptions = ASKS_ONCE): ServiceOptions => ({
  worker,
  inFiles: true,
  env: {
    INFERENCE_URL: 'preview:',
    IMAGE_MODERATION_URL: endpoint.endpoint,
    IMAGE_MODERATION_API_KEY: 'image-key',
    MODERATION_TIMEOUT_SECONDS: '1',
    ...INSIDE,
    ...env,
  },
})

const SMALL = { width: 256, height: 256, steps: 1 }

/** Version 5 is marked as NSFW, version 10 is not. */
const drawing = (context: ReturnType<typeof useService>) => async (more: object) => {
  const { service } = context
  const user = await givenUser(service.db, { credits: 10 })
  const body = { ...PROMPT, ...SMALL, batch_size: 2, ...more }
  const { body: submitted } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  const end = await endOf(service, user, submitted.id)
  const rows = await service.db.pool.query('SELECT sha256 FROM images WHERE generation_id = $1', [submitted.id])
  return {
    user,
    end,
    stored: rows.rows.map(({ sha256 }) => sha256 as string),
    files: readdirSync(directoryOf(service.config), { recursive: true })
      .map(String)
      .filter((name) => /\.(png|webp)$/.test(name)),
  }
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('with IMAGE_MODERATION_URL', () => {
  const context = useService(withCheck())
  const draw = drawing(context)

  it('looks at each image as it is published, by the protocol and with the key', async () => {
    const before = endpoint.images().length
    const { end, stored } = await draw({})
    expect(end.status).toBe('succeeded')
    const seen = endpoint.images().slice(before).map(sha256)
    expect(new Set(seen)).toEqual(new Set(stored))
    const { body, headers } = endpoint.journal.at(-1) as (typeof endpoint.journal)[number]
    expect(headers.authorization).toBe('Bearer image-key')
    expect(Object.keys(body ?? {}).sort()).toEqual(['input', 'model'])
    expect(body?.model).toBe('omni-moderation-latest')
  })

  it('sends a smaller copy of a large image', async () => {
    const before = endpoint.images().length
    expect((await draw({ width: 1536, height: 1024, batch_size: 1 })).end.status).toBe('succeeded')
    const [seen] = endpoint.images().slice(before)
    expect(await sharp(seen).metadata()).toMatchObject({ format: 'webp', width: 1024, height: 683 })
    expect(seen?.length).toBeLessThan(1024 * 1024)
  })

  it.each([1, 2])('fails what it flags at image %i, gives the credits back and stores nothing', async (from) => {
    endpoint.set({ flags: ['violence/graphic'], from })
    const before = (await draw({})).files
    endpoint.set({ flags: ['violence/graphic'], from })
    const { user, end, stored, files } = await draw({})
    expect(end).toMatchObject({ status: 'failed', error: 'An image was refused by moderation.' })
    expect(stored).toEqual([])
    expect(files).toEqual(before)
    expect(await creditsOf(context.service.db, user)).toBe(10)
    const noted = 'SELECT category, prompt FROM refused_prompts WHERE user_id = $1'
    const { rows } = await until(async () => {
      const found = await context.service.db.pool.query(noted, [user.id])
      return found.rows.length > 0 && found
    })
    expect(rows).toEqual([{ category: 'drawn image: violence/graphic', prompt: PROMPT.prompt }])
  })

  it('allows sexual content with adults on models marked as NSFW only', async () => {
    endpoint.set({ flags: ['sexual'] })
    expect((await draw({ model_version_id: 5 })).end.status).toBe('succeeded')
    expect((await draw({ model_version_id: 10 })).end.status).toBe('failed')
    endpoint.set({ flags: ['sexual', 'sexual/minors'] })
    expect((await draw({ model_version_id: 5 })).end.status).toBe('failed')
  })

  it('takes the categories for the verdict where an endpoint leaves it out', async () => {
    endpoint.set({ withoutFlagged: true })
    expect((await draw({})).end.status).toBe('succeeded')
    endpoint.set({ withoutFlagged: true, flags: ['violence'] })
    expect((await draw({})).end.status).toBe('failed')
  })

  it.each(['hang', 'drop_mid_reply', 'garbage', { status: 429 }] as const)(
    'publishes nothing unseen, and gives the credits back, when the endpoint does %j',
    async (fault) => {
      endpoint.set({ fault })
      const { user, end, stored } = await draw({})
      expect(end).toMatchObject({ status: 'failed', error: /could not be checked by moderation/ })
      expect(stored).toEqual([])
      expect(await creditsOf(context.service.db, user)).toBe(10)
    },
  )

  it.each([
    ['Create Image', '/v1/images/generate', { model: 'noobai-xl' }],
    ["OpenAI's form", '/v1/images/generations', { model: '10', size: '256x256' }],
  ])('publishes nothing of what it flags through %s either', async (_name, path, more) => {
    endpoint.set({ flags: ['violence'] })
    const { url, db } = context.service
    const user = await givenUser(db, { credits: 10 })
    const { status, body } = await call(url, 'POST', path, { key: user.key, body: { prompt: PROMPT.prompt, ...more } })
    expect(status).toBe(500)
    expect(JSON.stringify(body)).toContain('An image was refused by moderation.')
    expect(await creditsOf(db, user)).toBe(10)
  })

  describe('tells a webhook what a poll says, and never why,', () => {
    const REFUSED = 'An image was refused by moderation.'
    const NEVER_SENT = /violence|graphic|drawn image|categor|matched/i

    it.each([
      ['the Personal API', '/api/v1/generate', { ...PROMPT, ...SMALL }],
      ['Create Image', '/v1/images/generate', { prompt: PROMPT.prompt }],
      ["OpenAI's form", '/v1/images/generations', { prompt: PROMPT.prompt, model: '10', size: '256x256' }],
    ])('at an endpoint of the account, of a generation through %s', async (_name, path, body) => {
      endpoint.set({ flags: ['violence/graphic'] })
      const { service } = context
      const user = await givenUser(service.db)
      const receiver = await givenReceiver()
      await givenWebhook(service, user, receiver.url)
      await call(service.url, 'POST', path, { key: user.key, body })
      const { text } = await receiver.nth(1)
      expect(text).not.toMatch(NEVER_SENT)
      const { type, data } = JSON.parse(text)
      expect([type, data]).toEqual([
        'generation.failed',
        { id: expect.stringMatching(/^gen_/), status: 'failed', error: REFUSED },
      ])
      expect((await call(service.url, 'GET', `/api/v1/generate/${data.id}`, { key: user.key })).body).toEqual(data)
    })

    it.each(['personal', 'developer'])('at the webhook_url of a request with a %s key', async (kind) => {
      endpoint.set({ flags: ['violence/graphic'] })
      const { service } = context
      const user = await givenUser(service.db, kind === 'developer' ? { developer: { concurrency: 1 } } : {})
      const receiver = await givenReceiver()
      const body = { prompt: PROMPT.prompt, webhook_url: receiver.url }
      const { body: queued } = await call(service.url, 'POST', '/v1/images/generate', { key: user.key, body })
      const { text } = await receiver.nth(1)
      expect(text).not.toMatch(NEVER_SENT)
      expect(JSON.parse(text)).toEqual({
        type: 'generation.failed',
        timestamp: expect.any(String),
        data: {
          image_id: queued.data.image_id,
          success: false,
          error: { code: 'generation_failed', message: REFUSED },
        },
      })
    })
  })

  it('says in /ready that the endpoint does not answer', async () => {
    const port = await freePort()
    await context.service.worker(ASKS_ONCE, { METRICS_PORT: String(port) })
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).json()
    const refused = async () => {
      endpoint.set({ fault: { status: 401 } })
      await draw({ batch_size: 1 })
      return ((await ready()) as { checks: Record<string, string> }).checks.imageModeration?.includes('does not answer')
    }
    await until(refused, 'the sentence in /ready')
  })
})

describe('while an image is drawn and looked at', () => {
  let gpu: A1111StandIn
  const context = useService(async () => {
    gpu = await startA1111StandIn()
    const worker = { times: { checkImageForMs: 600_000 } }
    return withCheck({ INFERENCE_URL: gpu.inferenceUrl, MODERATION_TIMEOUT_SECONDS: '60' }, worker)
  })
  afterAll(() => gpu.close())

  async function submit() {
    const { url, db } = context.service
    const user = await givenUser(db)
    const { body } = await call(url, 'POST', '/api/v1/generate', { key: user.key, body: { ...PROMPT, ...SMALL } })
    return { user, id: body.id as string }
  }

  it('shows no preview', async () => {
    const shown = await drawImage({ width: 256, height: 256, key: 'preview', parameters: '', look: 'unfinished' })
    gpu.set({ held: true, currentImage: shown.toString('base64') })
    endpoint.set({ flags: ['violence'] })
    const { user, id } = await submit()
    const source = await openEvents(context.service.url, user.key, id)
    onTestFinished(source.close)
    // The worker has had a preview for two seconds, and a follower looks for one each second.
    const previews = () => gpu.journal.filter(({ path }) => path.includes('skip_current_image=false')).length
    await until(() => previews() > 2, 'looks at what is drawn')
    gpu.set({ held: false })
    expect((await source.seen('end')).data).toMatchObject({ error: 'An image was refused by moderation.' })
    expect(source.events.filter(({ event }) => event === 'preview')).toEqual([])
  })

  it('lets go at once of what is canceled, gives its credits back and stores nothing', async () => {
    endpoint.set({ fault: 'hang' })
    const asked = endpoint.journal.length
    const { user, id } = await submit()
    await until(() => endpoint.journal.length > asked, 'the question')
    const { url, db } = context.service
    const images = await call(url, 'GET', '/api/v1/images', { key: user.key })
    expect(images.body.images).toEqual([])
    await call(url, 'POST', `/api/v1/generate/${id}/cancel`, { key: user.key })
    await until(() => endpoint.connections() === 0, 'the end of the question')
    expect(readdirSync(directoryOf(context.service.config)).filter((name) => name.endsWith('.png'))).toEqual([])
    expect(await chargesOf(db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  })

  it('publishes when the endpoint answers again meanwhile', async () => {
    endpoint.set({ fault: { status: 503 } })
    const asked = endpoint.journal.length
    const { user, id } = await submit()
    await until(() => endpoint.journal.length > asked, 'the first question')
    endpoint.set({ fault: 'none' })
    expect(await endOf(context.service, user, id)).toMatchObject({ status: 'succeeded' })
  })
})

describe('with IMAGE_MODERATION_FAIL=open and IMAGE_MODERATION_REFUND=false', () => {
  const context = useService(
    withCheck({ IMAGE_MODERATION_FAIL: 'open', IMAGE_MODERATION_REFUND: 'false', MODERATION_MODEL: 'own-model' }),
  )
  const draw = drawing(context)

  it('publishes when nobody could look', async () => {
    endpoint.set({ fault: { status: 500 } })
    expect((await draw({})).end.status).toBe('succeeded')
  })

  it('keeps the credits of what is refused, which the audit accepts', async () => {
    endpoint.set({ flags: ['violence'] })
    const { user, end } = await draw({})
    expect(end.status).toBe('failed')
    expect(await creditsOf(context.service.db, user)).toBe(8)
    expect(endpoint.journal.at(-1)?.body?.model).toBe('own-model')
    const { databaseUrl } = context.service.config
    const images = wholeImageStore(context.service.config, context.service.db)
    const checks = await audit({ databaseUrl, redis: undefined, refundFailed: true, images, sample: undefined })
    expect(checks.filter(({ violations }) => violations > 0)).toEqual([])
  })
})
