import { describe, expect, it } from 'vitest'
import { ownKeyStore } from '../../src/db/own-key-store.js'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { call } from '../support/client.js'
import { type GivenUser, givenGeneration, givenKey, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { visit } from '../support/website-client.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const browser = useBrowser()

const HOSTILE = '<b>laptop</b> & "scripts" \u202Eevil'
const keysOf = (user: GivenUser) => ownKeyStore(context.service.db).list(user.id)
const accountStatus = async (key: string) => (await call(context.service.url, 'GET', '/api/v1/account', { key })).status

async function given(options: Parameters<typeof givenUser>[1] = {}) {
  const { db, url } = context.service
  const user = await givenUser(db, options)
  const cookie = await givenSession(db, user)
  const post = (path: string, body: Record<string, string> = {}, more = {}) =>
    visit(url, path, { cookie, body, ...more })
  return { user, cookie, post, get: () => visit(url, '/keys', { cookie }) }
}
const shownKey = (html: string) => /value="(easel_\w{38})"/.exec(html)?.[1]

describeInBrowser('the keys page', () => {
  it('creates a key that is shown once and works, renames it, and revokes it for good', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await page.getByRole('textbox', { name: 'Key name' }).fill(HOSTILE)
    await page.keyboard.press('Enter')
    const shown = page.getByRole('textbox', { name: 'Your new key' })
    const key = await shown.inputValue()
    expect(await accountStatus(key)).toBe(200)
    expect(await shown.getAttribute('readonly')).not.toBeNull()
    // Whoever does not see the page hears where the key is.
    expect(await shown.evaluate((field) => field.matches(':focus'))).toBe(true)
    expect(await page.getByText('curl ').textContent()).toContain(`Bearer ${key}`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }

    await page.reload()
    expect(await page.content()).not.toContain(key)
    expect(await keysOf(user)).toHaveLength(2)
    const row = page.getByRole('row').filter({ hasText: HOSTILE })
    await row.getByText('Rename').click()
    await row.getByLabel('New name').fill('server')
    await row.getByRole('button', { name: 'Save' }).click()
    const renamed = page.getByRole('row').filter({ hasText: 'server' })
    await renamed.getByRole('button', { name: 'Revoke' }).click()
    expect(await accountStatus(key)).toBe(200)
    await renamed.getByRole('button', { name: 'Revoke for good?' }).click()
    await page.getByRole('status').filter({ hasText: 'is revoked' }).waitFor()
    expect(await accountStatus(key)).toBe(401)
    expect(await keysOf(user)).toHaveLength(1)
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
  })

  it('of an ended session leads to signing in, and does nothing', async () => {
    const { service } = context
    const { user, cookie } = await given()
    const { page } = await browser.open(service.url, cookie)
    await page.goto('/keys')
    await service.db.pool.query('DELETE FROM sessions WHERE user_id = $1', [user.id])
    await page.getByRole('textbox', { name: 'Key name' }).fill('late')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.waitForURL('**/sign-in?next=%2Fkeys')
    expect(await keysOf(user)).toHaveLength(1)
  })
})

describe('creating a key', () => {
  it('works as a plain form, too: shown once, stored nowhere, kept by no cache', async () => {
    const { post, get } = await given()
    const answer = await post('/keys', { name: 'plain' })
    const key = shownKey(answer.html) as string
    expect(await accountStatus(key)).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { html } = await get()
    expect(html).not.toContain(key)
    expect(html).toContain(`easel_…${key.slice(-4)}`)
  })

  it('answers htmx with a part of the page', async () => {
    const { post } = await given()
    const { html, headers } = await post('/keys', { name: 'part' }, { headers: { 'hx-request': 'true' } })
    expect(html).toMatch(/^<div id="keys"/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(shownKey(html)).toBeDefined()
  })

  it('stops at ten keys, exactly, also when many tabs create at once', async () => {
    const { user, post } = await given()
    const answers = await Promise.all(Array.from({ length: 14 }, (_, n) => post('/keys', { name: `tab ${n}` })))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), ...Array(5).fill(400)])
    expect(await keysOf(user)).toHaveLength(10)
    const refused = await post('/keys', { name: 'the 11th' })
    expect(refused.html).toContain('You have 10 keys, the most there may be: revoke one first.')
    await post(`/keys/${user.keyId}/revoke`)
    expect((await post('/keys', { name: 'the 10th' })).status).toBe(200)
  })

  it.each([null, { status: 'canceled' }, { endDate: new Date(Date.now() - 1000) }])(
    'needs an active subscription: %j has no form, and the request is refused',
    async (subscription) => {
      const { user, post, get } = await given({ subscription })
      const { html } = await get()
      expect(html).toContain('Keys need an active subscription')
      expect(html).not.toContain('Create key')
      const refused = await post('/keys', { name: 'unpaid' })
      expect([refused.status, shownKey(refused.html)]).toEqual([403, undefined])
      expect(await keysOf(user)).toHaveLength(1)
    },
  )

  it.each(['', '   ', 'two\nlines', 'a\u2028b', '\u200B\u200B', 'nul\0', 'x'.repeat(61)])(
    'refuses the name %j and keeps what was typed',
    async (name) => {
      const { user, post } = await given()
      const { status, html } = await post('/keys', { name })
      expect(status).toBe(400)
      expect(html).toContain('Give the key a name of 1 to 60 characters, on one line.')
      expect(await keysOf(user)).toHaveLength(1)
    },
  )

  it('takes 60 characters, however many bytes they have, and shows markup as text', async () => {
    const { user, post, get } = await given()
    await post('/keys', { name: '🖼'.repeat(60) })
    await post('/keys', { name: HOSTILE })
    expect((await keysOf(user)).map(({ name }) => name)).toContain('🖼'.repeat(60))
    const { html } = await get()
    expect(html).toContain('<bdi>&lt;b>laptop&lt;/b> &amp; &quot;scripts&quot;')
    expect(html).toContain('Never used')
  })
})

describe('a key', () => {
  it('of another account, revoked, unknown or the website’s own is neither renamed nor revoked', async () => {
    const { user, post } = await given()
    const other = await givenUser(context.service.db)
    const { rows } = await context.service.db.pool.query(
      `SELECT id FROM api_keys WHERE user_id = $1 AND kind = 'website'`,
      [user.id],
    )
    for (const id of [other.keyId, rows[0].id, crypto.randomUUID(), 'nonsense', "'"]) {
      expect((await post(`/keys/${encodeURIComponent(id)}/rename`, { name: 'mine' })).status).toBe(404)
      expect((await post(`/keys/${encodeURIComponent(id)}/revoke`)).status).toBe(404)
    }
    expect(await accountStatus(other.key)).toBe(200)
    expect((await post('/keys', { name: 'still signed in' })).status).toBe(200)
    await post(`/keys/${user.keyId}/revoke`)
    expect((await post(`/keys/${user.keyId}/rename`, { name: 'back' })).status).toBe(404)
  })

  it('for developers is seen and revoked, not renamed; the website’s own is never seen', async () => {
    const { user, post, get } = await given()
    const { keyId, key } = await givenKey(context.service.db, user.id, { concurrency: 4 })
    const { html } = await get()
    expect(html).toContain('developer')
    expect(html).not.toContain('Website')
    expect(html).not.toContain(`/keys/${keyId}/rename`)
    expect((await post(`/keys/${keyId}/rename`, { name: 'x' })).status).toBe(404)
    await post(`/keys/${keyId}/revoke`)
    expect(await accountStatus(key)).toBe(401)
  })

  it('shows what it spent in 30 days, without what was given back', async () => {
    const { db } = context.service
    const { user, get } = await given()
    const worker = standInWorker(db)
    for (const end of ['succeed', 'fail'] as const) {
      await givenGeneration(db, user, { batchSize: 3 })
      const claimed = await worker.claim()
      await (end === 'succeed' ? worker.succeed(claimed) : worker.fail(claimed, 'The model broke.'))
    }
    expect((await keysOf(user))[0]?.spent).toBe(3)
    expect((await get()).html).toContain('3 credits')
  })

  it('is not created, renamed or revoked by what another website sends', async () => {
    const { user, post } = await given()
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await post('/keys', { name: 'x' }, { headers })).status).toBe(403)
    expect((await post(`/keys/${user.keyId}/revoke`, {}, { headers })).status).toBe(403)
    expect(await keysOf(user)).toHaveLength(1)
  })
})
