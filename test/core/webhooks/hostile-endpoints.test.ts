/** Endpoints that are broken, slow or up to something: nobody else is the worse for them, and nothing inside is reached. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { call } from '../../support/client.js'
import { givenEnded, givenWebhook, INSIDE, logOf, timePasses } from '../../support/given-webhook.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'

/** What names lead to, in place of the DNS. */
const names = new Map<string, string[]>()
const resolveHost = async (name: string) => names.get(name) ?? Promise.reject(new Error('no such name'))
const context = useService({ env: INSIDE, server: { resolveHost } })

/** Something inside that nobody may reach: also on this machine, but at an address that the operator has not allowed. */
let inside: Server
let port: number
let reached = 0
beforeAll(async () => {
  inside = createServer((socket) => {
    reached++
    socket.destroy()
  }).listen(0, '127.0.0.2')
  await once(inside, 'listening')
  port = (inside.address() as AddressInfo).port
})
afterAll(() => void inside.close())
beforeEach(() => {
  reached = 0
})

const lastError = (user: GivenUser, webhook: { id: string }, fault: string) =>
  until(async () => {
    const [last] = await logOf(context.service, user, webhook)
    return last?.last_error === fault && last
  }, fault)

describe('an endpoint that leads into a private network', () => {
  it('by a redirect is not followed there', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    for (const location of ['http://169.254.169.254/latest/meta-data/', `http://127.0.0.2:${port}/`]) {
      const receiver = await givenReceiver((response) => response.writeHead(307, { location }).end())
      const webhook = await givenWebhook(service, user, receiver.url, ['generation.succeeded'])
      await givenEnded(service, user)
      expect(await lastError(user, webhook, 'redirected')).toMatchObject({ last_status: 307 })
      expect(receiver.received).toHaveLength(1)
      await call(service.url, 'DELETE', `/api/v1/webhooks/${webhook.id}`, { key: user.key })
    }
    expect(reached).toBe(0)
  })

  it('by a name is not connected to once any of the name’s addresses is private', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    names.set('hook.example.com', ['127.0.0.1'])
    const webhook = await givenWebhook(service, user, `http://hook.example.com:${receiver.port}/`)
    await givenEnded(service, user)
    await receiver.nth(1)
    expect(receiver.received[0]?.headers.host).toBe(`hook.example.com:${receiver.port}`)

    const rebound = await givenWebhook(service, user, `http://rebound.example.com:${port}/`)
    for (const addresses of [['127.0.0.2'], ['127.0.0.1', '127.0.0.2'], ['::ffff:127.0.0.2'], ['169.254.169.254']]) {
      names.set('rebound.example.com', addresses)
      await givenEnded(service, user)
      await lastError(user, rebound, 'address_refused')
    }
    names.delete('rebound.example.com')
    await givenEnded(service, user)
    await lastError(user, rebound, 'dns_failed')
    expect(reached).toBe(0)
    expect(await logOf(service, user, webhook)).toHaveLength(6)
    await fetch(`http://127.0.0.2:${port}/`).catch(() => undefined)
    expect(reached).toBe(1) // it would have been noticed
  })

  it('by an address that was allowed when it was created is judged again at each send', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver()
    const webhook = await givenWebhook(service, user, receiver.url)
    await service.db.pool.query('UPDATE webhook_endpoints SET url = $2 WHERE id = $1', [
      webhook.id,
      `http://127.0.0.2:${port}/`,
    ])
    await givenEnded(service, user)
    await lastError(user, webhook, 'address_refused')
    expect(reached).toBe(0)
  })
})

describe('an endpoint that hangs', () => {
  it('delays no other endpoint, of the same user or of others, and has two requests at most', async () => {
    const { service } = context
    const [user, other] = [await givenUser(service.db), await givenUser(service.db)]
    let givenUp = 0
    const hanging = await givenReceiver((response) => response.once('close', () => givenUp++))
    const sound = await givenReceiver()
    await givenWebhook(service, user, hanging.url)
    await givenWebhook(service, user, sound.url)
    await givenWebhook(service, other, sound.url)
    for (let n = 1; n <= 4; n++) {
      await givenEnded(service, user)
      await givenEnded(service, other)
      await sound.nth(2 * n)
    }
    await hanging.nth(2)
    expect(givenUp, 'requests whose time-out of 10 s has passed').toBe(0)
    expect(hanging.received).toHaveLength(2)
  })
})

describe('an endpoint that refuses', () => {
  it('with 410 is disabled with the reason, and nothing waits for it any more', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(500)
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    await lastError(user, webhook, 'status_not_2xx')
    receiver.behaviour = 410
    await givenEnded(service, user)
    const seen = () => call(service.url, 'GET', `/api/v1/webhooks/${webhook.id}`, { key: user.key })
    await until(async () => (await seen()).body.status === 'disabled', 'it being disabled')
    expect((await seen()).body.disabled_reason).toBe('It answered 410 Gone. A test enables it again.')
    await until(
      async () => (await logOf(service, user, webhook)).every(({ status }: { status: string }) => status === 'failed'),
      'the end of what waited',
    )
    await givenEnded(service, user)
    expect(await logOf(service, user, webhook)).toHaveLength(2)
  })

  it('and is disabled is enabled by a test, with its secret, and gets what comes then', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver(410)
    const webhook = await givenWebhook(service, user, receiver.url)
    const one = (method: string, path = '') =>
      call(service.url, method, `/api/v1/webhooks/${webhook.id}${path}`, { key: user.key })
    await givenEnded(service, user)
    await until(async () => (await one('GET')).body.status === 'disabled', 'it being disabled')
    receiver.behaviour = 200
    expect(await one('POST', '/test')).toMatchObject({ status: 202 })
    expect((await one('GET')).body).toMatchObject({ status: 'enabled', disabled_reason: null, paused_until: null })
    await givenEnded(service, user)
    const states = async () => (await logOf(service, user, webhook)).map(({ status }: { status: string }) => status)
    await until(async () => (await states()).join() === 'delivered,delivered,failed', 'both deliveries')
    receiver.behaviour = 410
    await one('POST', '/test')
    await until(async () => (await one('GET')).body.status === 'disabled', 'it being disabled again')
  })

  it('with 503 and Retry-After is left alone for as long as it asks', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const receiver = await givenReceiver((response) => response.writeHead(503, { 'retry-after': '60' }).end())
    const webhook = await givenWebhook(service, user, receiver.url)
    await givenEnded(service, user)
    const { created_at: created, next_try_at: next } = await lastError(user, webhook, 'status_not_2xx')
    const { rows } = await service.db.pool.query(
      `SELECT e.not_before >= d.created_at + interval '60 seconds' AS rests
         FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id WHERE e.id = $1`,
      [webhook.id],
    )
    expect(rows).toEqual([{ rests: true }])
    expect(Date.parse(next) - Date.parse(created)).toBeGreaterThanOrEqual(60_000)
  })

  it('for three days is disabled, and one that recovers before is sent everything', async () => {
    const { service } = context
    const { pool } = service.db
    const [lasting, passing] = [await givenUser(service.db), await givenUser(service.db)]
    const [dead, ill] = [await givenReceiver(500), await givenReceiver(500)]
    const [first, second] = [
      await givenWebhook(service, lasting, dead.url),
      await givenWebhook(service, passing, ill.url),
    ]
    for (let n = 0; n < 3; n++) {
      await givenEnded(service, lasting)
      await givenEnded(service, passing)
    }
    await dead.nth(3)
    await ill.nth(3)
    // Long enough for its deliveries to be rarely tried.
    await until(async () => {
      const { rows } = await pool.query('SELECT failures FROM webhook_endpoints WHERE id = $1', [second.id])
      return rows[0].failures === 3
    }, 'three failures')
    await pool.query(
      `UPDATE webhook_endpoints SET failures = 9, failing_since = now() - interval '73 hours' WHERE id = $1`,
      [first.id],
    )
    await pool.query('UPDATE webhook_deliveries SET attempts = 11 WHERE endpoint_id = $1', [first.id])
    await pool.query('UPDATE webhook_endpoints SET failures = 9 WHERE id = $1', [second.id])
    await pool.query(`UPDATE webhook_deliveries SET next_at = now() + interval '8 hours' WHERE endpoint_id = $1`, [
      second.id,
    ])
    ill.behaviour = 200
    await givenEnded(service, passing) // the first that succeeds brings the others forward
    await ill.nth(4)
    await until(async () => {
      const { rows } = await pool.query(
        `SELECT count(*) AS n FROM webhook_deliveries
          WHERE endpoint_id = $1 AND status = 'pending' AND next_at > now() + interval '1 minute'`,
        [second.id],
      )
      return rows[0].n === 0
    }, 'the others being brought forward')
    await timePasses(service)
    await ill.nth(7)
    const { body } = await until(async () => {
      const answer = await call(service.url, 'GET', `/api/v1/webhooks/${first.id}`, { key: lasting.key })
      return answer.body.status === 'disabled' && answer
    }, 'the dead one being disabled')
    expect(body.disabled_reason).toMatch(/^Nothing could be delivered for 3 days \(status_not_2xx\)/)
    const ids = ill.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(4)
  })
})
