/** What is committed is told, whatever dies in between: at least once, under one ID. */
import { Redis } from 'ioredis'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { webhookDeliveryStore } from '../../../src/db/webhooks/deliveries.js'
import { type OwnRedis, startOwnRedis } from '../../redis/own-redis.js'
import { givenEnded, givenWebhook, INSIDE, logOf, timePasses } from '../../support/given-webhook.js'
import { givenUser } from '../../support/givens.js'
import { type Service, startService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'

describe.each([
  ['one-machine mode', false],
  ['Redis', true],
])('with %s', (_mode, redis) => {
  it.skipIf(redis && !redisAvailable)(
    'another server sends what a dead one had claimed, and what nobody had claimed',
    async () => {
      const service = await startService({ redis, env: INSIDE })
      try {
        const user = await givenUser(service.db)
        const receiver = await givenReceiver()
        const webhook = await givenWebhook(service, user, receiver.url)
        // The only server: what ends while it is away is told by the next.
        await service.stopServer()
        await givenEnded(service, user)
        const deliveries = webhookDeliveryStore(service.db)
        const claimed = await deliveries.claim([])
        expect(claimed).toMatchObject({ endpointId: webhook.id, attempts: 1, slot: 1 })
        expect(await deliveries.claim([])).toBeUndefined()
        await service.db.pool.query(`UPDATE webhook_deliveries SET next_at = now() + interval '1 hour'`)
        await givenEnded(service, user)
        const { url } = await service.server()
        await receiver.nth(1)
        expect(receiver.received[0]?.headers['webhook-id']).not.toBe(claimed?.eventId)
        await timePasses(service)
        await receiver.nth(2)
        expect(receiver.received[1]?.headers['webhook-id']).toBe(claimed?.eventId)
        await until(
          async () =>
            (await logOf({ url }, user, webhook)).every(({ status }: { status: string }) => status === 'delivered'),
          'both being delivered',
        )
        // The dead one wakes up and reports: too late.
        if (claimed)
          await deliveries.failed(claimed, {
            fault: 'timed_out',
            status: undefined,
            retryInSeconds: 5,
            pauseSeconds: 60,
          })
        expect((await logOf({ url }, user, webhook))[1]).toMatchObject({ status: 'delivered', attempts: 2 })
      } finally {
        await service.close()
      }
    },
  )
})

describe.skipIf(!redisAvailable)('Redis', () => {
  let redis: OwnRedis
  let service: Service
  beforeAll(async () => {
    redis = await startOwnRedis()
    service = await startService({ redis: true, env: { ...INSIDE, REDIS_URL: redis.url } })
  })
  afterAll(async () => {
    await service.close()
    await redis.kill()
  })

  it('may lose its data: webhooks that are due are sent all the same', async () => {
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    await receiver.nth(1)
    await until(async () => (await logOf(service, user, webhook))[0].last_status === 500, 'the failure being recorded')
    const client = new Redis(redis.url)
    await client.flushall()
    client.disconnect()
    receiver.behaviour = 200
    await timePasses(service)
    await receiver.nth(2)
  })

  it('may be away: webhooks of what ends meanwhile are sent all the same', async () => {
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const { secret } = await givenWebhook(service, user, receiver.url)
    await redis.kill()
    await givenEnded(service, user)
    const { text, headers } = await receiver.nth(1)
    expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toMatchObject({
      type: 'generation.succeeded',
    })
  })
})

describe('several servers', () => {
  it('send each event once while nothing fails', async () => {
    const service = await startService({ env: INSIDE })
    try {
      await service.server()
      await service.server()
      const user = await givenUser(service.db)
      const receiver = await givenReceiver()
      const webhook = await givenWebhook(service, user, receiver.url)
      for (let n = 0; n < 12; n++) await givenEnded(service, user)
      await until(
        async () =>
          (await logOf(service, user, webhook)).filter((it: { status: string }) => it.status === 'delivered').length ===
          12,
        'all being delivered',
      )
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(12)
      expect(receiver.received).toHaveLength(12)
    } finally {
      await service.close()
    }
  })
})
