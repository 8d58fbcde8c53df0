import { describe, expect, it } from 'vitest'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenEnded, givenWebhook, INSIDE, timePasses } from '../../support/given-webhook.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'
import { visit } from '../../support/website-client.js'

const context = useService({ env: { ...INSIDE, SITE_LANGUAGES: 'en,de' } })
const HOOK = 'https://example.com/hook'

type Form = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

async function given() {
  const { db, url } = context.service
  const user = await givenUser(db)
  const cookie = await givenSession(db, user)
  return {
    user,
    cookie,
    get: (path: string) => visit(url, path, { cookie }),
    post: (path: string, body: Form = {}) => visit(url, path, { cookie, body }),
    list: async () => (await call(url, 'GET', '/api/v1/webhooks', { key: user.key })).body.webhooks,
  }
}

describe('adding a webhook endpoint', () => {
  it.each([
    [{ url: 'no url', events: 'generation.failed' }, 'The URL must be a URL that begins with https:// or http://.'],
    [{ url: 'https://10.0.0.1/', events: 'generation.failed' }, 'The URL must point to a public address'],
    [{ url: HOOK, events: 'nonsense' }, 'Choose one or more events.'],
    [{ url: HOOK, events: 'generation.failed', description: 'x'.repeat(201) }, 'The description must be at most 200'],
  ])('is refused in words and keeps what was typed: %j', async (asked, sentence) => {
    const { user, post, list } = await given()
    const body = { ...asked, events: [asked.events] }
    const api = await call(context.service.url, 'POST', '/api/v1/webhooks', { key: user.key, body })
    const page = await post('/webhooks', asked)
    expect([page.status, api.status]).toEqual([400, 400])
    expect(page.html).toContain(`>${sentence}`)
    expect(page.html).toContain(`value="${asked.url}"`)
    expect(await list()).toEqual([])
  })

  it('works without scripts, with one event or several, and shows the secret once', async () => {
    const { post, list, get } = await given()
    expect((await post('/webhooks', { url: HOOK })).html).toContain('>Choose one or more events.')
    const added = await post('/webhooks', [
      ['url', HOOK],
      ['events', 'generation.failed'],
      ['events', 'image.completed'],
    ])
    const [secret] = /whsec_[\w+/=]+/.exec(added.html) as RegExpExecArray
    expect(added.headers.get('cache-control')).toBe('no-store')
    expect(await list()).toMatchObject([{ events: ['generation.failed', 'image.completed'] }])
    expect((await get('/webhooks')).html).not.toContain(secret)
  })

  it('stops at ten endpoints', async () => {
    const { user, post, get } = await given()
    for (let n = 0; n < 10; n++) await givenWebhook(context.service, user, `${HOOK}/${n}`)
    const refused = await post('/webhooks', { url: HOOK, events: 'generation.failed' })
    expect(refused.status).toBe(400)
    expect((await get('/webhooks')).html).not.toContain('Add webhook')
  })
})

describe('a webhook endpoint', () => {
  it('is tested, gets a new secret, and is deleted by the buttons of its page', async () => {
    const receiver = await givenReceiver(500)
    const { user, get, post, list } = await given()
    const { id, secret } = await givenWebhook(context.service, user, receiver.url)
    const path = `/webhooks/${id}`
    expect((await post(`${path}/test`)).location).toBe(path)
    const shown = async () => (await get(`${path}/deliveries`)).html
    // The part asks for itself again only while something waits.
    await until(async () => (await shown()).includes('HTTP 500'), 'the answer 500 in the list of deliveries')
    expect(await shown()).toMatch(/^<div id="deliveries"[^>]* hx-trigger="every 2s"/)
    receiver.behaviour = 200
    await timePasses(context.service)
    await until(async () => (await shown()).includes('>delivered<'), 'the delivery')
    expect(await shown()).not.toContain('hx-trigger')

    const rotated = await post(`${path}/rotate-secret`)
    const [fresh] = /whsec_[\w+/=]+/.exec(rotated.html) as RegExpExecArray
    expect(fresh).not.toBe(secret)
    expect(rotated.headers.get('cache-control')).toBe('no-store')
    expect((await get(path)).html).not.toContain('whsec_')
    expect((await post(`${path}/delete`)).location).toBe('/webhooks')
    expect(await list()).toEqual([])
    expect((await get('/webhooks')).html).toContain('No webhooks yet.')
  })

  it('of another account has no page, and nothing can be done to it', async () => {
    const { get, post } = await given()
    const other = await given()
    const hook = await givenWebhook(context.service, other.user, HOOK)
    for (const id of [hook.id, `whe_${'0'.repeat(32)}`, 'nonsense']) {
      const path = `/webhooks/${id}`
      expect((await get(path)).status).toBe(404)
      expect((await get(`${path}/deliveries`)).status).toBe(404)
      for (const act of ['test', 'rotate-secret', 'delete']) expect((await post(`${path}/${act}`)).status).toBe(404)
    }
    expect(await other.list()).toHaveLength(1)
    expect((await get('/webhooks')).html).not.toContain(HOOK)
  })

  it('that is paused after failed tries says until when', async () => {
    const { user, get } = await given()
    const { id } = await givenWebhook(context.service, user, HOOK)
    expect((await get(`/webhooks/${id}`)).html).toContain('>enabled<')
    const paused = `UPDATE webhook_endpoints SET not_before = now() + interval '5 minutes' WHERE id = $1`
    await context.service.db.pool.query(paused, [id])
    expect((await get('/webhooks')).html).toContain('>paused<')
    expect((await get(`/webhooks/${id}`)).html).toContain('Paused after failed tries: nothing is sent before <time')
  })

  it('that is disabled says why, in the language of the page, and is enabled by a test', async () => {
    const { user, cookie, get, post } = await given()
    const { db } = context.service
    const { id } = await givenWebhook(context.service, user, HOOK)
    await db.pool.query(`UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = $2 WHERE id = $1`, [
      id,
      'It answered 410 Gone. A test enables it again.',
    ])
    const { html } = await get(`/webhooks/${id}`)
    expect(html).toContain('It answered 410 Gone.')
    expect(html).toContain('Send a test')
    const german = await visit(context.service.url, `/webhooks/${id}`, { cookie, headers: { 'accept-language': 'de' } })
    expect(german.html).toContain('Die Antwort war 410 Gone. Ein Test schaltet ihn wieder ein.')
    expect((await post(`/webhooks/${id}/test`)).status).toBe(303)
    expect((await get(`/webhooks/${id}`)).html).toContain('>enabled<')
  })

  it('shows its deliveries page by page', async () => {
    const receiver = await givenReceiver(200)
    const { user, get } = await given()
    const { db } = context.service
    const { id } = await givenWebhook(context.service, user, receiver.url)
    const generationId = await givenEnded(context.service, user)
    await db.pool.query(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url, status, finished_at)
       SELECT $1, 'evt_' || n, 'test', $2, 'delivered', now() FROM generate_series(1, 30) n`,
      [id, receiver.url],
    )
    const first = await get(`/webhooks/${id}`)
    const older = /href="(\/webhooks\/[^"]+cursor=[^"]+)"/.exec(first.html)?.[1] as string
    const second = await get(older)
    expect(second.html).toContain(generationId)
    expect(second.html).toContain('First page')
    expect(first.html).not.toContain(generationId)
  })

  it('shows a later page of its deliveries as it was, also while one of them waits', async () => {
    const { user, get } = await given()
    const { db } = context.service
    const { id } = await givenWebhook(context.service, user, HOOK)
    await db.pool.query(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url, next_at)
       SELECT $1, 'evt_' || n, 'test', $2, now() + interval '1 hour' FROM generate_series(1, 30) n`,
      [id, HOOK],
    )
    const first = await get(`/webhooks/${id}`)
    // What is new comes onto the first page.
    expect(first.html).toContain('hx-trigger="every 2s"')
    const older = /href="(\/webhooks\/[^"]+cursor=[^"]+)"/.exec(first.html)?.[1] as string
    const second = await get(older)
    expect(second.html).toContain('>pending<')
    expect(second.html).not.toContain('hx-trigger="every 2s"')
  })
})
