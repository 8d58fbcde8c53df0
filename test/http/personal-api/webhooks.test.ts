import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { call, expectPersonalError } from '../../support/client.js'
import { givenEnded, givenWebhook, INSIDE, logOf } from '../../support/given-webhook.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'

const context = useService({ env: INSIDE })
const api = ({ key }: GivenUser, method: string, path = '', body?: unknown) =>
  call(context.service.url, method, `/api/v1/webhooks${path}`, { key, ...(body !== undefined && { body }) })
const URL_OF = 'https://example.com/easel'
const ABSENT = 'whe_00000000000000000000000000000000'

describe('POST /api/v1/webhooks', () => {
  it('answers 201 with a secret that is shown nowhere else', async () => {
    const user = await givenUser(context.service.db)
    const { status, body } = await api(user, 'POST', '', { url: URL_OF, description: 'Production' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^whe_[0-9a-f]{32}$/),
      url: URL_OF,
      description: 'Production',
      events: ['generation.succeeded', 'generation.failed', 'image.completed', 'credits.low', 'subscription.changed'],
      status: 'enabled',
      disabled_reason: null,
      paused_until: null,
      created_at: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/),
    })
    const { secret, ...shown } = body
    expect((await api(user, 'GET')).body).toEqual({ webhooks: [shown], count: 1 })
    expect((await api(user, 'GET', `/${body.id}`)).body).toEqual(shown)
  })

  it('keeps each event once, and refuses wrong fields with a sentence', async () => {
    const user = await givenUser(context.service.db)
    const events = ['generation.failed', 'generation.failed']
    expect((await api(user, 'POST', '', { url: URL_OF, events })).body.events).toEqual(['generation.failed'])
    for (const [body, sentence] of [
      [{}, /^url is required\.$/],
      [{ url: 5 }, /^url must be a string\.$/],
      [{ url: 'example.com' }, /^url must be a URL that begins with https:\/\/ or http:\/\/\.$/],
      [{ url: 'https://10.0.0.1/' }, /^url must point to a public address/],
      [{ url: URL_OF, events: [] }, /^events must be an array of one or more of: generation\.succeeded, /],
      [{ url: URL_OF, events: ['image.deleted'] }, /^events must be an array/],
      [{ url: URL_OF, description: 'x'.repeat(201) }, /^description must be at most 200 characters\.$/],
      [{ url: URL_OF, event: ['x'] }, /^Unknown field "event": did you mean "events"\?$/],
    ] as const)
      expectPersonalError(await api(user, 'POST', '', body), 400, sentence)
  })

  it('lets an account have ten endpoints, also when more are asked for at once', async () => {
    const user = await givenUser(context.service.db)
    const answers = await Promise.all(Array.from({ length: 14 }, () => api(user, 'POST', '', { url: URL_OF })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10)
    const refused = await api(user, 'POST', '', { url: URL_OF })
    expectPersonalError(refused, 400, /^You have 10 webhook endpoints, the most there may be: delete one first\.$/)
    const { webhooks } = (await api(user, 'GET')).body
    expect(await api(user, 'DELETE', `/${webhooks[0].id}`)).toMatchObject({ status: 204, body: '' })
    expect(await api(user, 'POST', '', { url: URL_OF })).toMatchObject({ status: 201 })
  })
})

describe('another user’s endpoint', () => {
  it('is a 404, whatever is asked of it', async () => {
    const [owner, stranger] = [await givenUser(context.service.db), await givenUser(context.service.db)]
    const { id } = (await api(owner, 'POST', '', { url: URL_OF })).body
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
    ] as const) {
      const [met, unmet] = [
        await api(stranger, method, `/${id}${path}`),
        await api(stranger, method, `/${ABSENT}${path}`),
      ]
      expectPersonalError(met, 404, /^Webhook endpoint not found: GET \/api\/v1\/webhooks lists yours\.$/)
      expect(met.body).toEqual(unmet.body)
      expectPersonalError(await api(stranger, method, `/nonsense${path}`), 404, /not found/)
    }
    expect((await api(stranger, 'GET')).body).toEqual({ webhooks: [], count: 0 })
    expect(await api(owner, 'GET', `/${id}`)).toMatchObject({ status: 200 })
  })

  it('is out of reach of a developer key, like every endpoint', async () => {
    const developer = await givenUser(context.service.db, { developer: { concurrency: 1 } })
    expectPersonalError(await api(developer, 'GET'), 403, /^Developer keys work on the Create Image interface only/)
  })
})

describe('POST /api/v1/webhooks/{id}/test', () => {
  it('sends a signed delivery with the ID that it answers', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const { id, secret } = await givenWebhook(service, user, receiver.url, ['image.completed'])
    const { status, body } = await api(user, 'POST', `/${id}/test`)
    expect({ status, body }).toEqual({ status: 202, body: { id: expect.stringMatching(/^evt_/), type: 'test' } })
    const { text, headers } = await receiver.nth(1)
    expect(headers['webhook-id']).toBe(body.id)
    expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual({
      type: 'test',
      timestamp: expect.any(String),
      data: { endpoint_id: id },
    })
  })
})

describe('a rotated secret', () => {
  it('signs at once, and the old secret beside it for a day', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const { id, secret: old } = await givenWebhook(service, user, receiver.url)
    const { status, body } = await api(user, 'POST', `/${id}/rotate-secret`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, secret: expect.stringMatching(/^whsec_/) })
    expect(body.secret).not.toBe(old)
    const verifies = ({ text, headers }: Awaited<ReturnType<typeof receiver.nth>>, secret: string) => {
      try {
        return new Webhook(secret).verify(text, headers as Record<string, string>) !== undefined
      } catch {
        return false
      }
    }
    await api(user, 'POST', `/${id}/test`)
    const both = await receiver.nth(1)
    expect(both.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    expect([verifies(both, body.secret), verifies(both, old)]).toEqual([true, true])
    await service.db.pool.query('UPDATE webhook_endpoints SET old_secret_until = now() WHERE id = $1', [id])
    await api(user, 'POST', `/${id}/test`)
    const later = await receiver.nth(2)
    expect([verifies(later, body.secret), verifies(later, old)]).toEqual([true, false])
  })
})

describe('GET /api/v1/webhooks/{id}/deliveries', () => {
  it('comes in pages, newest first', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const webhook = await givenWebhook(service, user, receiver.url)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.unshift((await api(user, 'POST', `/${webhook.id}/test`)).body.id)
    const first = (await api(user, 'GET', `/${webhook.id}/deliveries?limit=2`)).body
    const second = (await api(user, 'GET', `/${webhook.id}/deliveries?limit=2&cursor=${first.next_cursor}`)).body
    const shown = [...first.deliveries, ...second.deliveries].map(({ event_id }: { event_id: string }) => event_id)
    expect(shown).toEqual(ids)
    expect(second.next_cursor).toBeNull()
    for (const [query, sentence] of [
      ['limit=0', /^limit must be an integer from 1 to 100\.$/],
      ['cursor=5', /^cursor must be a next_cursor of this list: leave it out to begin with the newest\.$/],
      ['offset=5', /^Unknown query parameter "offset"/],
    ] as const)
      expectPersonalError(await api(user, 'GET', `/${webhook.id}/deliveries?${query}`), 400, sentence)
  })
})

describe('a deleted endpoint', () => {
  it('gets no more deliveries, not even one that is to be tried again', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    await until(async () => (await logOf(service, user, webhook))[0].last_status === 500, 'the first try')
    await api(user, 'DELETE', `/${webhook.id}`)
    const { rows } = await service.db.pool.query(
      'SELECT status, last_error FROM webhook_deliveries WHERE endpoint_id = $1',
      [webhook.id],
    )
    expect(rows).toEqual([{ status: 'failed', last_error: 'endpoint_ended' }])
    await givenEnded(service, user)
    expect(receiver.received).toHaveLength(1)
    expectPersonalError(await api(user, 'GET', `/${webhook.id}/deliveries`), 404, /not found/)
  })
})
