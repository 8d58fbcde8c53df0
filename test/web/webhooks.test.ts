import { describe, expect, it } from 'vitest'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { call } from '../support/client.js'
import { givenEnded, givenWebhook, INSIDE, timePasses } from '../support/given-webhook.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { givenReceiver } from '../support/webhook-receiver.js'
import { visit } from '../support/website-client.js'

const context = useService({ env: INSIDE })
const browser = useBrowser()
const HOSTILE = '<b>Production</b> \u202E& "more"'
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

describeInBrowser('the webhooks page', () => {
  it('adds an endpoint, shows its secret once, follows a test, and deletes it', async () => {
    const { service } = context
    const receiver = await givenReceiver(500)
    const { cookie, list } = await given()
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/webhooks')
    await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url)
    await page.getByRole('textbox', { name: 'Description' }).fill(HOSTILE)
    await page.getByRole('checkbox', { name: 'image.completed' }).uncheck()
    await page.getByRole('button', { name: 'Add webhook' }).click()
    const secret = await page.getByLabel('Signing secret').inputValue()
    expect(secret).toMatch(/^whsec_/)
    expect(await violations()).toEqual([])
    expect(await list()).toMatchObject([
      { url: receiver.url, description: HOSTILE, events: ['generation.succeeded', 'generation.failed'] },
    ])

    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    expect(page.url()).toMatch(/\/webhooks\/whe_/)
    expect(await page.content()).not.toContain(secret)
    // Without a reload: the list asks for itself while something waits.
    await page.getByText('HTTP 500').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    receiver.behaviour = 200
    await timePasses(service)
    await page.getByText('delivered').waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)

    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('button', { name: 'Make a new secret?' }).click()
    expect(await page.getByLabel('Signing secret').inputValue()).not.toBe(secret)
    await page.getByRole('button', { name: 'Delete' }).click()
    expect(await list()).toHaveLength(1)
    await page.getByRole('button', { name: 'Delete for good?' }).click()
    await page.getByText('No webhooks yet.').waitFor()
    expect(await list()).toEqual([])
  })
})

describe('adding an endpoint', () => {
  it.each([
    [{ url: 'no url', events: 'generation.failed' }],
    [{ url: 'https://10.0.0.1/', events: 'generation.failed' }],
    [{ url: HOOK, events: 'nonsense' }],
    [{ url: HOOK, events: 'generation.failed', description: 'x'.repeat(201) }],
  ])('refuses what the API refuses, in its words, and keeps what was typed: %j', async (asked) => {
    const { user, post, list } = await given()
    const body = { ...asked, events: [asked.events] }
    const api = await call(context.service.url, 'POST', '/api/v1/webhooks', { key: user.key, body })
    const page = await post('/webhooks', asked)
    expect([page.status, api.status]).toEqual([400, 400])
    expect(page.html).toContain(api.body.error)
    expect(page.html).toContain(`value="${asked.url}"`)
    expect(await list()).toEqual([])
  })

  it('needs an event, takes several, and works as a plain form; nothing keeps the secret', async () => {
    const { post, list, get } = await given()
    expect((await post('/webhooks', { url: HOOK })).html).toContain('events must be an array of one or more of')
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

  it('stops at ten', async () => {
    const { user, post, get } = await given()
    for (let n = 0; n < 10; n++) await givenWebhook(context.service, user, `${HOOK}/${n}`)
    const refused = await post('/webhooks', { url: HOOK, events: 'generation.failed' })
    expect(refused.status).toBe(400)
    expect((await get('/webhooks')).html).not.toContain('Add webhook')
  })
})

describe('an endpoint', () => {
  it('of another account, or none, is no page, and nothing is done to it', async () => {
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

  it('says why it is disabled and offers no test', async () => {
    const { user, get, post } = await given()
    const { db } = context.service
    const { id } = await givenWebhook(context.service, user, HOOK)
    await db.pool.query(
      `UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'It answered 410 Gone.' WHERE id = $1`,
      [id],
    )
    const { html } = await get(`/webhooks/${id}`)
    expect(html).toContain('It answered 410 Gone.')
    expect(html).not.toContain('Send a test')
    expect((await post(`/webhooks/${id}/test`)).status).toBe(400)
  })

  it('shows its deliveries in pages', async () => {
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
})
