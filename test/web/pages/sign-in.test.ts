import { beforeAll, describe, expect, it } from 'vitest'
import { hashToken, newToken, SESSION_DAYS } from '../../../src/core/accounts/session.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { formsOf, visit } from '../../support/website-client.js'

const context = useService({ env: { SITE_LANGUAGES: 'en,de' } })
let user: GivenUser

beforeAll(async () => {
  user = await givenUser(context.service.db)
  await givenPassword(context.service.db, user)
})

const { send } = formsOf(() => context.service.url)

const signIn = (username: string, password = PASSWORD, more: Readonly<Record<string, string>> = {}) =>
  send('POST', '/sign-in', { body: { username, password, ...more } })

describe('signing in', () => {
  it('with the right password begins a session and leads back to the page that asked for it', async () => {
    const { status, location, cookie, attributes } = await signIn(user.username.toUpperCase(), PASSWORD, {
      next: '/gallery?q=a',
    })
    expect([status, location]).toEqual([303, '/gallery?q=a'])
    expect(attributes).toMatch(/HttpOnly/)
    expect(attributes).toMatch(/SameSite=Lax/)
    // The browser keeps it for as long as the session lasts.
    expect(attributes).toContain(`Max-Age=${SESSION_DAYS * 24 * 60 * 60};`)
    expect((await send('GET', '/', { cookie })).location).toBe('/playground')
  })

  it('with a wrong password, an unknown name or no password is refused in the same words, and keeps the name that was typed', async () => {
    const wrong = await signIn(user.username, 'wrong')
    const unknown = await signIn('nobody-of-this-name')
    const { username } = await givenUser(context.service.db)
    const passwordless = await signIn(username, '')
    for (const { status, html, cookie } of [wrong, unknown, passwordless]) {
      expect(status).toBe(401)
      expect(html).toContain('do not belong together')
      expect(cookie).toBeUndefined()
    }
    expect(wrong.html).toContain(`value="${user.username}"`)
  })

  it('over http:// says that no session is kept there, where the site is https://', async () => {
    const { url } = await context.service.server({}, { BASE_URL: 'https://easel.test', TRUST_PROXY: '127.0.0.1' })
    const from = (origin: string, language = 'en') =>
      visit(url, '/sign-in', {
        body: { username: user.username, password: PASSWORD },
        // Browsers send Sec-Fetch-Site only over https and to the loopback address.
        headers: { origin, 'accept-language': language, 'sec-fetch-site': 'none', 'x-forwarded-for': '192.0.2.77' },
      })
    const { status, html, cookie } = await from('http://192.168.1.5:3000')
    expect([status, cookie]).toEqual([403, undefined])
    expect(html).toContain('where your browser keeps no session. Open https://easel.test instead.')
    expect((await from('http://192.168.1.5:3000', 'de')).html).toContain('Öffne stattdessen https://easel.test.')
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:3000', 'https://easel.test'])
      expect((await from(origin)).status).toBe(303)
  })

  it('leads to no other website', async () => {
    for (const next of ['//evil.test', 'https://evil.test', '/\\evil.test', '/sign-in', '/a b', ''])
      expect((await signIn(user.username, PASSWORD, { next })).location).toBe('/playground')
  })

  it('is refused after too many tries even with the right password, but not from another address or for another user', async () => {
    const { db } = context.service
    const target = await givenUser(db)
    await givenPassword(db, target)
    const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const from = (address: string, password: string, { username }: GivenUser = target) =>
      formsOf(() => url).send('POST', '/sign-in', {
        body: { username, password },
        headers: { 'x-forwarded-for': address },
      })
    for (let n = 0; n < 12; n++) expect((await from('192.0.2.1', 'wrong')).status).toBe(401)
    expect((await from('192.0.2.1', PASSWORD)).status).toBe(429)
    expect((await from('192.0.2.1', PASSWORD, user)).status).toBe(303)
    // Nobody can lock somebody out.
    expect((await from('192.0.2.2', PASSWORD)).status).toBe(303)
  })

  it('is refused if another website sends the form', async () => {
    const body = { username: user.username, password: PASSWORD }
    const refused = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': '', origin: 'null' },
    ]
    for (const headers of refused) {
      const { status, cookie } = await send('POST', '/sign-in', { body, headers })
      expect([status, cookie]).toEqual([403, undefined])
    }
  })
})

describe('a form over plain http, where browsers send no Sec-Fetch-Site', () => {
  const statusFrom = async (origin: string | undefined) => {
    const body = new URLSearchParams({ username: user.username, password: PASSWORD })
    const headers = { accept: 'text/html', ...(origin !== undefined && { origin }) }
    return (await fetch(`${context.service.url}/sign-in`, { method: 'POST', redirect: 'manual', headers, body })).status
  }

  it('is taken from the page of BASE_URL, even if a proxy sends a Host of its own, and from that Host', async () => {
    expect(await statusFrom('http://easel.test')).toBe(303)
    expect(await statusFrom(context.service.url)).toBe(303)
  })

  it.each([
    undefined,
    'null',
    'https://easel.test',
    'http://easel.test:81',
    'http://easel.test.evil.example',
    'easel.test',
  ])('is refused from %s', async (origin) => expect(await statusFrom(origin)).toBe(403))
})

describe('a link to sign in', () => {
  it('signs in once, and only when its button is pressed', async () => {
    const token = newToken()
    await credentialStore(context.service.db).addLink(user.id, hashToken(token))
    const page = await send('GET', `/sign-in/link?token=${token}`)
    expect(page.html).toContain(token)
    expect(page.html).toContain(`sign in as <bdi>${user.username}</bdi>`)
    expect(page.cookie).toBeUndefined()
    const first = await send('POST', '/sign-in/link', { body: { token } })
    expect([first.status, first.location]).toEqual([303, '/playground'])
    expect(first.cookie).toBeDefined()
    const second = await send('POST', '/sign-in/link', { body: { token } })
    expect([second.status, second.cookie]).toEqual([401, undefined])
    const again = await send('GET', `/sign-in/link?token=${token}`)
    expect([again.status, again.html.includes('used before or is too old')]).toEqual([401, true])
  })

  it('that is too old signs nobody in', async () => {
    const token = newToken()
    const { db } = context.service
    await credentialStore(db).addLink(user.id, hashToken(token))
    await db.pool.query('UPDATE sign_in_links SET expires_at = now() WHERE token_hash = $1', [hashToken(token)])
    expect((await send('POST', '/sign-in/link', { body: { token } })).status).toBe(401)
  })
})

describe('a browser that likes German best', () => {
  const headers = { 'accept-language': 'de' }
  const german = (method: string, path: string, body?: Readonly<Record<string, string>>) =>
    send(method, path, { headers, body })

  it('reads the form in German, and why it was refused', async () => {
    const page = await german('GET', '/sign-in?sent=')
    expect(page.html).toContain('<html lang="de">')
    expect(page.html).toContain('<title>Anmelden · Easel</title>')
    expect(page.html).toContain('Benutzername oder E-Mail')
    expect(page.html).toContain('Er gilt nur einmal, und nur 15 Minuten lang.')
    const wrong = await german('POST', '/sign-in', { username: 'niemand', password: 'wrong' })
    expect([wrong.status, wrong.html.includes('Name und Passwort passen nicht zusammen.')]).toEqual([401, true])
    const noName = await german('POST', '/sign-in/mail', { username: '' })
    expect([noName.status, noName.html.includes('Gib zuerst deinen Benutzernamen')]).toEqual([400, true])
    const elsewhere = await send('POST', '/sign-in', {
      body: {},
      headers: { ...headers, 'sec-fetch-site': 'cross-site' },
    })
    expect(elsewhere.html).toContain('Diese Anfrage kam von einer anderen Website')
  })

  it('reads in German what a link does, and that it is over', async () => {
    const token = newToken()
    await credentialStore(context.service.db).addLink(user.id, hashToken(token))
    const { html } = await german('GET', `/sign-in/link?token=${token}`)
    expect(html).toContain('<h1>Willkommen bei <bdi>Easel</bdi></h1>')
    expect(html).toContain(`als <bdi>${user.username}</bdi> anzumelden`)
    expect((await german('POST', '/sign-in/link', { token: 'x' })).html).toContain('Dieser Link wurde schon benutzt')
  })
})

describe('a session', () => {
  it('ends with signing out, for every copy of its cookie', async () => {
    const { cookie } = await signIn(user.username)
    expect((await send('POST', '/sign-out', { cookie })).location).toBe('/')
    expect((await send('GET', '/', { cookie })).status).toBe(200)
  })

  it('ends with its time, whatever the browser still sends', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const cookie = await givenSession(db, owner)
    expect((await send('GET', '/', { cookie })).location).toBe('/playground')
    await db.pool.query('UPDATE sessions SET expires_at = now() WHERE user_id = $1', [owner.id])
    expect((await send('GET', '/', { cookie })).status).toBe(200)
  })

  it('ends when the password changes, and when the account is deleted', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const before = await givenSession(db, owner)
    await givenPassword(db, owner)
    expect((await send('GET', '/', { cookie: before })).status).toBe(200)
    const after = await givenSession(db, owner)
    expect((await send('GET', '/', { cookie: after })).status).toBe(303)
    await db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [owner.id])
    expect((await send('GET', '/', { cookie: after })).status).toBe(200)
  })

  it('that has ended leads to the sign-in page at the next click, and from there back to the page before', async () => {
    const path = '/confirm-email?token=x'
    const back = `/sign-in?next=${encodeURIComponent(path)}`
    const sent = await send('POST', '/confirm-email', {
      body: { token: 'x' },
      headers: { referer: `http://easel.test${path}` },
    })
    expect([sent.status, sent.location]).toEqual([303, back])
    const headers = { 'hx-request': 'true', 'hx-current-url': `http://easel.test${path}` }
    const answer = await fetch(`${context.service.url}/confirm-email`, { headers })
    expect([answer.status, answer.headers.get('hx-redirect')]).toEqual([401, back])
    expect((await signIn(user.username, PASSWORD, { next: path })).location).toBe(path)
  })

  it('adds one key of the website to the account, however many sessions there are', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    await givenSession(db, owner)
    await givenSession(db, owner)
    const { rows } = await db.pool.query(`SELECT kind FROM api_keys WHERE user_id = $1 ORDER BY kind`, [owner.id])
    expect(rows.map(({ kind }) => kind)).toEqual(['personal', 'website'])
  })
})

describe('an address that no page has', () => {
  it('is answered with a page for people, and as its interface answers for programs', async () => {
    const page = await send('GET', '/no-such-page')
    expect(page.status).toBe(404)
    expect(page.html).toContain('<h1>Nothing here</h1>')
    const api = await send('GET', '/api/v1/nothing')
    expect([api.status, JSON.parse(api.html)]).toEqual([404, { error: 'No such endpoint: GET /api/v1/nothing.' }])
    const program = await send('GET', '/nothing', { headers: { accept: '*/*' } })
    expect(JSON.parse(program.html)).toHaveProperty('error')
  })
})
