import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { webhookDeliveryStore } from '../../../src/db/webhooks/deliveries.js'
import { call, expectCreateError } from '../../support/client.js'
import { INSIDE } from '../../support/given-webhook.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { givenReceiver, type Received } from '../../support/webhook-receiver.js'

const context = useService({ env: INSIDE })
const create = ({ key }: GivenUser, body: object, headers: Record<string, string> = {}) =>
  call(context.service.url, 'POST', '/v1/images/generate', { key, body: { prompt: 'a lighthouse', ...body }, headers })
const developer = () => givenUser(context.service.db, { credits: 0, subscription: null, developer: { concurrency: 4 } })
const worker = () => standInWorker(context.service.db)
const verified = ({ text, headers }: Received, secret: string | null) =>
  new Webhook(secret ?? '').verify(text, headers as Record<string, string>)

describe('Create Image with a webhook_url', () => {
  it('answers 202 at once, and sends to that URL what it would have answered', async () => {
    const user = await developer()
    const receiver = await givenReceiver()
    const { status, body, headers } = await create(user, { webhook_url: `${receiver.url}?job=7#part`, seed: 5 })
    expect(status).toBe(202)
    const parameters = {
      ...{ prompt: 'a lighthouse', model: 'noobai-xl', steps: 28, cfg_scale: 7, width: 832, height: 1216, seed: 5 },
    }
    expect(body).toEqual({
      success: true,
      data: {
        image_id: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
        url: null,
        status: 'queued',
        parameters,
        created_at: expect.any(String),
      },
    })
    const claimed = await worker().claim()
    expect(claimed.slugs).toEqual([body.data.image_id])
    await worker().succeed(claimed)
    const told = await receiver.nth(1)
    expect(told.path).toBe('/hook?job=7')
    expect(verified(told, headers.get('webhook-secret'))).toEqual({
      type: 'image.completed',
      timestamp: expect.any(String),
      data: {
        ...body.data,
        status: 'completed',
        url: `http://easel.test/cdn/${body.data.image_id}.png`,
      },
    })
  })

  it('sends a failure in the words of the envelope', async () => {
    const user = await developer()
    const receiver = await givenReceiver()
    const { body, headers } = await create(user, { webhook_url: receiver.url })
    await worker().fail(await worker().claim(), 'The model broke.')
    expect(verified(await receiver.nth(1), headers.get('webhook-secret'))).toEqual({
      type: 'generation.failed',
      timestamp: expect.any(String),
      data: {
        image_id: body.data.image_id,
        success: false,
        error: { code: 'generation_failed', message: 'The model broke.' },
      },
    })
  })

  it('signs with one secret per account, whatever the URL', async () => {
    const [user, other] = [await developer(), await developer()]
    const secretOf = async (of: GivenUser, url: string) => {
      const { headers } = await create(of, { webhook_url: url })
      await worker().fail(await worker().claim(), 'done with')
      return headers.get('webhook-secret')
    }
    const [one, two] = [await givenReceiver(), await givenReceiver()]
    const first = await secretOf(user, one.url)
    expect(first).toMatch(/^whsec_/)
    expect(await secretOf(user, two.url)).toBe(first)
    expect(await secretOf(other, one.url)).not.toBe(first)
  })

  it('gives a repeat with the same Idempotency-Key the first answer, and makes one image', async () => {
    const user = await developer()
    const receiver = await givenReceiver()
    const ask = () => create(user, { webhook_url: receiver.url }, { 'idempotency-key': 'k' })
    const first = await ask()
    await worker().succeed(await worker().claim())
    await receiver.nth(1)
    const again = await ask()
    expect(again).toMatchObject({ status: 202, body: first.body })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expectCreateError(
      await create(user, {}, { 'idempotency-key': 'k' }),
      422,
      'idempotency_conflict',
      /already used with another request body/,
    )
  })

  it('lets an account name 50 servers, and forgets those that it has not named for a month', async () => {
    const { db } = context.service
    const user = await developer()
    await db.pool.query(
      `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, created_at)
       SELECT 'whe_' || md5($1 || n::text), $1::uuid, 'request', 'https://a' || n || '.example.com', '{}', now() - interval '31 days'
         FROM generate_series(1, 50) n`,
      [user.id],
    )
    const other = { webhook_url: 'https://b.example.com/hook' }
    const refused = await create(user, other)
    expectCreateError(refused, 400, 'invalid_parameter', /one more server than the 50/, { parameter: 'webhook_url' })
    expect(await create(user, { webhook_url: 'https://a7.example.com/hook' })).toMatchObject({ status: 202 })
    await webhookDeliveryStore(db).clean()
    expect(await create(user, other)).toMatchObject({ status: 202 })
    const { rows } = await db.pool.query(
      `SELECT url FROM webhook_endpoints WHERE user_id = $1 AND kind = 'request' ORDER BY url`,
      [user.id],
    )
    expect(rows.map(({ url }) => url)).toEqual(['https://a7.example.com', 'https://b.example.com'])
    for (let n = 0; n < 2; n++) await worker().fail(await worker().claim(), 'x')
  })

  it('refuses an address that may not be called, before anything is charged', async () => {
    const user = await developer()
    for (const [url, sentence] of [
      ['https://169.254.169.254/latest', /^webhook_url must point to a public address/],
      ['', /^webhook_url must be a URL that begins with/],
      ['ftp://example.com/', /^webhook_url must be a URL that begins with/],
      [5, /^webhook_url must be a string\.$/],
    ] as const)
      expectCreateError(await create(user, { webhook_url: url }), 400, 'invalid_parameter', sentence, {
        parameter: 'webhook_url',
      })
    const { rows } = await context.service.db.pool.query('SELECT FROM generations WHERE user_id = $1', [user.id])
    expect(rows).toEqual([])
  })
})
