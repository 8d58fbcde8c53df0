import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { operatorCreditStore } from '../../../src/db/accounts/ledger.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import { call } from '../../support/client.js'
import { givenEnded, givenWebhook, INSIDE, logOf, timePasses } from '../../support/given-webhook.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'
import { givenReceiver, type Received } from '../../support/webhook-receiver.js'

const context = useService({ env: INSIDE })
const api = ({ key }: GivenUser, method: string, path: string, body?: unknown) =>
  call(context.service.url, method, path, { key, ...(body !== undefined && { body }) })
const worker = () => standInWorker(context.service.db)
const verified = ({ text, headers }: Received, secret: string) =>
  new Webhook(secret).verify(text, headers as Record<string, string>)

describe('an endpoint', () => {
  it('is sent, signed, what a poll says when a generation has succeeded', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const webhook = await givenWebhook(service, user, receiver.url)
    const generation = await givenEnded(service, user)
    const told = await receiver.nth(1)
    const poll = await api(user, 'GET', `/api/v1/generate/${generation}`)
    expect(verified(told, webhook.secret)).toEqual({
      type: 'generation.succeeded',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: poll.body,
    })
    expect(told.headers).toMatchObject({
      'webhook-id': expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      'content-type': 'application/json',
    })
    expect(() => verified({ ...told, text: `${told.text} ` }, webhook.secret)).toThrow('No matching signature')
    await until(async () => (await logOf(service, user, webhook))[0].status === 'delivered', 'the log')
    expect(await logOf(service, user, webhook)).toEqual([
      {
        event_id: told.headers['webhook-id'],
        type: 'generation.succeeded',
        generation_id: generation,
        status: 'delivered',
        attempts: 1,
        last_status: 200,
        last_error: null,
        created_at: told.body.timestamp,
        next_try_at: null,
        delivered_at: expect.any(String),
      },
    ])
  })

  it('is told of failures, and of no event that it does not listen to', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const [all, successes] = [await givenReceiver(), await givenReceiver()]
    await givenWebhook(service, user, all.url)
    await givenWebhook(service, user, successes.url, ['generation.succeeded'])
    const failed = await givenEnded(service, user, 'fail')
    expect((await all.nth(1)).body).toMatchObject({
      type: 'generation.failed',
      data: { id: failed, status: 'failed', error: 'The model broke.' },
    })
    const succeeded = await givenEnded(service, user)
    expect((await successes.nth(1)).body.data.id).toBe(succeeded)
    expect((await all.nth(2)).headers['webhook-id']).toBe(successes.received[0]?.headers['webhook-id'])
    expect(successes.received).toHaveLength(1)
  })

  it('is told of every image that was asked for at once in OpenAI’s shape', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    await givenWebhook(service, user, receiver.url, ['image.completed'])
    const created = api(user, 'POST', '/v1/images/generations', { prompt: 'a lighthouse', n: 3 })
    await worker().succeed(await worker().claim())
    const { images } = (await receiver.nth(1)).body.data
    expect(images).toHaveLength(3)
    expect(images.map(({ url }: { url: string }) => ({ url }))).toEqual((await created).body.data)
  })

  it('is sent the fields of Create Image’s answer for an image of Create Image', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const webhook = await givenWebhook(service, user, receiver.url, ['image.completed'])
    const created = api(user, 'POST', '/v1/images/generate', { prompt: 'a lighthouse', cfg_scale: 5.5, seed: 7 })
    await worker().succeed(await worker().claim())
    const { body } = await created
    expect(verified(await receiver.nth(1), webhook.secret)).toEqual({
      type: 'image.completed',
      timestamp: expect.any(String),
      data: body.data,
    })
  })

  it('is sent an event again under the same ID until it has answered with 2xx', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    const first = await receiver.nth(1)
    await until(
      async () => (await logOf(service, user, webhook))[0].last_error === 'status_not_2xx',
      'the failure in the log',
    )
    const [pending] = await logOf(service, user, webhook)
    expect(pending).toMatchObject({ status: 'pending', attempts: 1, last_status: 500 })
    const wait = Date.parse(pending.next_try_at) - Date.parse(pending.created_at)
    expect(wait).toBeGreaterThanOrEqual(5000)
    expect(wait).toBeLessThan(30_000) // the second pause
    receiver.behaviour = 204
    await timePasses(service)
    const second = await receiver.nth(2)
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    expect(second.text).toBe(first.text)
    verified(second, webhook.secret)
    await until(async () => (await logOf(service, user, webhook))[0].status === 'delivered', 'its delivery')
  })

  it('has a next try that is never in the past, and says when it is paused', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    const inAnHour = Date.now() + 3_500_000
    const next = async () => {
      const [{ next_try_at }] = await logOf(service, user, webhook)
      return next_try_at && Date.parse(next_try_at)
    }
    const pausedUntil = async () => (await api(user, 'GET', `/api/v1/webhooks/${webhook.id}`)).body.paused_until
    const set = (what: string) =>
      service.db.pool.query(`UPDATE webhook_endpoints SET ${what} WHERE id = $1`, [webhook.id])
    await until(async () => (await logOf(service, user, webhook))[0].last_status === 500, 'the first try')
    await set(`not_before = now() + interval '1 hour', due_at = now() + interval '1 hour'`)
    const due = 'UPDATE webhook_deliveries SET next_at = $2 WHERE endpoint_id = $1'
    await service.db.pool.query(due, [webhook.id, new Date(Date.now() - 60_000)])
    expect(await next()).toBeGreaterThan(inAnHour)
    expect(Date.parse(await pausedUntil())).toBeGreaterThan(inAnHour)
    // Both of its places are taken, then one.
    const taken = `now() + interval '1 hour'`
    await set(`not_before = '-infinity', slot_1_until = ${taken}, slot_2_until = ${taken}, due_at = ${taken}`)
    expect(await next()).toBeGreaterThan(inAnHour)
    expect(await pausedUntil()).toBeNull()
    await set(`slot_2_until = '-infinity'`)
    const soon = await next()
    expect(soon).toBeGreaterThan(inAnHour - 3_500_000)
    expect(soon).toBeLessThan(inAnHour)
    await set(`failures = 5`)
    expect(await next()).toBeGreaterThan(inAnHour)
    await set(`disabled_at = now(), disabled_reason = 'It is gone.', not_before = ${taken}`)
    expect(await next()).toBeNull()
    expect(await pausedUntil()).toBeNull()
  })

  it('is sent an event again when its first pause of 5 seconds is over', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    await receiver.nth(1)
    receiver.behaviour = 200
    await receiver.nth(2)
  })
})

describe('an event of the account', () => {
  it('tells of few credits, signed, once, and in the log', async () => {
    const { service } = context
    const user = await givenUser(service.db, { credits: 5 })
    const [receiver, other] = [await givenReceiver(), await givenReceiver()]
    const webhook = await givenWebhook(service, user, receiver.url, ['credits.low'])
    await givenWebhook(service, user, other.url, ['subscription.changed'])
    await operatorCreditStore(service.db).adjust(user.id, -4, { note: 'Corrected', belowZero: false })
    const told = await receiver.nth(1)
    expect(verified(told, webhook.secret)).toEqual({
      type: 'credits.low',
      timestamp: expect.any(String),
      data: { credits: 1, below: 2 },
    })
    await until(async () => (await logOf(service, user, webhook))[0].status === 'delivered', 'the log')
    expect(await logOf(service, user, webhook)).toMatchObject([
      { type: 'credits.low', generation_id: null, attempts: 1 },
    ])
    expect(other.received).toEqual([])
  })

  it('tells of a subscription that was changed, and of its end', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    await givenWebhook(service, user, receiver.url, ['subscription.changed'])
    const store = operatorSubscriptionStore(service.db)
    const endDate = new Date(Date.now() + 1000)
    await store.set(user.id, { status: 'canceled', plan: undefined, endDate }, endDate)
    expect((await receiver.nth(1)).body.data).toEqual({
      subscription: { status: 'canceled', plan: 'Pro', endDate: endDate.toISOString() },
    })
    // The reconciler of the service sees that it is over.
    expect((await receiver.nth(2)).body.data).toEqual({
      subscription: { status: 'expired', plan: 'Pro', endDate: endDate.toISOString() },
    })
  })
})
