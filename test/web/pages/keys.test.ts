import { describe, expect, it } from 'vitest'
import { operatorKeyStore, ownKeyStore } from '../../../src/db/accounts/api-keys.js'
import { call } from '../../support/client.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenKey, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })

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

describe('creating a key', () => {
  it('works without scripts: the page shows the key this once, and no cache keeps it', async () => {
    const { post, get } = await given()
    const answer = await post('/keys', { name: 'plain' })
    const key = shownKey(answer.html) as string
    expect(await accountStatus(key)).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { html } = await get()
    expect(html).not.toContain(key)
    expect(html).toContain(`easel_…${key.slice(-4)}`)
  })

  it('answers htmx with only the part of the page that changes', async () => {
    const { post } = await given()
    const { html, headers } = await post('/keys', { name: 'part' }, { headers: { 'hx-request': 'true' } })
    expect(html).toMatch(/^<div id="keys"/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(shownKey(html)).toBeDefined()
  })

  it('leads to the sign-in page and creates none once the session has ended', async () => {
    const { user, post } = await given()
    await context.service.db.pool.query('DELETE FROM sessions WHERE user_id = $1', [user.id])
    expect((await post('/keys', { name: 'late' })).location).toMatch(/^\/sign-in/)
    expect(await keysOf(user)).toHaveLength(1)
  })

  it('stops at exactly ten keys, even if many tabs create keys at once', async () => {
    const { user, post } = await given()
    const answers = await Promise.all(Array.from({ length: 14 }, (_, n) => post('/keys', { name: `tab ${n}` })))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), ...Array(5).fill(400)])
    expect(await keysOf(user)).toHaveLength(10)
    const refused = await post('/keys', { name: 'the 11th' })
    expect(refused.html).toContain('You have 10 keys, the most there may be: revoke one first.')
    await post(`/keys/${user.keyId}/revoke`)
    expect((await post('/keys', { name: 'the 10th' })).status).toBe(200)
  })

  it.each([
    ['no subscription', null],
    ['a canceled subscription', { status: 'canceled' }],
    ['a subscription that is over', { endDate: new Date(0) }],
  ])('is neither offered nor done with %s', async (_, subscription) => {
    const { user, post, get } = await given({ subscription })
    const { html } = await get()
    expect(html).toContain('Keys need an active subscription')
    expect(html).not.toContain('Create key')
    const refused = await post('/keys', { name: 'unpaid' })
    expect([refused.status, shownKey(refused.html)]).toEqual([403, undefined])
    expect(await keysOf(user)).toHaveLength(1)
  })

  it.each(['', '   ', 'two\nlines', 'a\u2028b', '\u200B\u200B', 'nul\0', 'x'.repeat(61)])(
    'is refused with the name %j',
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
  it('gets another name, and is refused everywhere once it is revoked', async () => {
    const { user, post, get } = await given()
    const renamed = await post(`/keys/${user.keyId}/rename`, { name: 'server' })
    expect([renamed.status, renamed.html.includes('The key has its new name.')]).toEqual([200, true])
    expect((await get()).html).toContain('<bdi>server</bdi>')
    expect((await post(`/keys/${user.keyId}/rename`, { name: ' ' })).status).toBe(400)
    expect((await keysOf(user)).map(({ name }) => name)).toEqual(['server'])
    expect(await accountStatus(user.key)).toBe(200)
    const revoked = await post(`/keys/${user.keyId}/revoke`)
    expect([revoked.status, revoked.html.includes('The key is revoked.')]).toEqual([200, true])
    expect(await accountStatus(user.key)).toBe(401)
    expect(await keysOf(user)).toEqual([])
  })

  it('that is another account’s, revoked, unknown or the website’s own can be neither renamed nor revoked', async () => {
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

  it('for developers is shown and can be revoked but not renamed; the website’s own key is never shown', async () => {
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

  it('is shown with the credits it spent in 30 days, without those given back', async () => {
    const { db } = context.service
    const { user, get } = await given()
    for (const how of ['succeed', 'fail'] as const) await givenEndedGeneration(db, user, { batchSize: 3 }, how)
    expect((await keysOf(user))[0]?.spent).toBe(3)
    expect((await get()).html).toContain('3 credits')
  })

  it('is not created, renamed or revoked by a form that another website sends', async () => {
    const { user, post } = await given()
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await post('/keys', { name: 'x' }, { headers })).status).toBe(403)
    expect((await post(`/keys/${user.keyId}/revoke`, {}, { headers })).status).toBe(403)
    expect(await keysOf(user)).toHaveLength(1)
  })
})

describe('the limits of a key', () => {
  it('are set with it or later, shown, and taken away again', async () => {
    const { user, post } = await given()
    const made = await post('/keys', { name: 'shop', until: '2099-03-31', monthly_limit: '50', models: '1' })
    expect(made.status).toBe(200)
    const [key] = (await keysOf(user)).filter(({ name }) => name === 'shop')
    expect(key).toMatchObject({ expiresAt: new Date('2099-03-31T23:59:59.999Z'), monthlyLimit: 50, models: [1] })
    expect(made.html).toContain('0 of 50 credits this month')
    expect(made.html).toContain('For 1 model only')
    const path = `/keys/${key?.id}/limits`
    expect((await post(path, { until: '', monthly_limit: '7' })).html).toContain('The key has its new limits.')
    const [changed] = (await keysOf(user)).filter(({ name }) => name === 'shop')
    expect(changed).toMatchObject({ expiresAt: null, monthlyLimit: 7, models: null })
  })

  it('keep an end with a time of day while its day stays the same in the form, and say the time', async () => {
    const { user, cookie, post } = await given()
    const end = new Date('2099-03-31T12:30:00Z')
    await operatorKeyStore(context.service.db).change(user.keyId, { expiresAt: end })
    const { html } = await visit(context.service.url, `/keys?limits=${user.keyId}`, { cookie })
    expect(html).toContain('value="2099-03-31"')
    expect(html).toContain('It ends at 12:30 on that day, until you choose another.')
    const path = `/keys/${user.keyId}/limits`
    const saved = await post(path, { until: '2099-03-31', monthly_limit: '7' })
    expect(await keysOf(user)).toMatchObject([{ expiresAt: end, monthlyLimit: 7 }])
    expect(textOf(saved.html)).toMatch(/Until Mar 31, 2099, 12:30\sPM UTC/)
    const moved = await post(path, { until: '2099-04-01' })
    expect(await keysOf(user)).toMatchObject([{ expiresAt: new Date('2099-04-01T23:59:59.999Z') }])
    expect(textOf(moved.html)).toContain('Until Apr 1, 2099')
  })

  it('keep models that are not on offer now, so that a key for these alone does not become one for all', async () => {
    const { user, cookie } = await given()
    await operatorKeyStore(context.service.db).change(user.keyId, { models: [987_654] })
    const { html } = await visit(context.service.url, `/keys?limits=${user.keyId}`, { cookie })
    expect(html).toMatch(/name="models" value="987654" checked[^>]*>\s*<span>Model version 987654, not on offer now/)
  })

  it.each([
    [{ until: '2020-01-01' }, 'The end of a key must be a later date'],
    [{ until: 'soon' }, 'The end of a key must be a later date'],
    [{ monthly_limit: '0' }, 'The credits a month must be a whole number from 1'],
    [{ monthly_limit: 'all' }, 'The credits a month must be a whole number from 1'],
  ])('are refused in one sentence, and nothing changes: %j', async (limits, sentence) => {
    const { user, post } = await given()
    for (const path of ['/keys', `/keys/${user.keyId}/limits`]) {
      const refused = await post(path, { name: 'x', ...limits })
      expect([refused.status, refused.html.includes(sentence)]).toEqual([400, true])
    }
    expect(await keysOf(user)).toMatchObject([{ expiresAt: null, monthlyLimit: null, models: null }])
  })

  it('of another account’s key, a revoked one or a developer key cannot be changed', async () => {
    const [{ post }, other] = [await given(), await given()]
    const { keyId } = await givenKey(context.service.db, other.user.id, { concurrency: 1 })
    for (const id of [other.user.keyId, keyId, 'none'])
      expect((await post(`/keys/${id}/limits`, { monthly_limit: '1' })).status).toBe(404)
    expect((await other.post(`/keys/${keyId}/limits`, { monthly_limit: '1' })).status).toBe(404)
  })
})

describe('operator keys', () => {
  async function givenOperator() {
    const { db } = context.service
    const signedIn = await given({ subscription: null })
    await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [signedIn.user.id])
    const status = async (key: string) => (await call(context.service.url, 'GET', '/admin/v1/queue', { key })).status
    const stored = async () =>
      (await operatorKeyStore(db).list(signedIn.user.id)).filter((it) => it.kind === 'operator')
    const acts = async () => {
      const { rows } = await db.pool.query(
        'SELECT action, actor, reason FROM operator_actions WHERE target = $1 ORDER BY id',
        [signedIn.user.username],
      )
      return rows
    }
    return { ...signedIn, status, stored, acts }
  }
  const NEW = { name: 'reports', scope: 'accounts', until: '2099-03-31', reason: 'the shop' }
  const operatorKeyIn = (html: string) => /value="(easel-operator_\w{38})"/.exec(html)?.[1] as string

  it('are made with a scope and an end, renamed and revoked, each with a reason in the log', async () => {
    const { user, post, get, status, stored, acts } = await givenOperator()
    const made = await post('/keys/operator', NEW)
    const key = operatorKeyIn(made.html)
    expect(await status(key)).toBe(200)
    expect(made.html).toContain(`/admin/v1/queue`)
    const [{ id, ...facts } = { id: '' }] = await stored()
    expect(facts).toMatchObject({ name: 'reports', scope: 'accounts', expiresAt: new Date('2099-03-31T23:59:59.999Z') })
    const page = (await get()).html
    expect(page).not.toContain(key)
    expect(textOf(page)).toContain(`easel-operator_…${key.slice(-4)}`)
    expect(textOf(page)).toContain('Until Mar 31, 2099')

    const renamed = await post(`/keys/operator/${id}/rename`, { name: 'figures', reason: 'clearer' })
    expect(renamed.html).toContain('The key has its new name.')
    expect(await stored()).toMatchObject([{ name: 'figures' }])
    const revoked = await post(`/keys/operator/${id}/revoke`, { reason: 'no more shop' })
    expect(revoked.html).toContain('The key is revoked.')
    expect(await status(key)).toBe(401)
    expect((await get()).html).not.toContain('<bdi>figures</bdi>')
    const actor = user.username
    expect(await acts()).toEqual([
      { actor, action: `created operator key ${id} with the scope accounts`, reason: 'the shop' },
      { actor, action: `changed key ${id}`, reason: 'clearer' },
      { actor, action: `revoked key ${id}`, reason: 'no more shop' },
    ])
  })

  it.each([
    [{ reason: ' ' }, 'Say why in one line'],
    [{ name: '' }, 'Give the key a name of 1 to 60 characters, on one line.'],
    [{ scope: 'some' }, 'Choose what the key may do.'],
    [{ until: '2020-01-01' }, 'The end of a key must be a later date'],
  ])('are refused in one sentence beside what was typed, and none is made: %j', async (wrong, sentence) => {
    const { post, stored, acts } = await givenOperator()
    const { status, html } = await post('/keys/operator', { ...NEW, name: 'reports', ...wrong })
    expect([status, html.includes(sentence)]).toEqual([400, true])
    expect(html).toMatch(/<details open>\s*<summary>New operator key/)
    expect(await stored()).toEqual([])
    expect(await acts()).toEqual([])
  })

  it('of another operator, or of another kind, can be neither renamed nor revoked there', async () => {
    const [{ user, post, acts }, other] = [await givenOperator(), await givenOperator()]
    await other.post('/keys/operator', NEW)
    const [theirs] = await other.stored()
    for (const id of [theirs?.id, user.keyId, crypto.randomUUID(), "'"]) {
      const path = `/keys/operator/${encodeURIComponent(`${id}`)}`
      expect((await post(`${path}/rename`, { name: 'mine', reason: 'x' })).status).toBe(404)
      expect((await post(`${path}/revoke`, { reason: 'x' })).status).toBe(404)
    }
    expect(await other.stored()).toMatchObject([{ name: 'reports', revokedAt: null }])
    expect(await acts()).toEqual([])
  })

  it('do not exist for who is no operator, or is none any more', async () => {
    const { user, post, get, stored } = await givenOperator()
    await post('/keys/operator', NEW)
    const [{ id } = { id: '' }] = await stored()
    await context.service.db.pool.query(`UPDATE users SET role = 'subscriber' WHERE id = $1`, [user.id])
    const { html } = await get()
    expect(html).not.toMatch(/operator/i)
    for (const path of ['/keys/operator', `/keys/operator/${id}/rename`, `/keys/operator/${id}/revoke`])
      expect((await post(path, NEW)).status).toBe(404)
    expect((await post(`/keys/${id}/revoke`)).status).toBe(404)
    expect(await stored()).toMatchObject([{ name: 'reports', revokedAt: null }])
  })
})
