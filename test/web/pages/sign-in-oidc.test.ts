import { pino } from 'pino'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { startServer } from '../../../src/process/start-server.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import {
  CALLBACK,
  CLIENT,
  type OidcServer,
  type Person,
  SIGNED_OUT,
  startOidc,
  wayThrough,
} from '../../support/oidc-server.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { formsOf, visit } from '../../support/website-client.js'

let oidc: OidcServer

const context = useService(async () => {
  oidc = await startOidc()
  const provider = { OIDC_ISSUER: oidc.issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret }
  return { env: { ...provider, SITE_LANGUAGES: 'en,de' } }
})
afterAll(() => oidc.close())

const { send } = formsOf(() => context.service.url)

/** Goes to the provider and, signed in there, to where it sends the browser back: the callback's path. */
async function goThere(path = '/sign-in/oidc') {
  const { location, cookie, attributes } = await send('GET', path)
  const at = await wayThrough(oidc.issuer, location as string)
  return { back: at.replace('http://easel.test', ''), cookie, attributes, asked: new URL(location as string) }
}

async function signInAs(someone: Person | undefined, path?: string) {
  oidc.person = someone
  const { back, cookie } = await goThere(path)
  return { back, cookie, answer: await send('GET', back, { cookie }) }
}

async function whoHas(cookie: string | undefined) {
  const { rows } = await context.service.db.pool.query(
    `SELECT u.username, u.email FROM sessions s JOIN users u ON u.id = s.user_id ORDER BY s.created_at DESC LIMIT 1`,
  )
  expect(cookie).toMatch(/^easel=/)
  return rows[0]
}

async function givenReader() {
  const { db } = context.service
  const user = await givenUser(db)
  const email = `${user.username}@mail.test`
  await operatorUserStore(db).setEmail(user.id, email)
  return { ...user, email }
}
/** The provider sets a cookie to clear first, then that of the session. */
const sessionIn = async (back: string, cookie: string | undefined) => {
  const answer = await fetch(context.service.url + back, {
    redirect: 'manual',
    headers: { accept: 'text/html', ...(cookie && { cookie }) },
  })
  const set = answer.headers.getSetCookie().find((it) => it.startsWith('easel='))
  return { status: answer.status, location: answer.headers.get('location'), cookie: set?.split(';')[0] }
}

describe('signing in through the provider', () => {
  it('is offered, and uses PKCE, a state and a nonce, kept in a cookie that scripts cannot read', async () => {
    const { html } = await send('GET', '/sign-in?next=/gallery')
    // With the address of the site: the provider sends browsers back there, also those that came by another one.
    expect(html).toContain(`href="http://easel.test/sign-in/oidc?next=%2Fgallery"`)
    expect(html).toContain(`Sign in with ${new URL(oidc.issuer).host}`)
    oidc.person = { sub: 'nobody' }
    const { asked, attributes } = await goThere()
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      code_challenge_method: 'S256',
      nonce: expect.stringMatching(/./),
      state: expect.stringMatching(/./),
      redirect_uri: CALLBACK,
    })
    expect(attributes).toMatch(/^easel-oidc-[\w-]{16}=.*Max-Age=600;.*HttpOnly; SameSite=Lax/)
  })

  it('leads to the account with the verified address, and later to the same account whatever the address is', async () => {
    const user = await givenReader()
    oidc.person = { sub: `sub-${user.id}`, email: user.email.toUpperCase(), email_verified: true }
    const first = await goThere('/sign-in/oidc?next=/gallery')
    const { status, location, cookie } = await sessionIn(first.back, first.cookie)
    expect([status, location]).toEqual([303, '/gallery'])
    expect(await whoHas(cookie)).toMatchObject({ username: user.username })
    oidc.person = { sub: `sub-${user.id}`, email: 'other@mail.test', email_verified: true }
    const again = await goThere()
    expect(await whoHas((await sessionIn(again.back, again.cookie)).cookie)).toMatchObject({ username: user.username })
  })

  it('goes on to the playground from a page whose address is too long for a cookie', async () => {
    oidc.person = { sub: 'verbose', email: (await givenReader()).email, email_verified: true }
    for (const long of ['a'.repeat(3000), '"'.repeat(1500)]) {
      const { back, cookie } = await goThere(`/sign-in/oidc?next=${encodeURIComponent(`/gallery?q=${long}`)}`)
      expect(cookie?.length).toBeLessThan(4096)
      expect(await sessionIn(back, cookie)).toMatchObject({ status: 303, location: '/playground' })
    }
  })

  it('is refused with an unverified address, with one that is another person’s already, and without an account', async () => {
    const user = await givenReader()
    const { answer } = await signInAs({ sub: 'unverified', email: user.email, email_verified: false })
    expect(answer.status).toBe(403)
    // Some providers do not say whether they have verified it.
    expect((await signInAs({ sub: 'silent', email: user.email })).answer.status).toBe(403)
    expect(answer.html).toContain('does not say that your email address is verified')
    await signInAs({ sub: 'the-first', email: user.email, email_verified: true })
    const later = await signInAs({ sub: 'the-second', email: user.email, email_verified: true })
    expect([later.answer.status, later.answer.html.includes('No account here belongs to your sign-in')]).toEqual([
      403,
      true,
    ])
    const stranger = await signInAs({ sub: 'stranger' })
    expect([stranger.answer.status, stranger.answer.html.includes('told us no email address')]).toEqual([403, true])
    expect((await signInAs({ sub: 'zero\0', email: user.email, email_verified: true })).answer.status).toBe(503)
    // In lower case the Kelvin sign is a k.
    await operatorUserStore(context.service.db).setEmail((await givenUser(context.service.db)).id, 'kate@mail.test')
    const lookalike = await signInAs({ sub: 'kelvin', email: '\u212Aate@mail.test', email_verified: true })
    expect(lookalike.answer.status).toBe(403)
  })

  it('lets who has no account here sign in as somebody else, whom the provider would else not ask', async () => {
    const { answer } = await signInAs({ sub: 'of-no-account', email: 'nobody@mail.test', email_verified: true })
    const [, again = ''] = /href="http:\/\/easel\.test(\/sign-in\/oidc[^"]*again=)"/.exec(answer.html) ?? []
    const promptOf = async (path: string) =>
      new URL((await send('GET', path)).location as string).searchParams.get('prompt')
    expect(await promptOf(again.replaceAll('&amp;', '&'))).toBe('login')
    expect(await promptOf('/sign-in/oidc')).toBeNull()
  })

  it('is offered, and refused, in the language of the browser', async () => {
    const headers = { 'accept-language': 'de' }
    const { host } = new URL(oidc.issuer)
    expect((await send('GET', '/sign-in', { headers })).html).toContain(`Mit ${host} anmelden`)
    const answer = async (person: Person | undefined) => {
      oidc.person = person
      const { back, cookie } = await goThere()
      return (await send('GET', back, { cookie, headers })).html
    }
    expect(await answer(undefined)).toContain(`${host} hat dich nicht angemeldet.`)
    expect(await answer({ sub: 'fremd' })).toContain(`${host} hat uns keine E-Mail-Adresse genannt`)
    expect(await answer({ sub: 'neu', email: 'neu@mail.test' })).toContain(
      `${host} bestätigt nicht, dass deine E-Mail-Adresse geprüft ist.`,
    )
    expect(await answer({ sub: 'neu', email: 'neu@mail.test', email_verified: true })).toContain(
      `Zu deiner Anmeldung bei ${host} gehört hier kein Konto.`,
    )
    const { html } = await send('GET', '/sign-in/oidc/callback', { headers })
    expect(html).toContain('Diese Anmeldung hat nicht in diesem Browser begonnen')
  })

  it('alone makes accounts, and no form does, if SIGN_UP says so', async () => {
    const { url } = await context.service.server({}, { SIGN_UP: 'provider' })
    oidc.person = { sub: 'of-the-house', email: 'house@mail.test', email_verified: true }
    const { back, cookie } = await goThere()
    expect(await visit(url, back, { cookie })).toMatchObject({ status: 303, location: '/playground' })
    expect((await visit(url, '/sign-up')).status).toBe(404)
    expect((await visit(url, '/sign-in')).html).not.toContain('/sign-up')
  })

  it('makes an account if sign-up is open, with a free username that does not look like an address', async () => {
    const { url } = await context.service.server({}, { SIGN_UP: 'open' })
    const open = formsOf(() => url)
    const signUp = async (someone: Person) => {
      oidc.person = someone
      const { back, cookie } = await goThere()
      expect(await open.send('GET', back, { cookie })).toMatchObject({ status: 303, location: '/playground' })
      const { rows } = await context.service.db.pool.query(
        `SELECT u.username, u.email, u.credits::int, u.role FROM users u JOIN identities i ON i.user_id = u.id WHERE i.subject = $1`,
        [someone.sub],
      )
      return rows[0]
    }
    const facts = { credits: 0, role: 'subscriber' }
    expect(
      await signUp({ sub: 'n1', preferred_username: 'Zoë Q@mail.test', email: 'zoe@m.test', email_verified: true }),
    ).toEqual({ username: 'ZoeQ', email: 'zoe@m.test', ...facts })
    expect(await signUp({ sub: 'n2', preferred_username: 'zoeq', email: 'zoe@m.test', email_verified: true })).toEqual({
      ...facts,
      username: 'zoeq-2',
      email: null,
    })
  })
})

describe('the address of an account', () => {
  const signInWith = async (sub: string, email: string) => {
    oidc.person = { sub, email, email_verified: true }
    const { back, cookie } = await goThere()
    return whoHas((await sessionIn(back, cookie)).cookie)
  }

  it('follows that of the provider, and ends the links that were sent to the old one', async () => {
    const user = await givenReader()
    const sub = `moved-${user.id}`
    await signInWith(sub, user.email)
    const token = newToken()
    await credentialStore(context.service.db).addLink(user.id, hashToken(token))
    expect(await signInWith(sub, `${user.username}@New.test`)).toMatchObject({ email: `${user.username}@New.test` })
    expect(await credentialStore(context.service.db).findLink(hashToken(token))).toBeUndefined()
  })

  it('stays as it is where somebody has chosen another one here, or another account has it', async () => {
    const { db } = context.service
    const [user, other] = [await givenReader(), await givenReader()]
    const sub = `stays-${user.id}`
    await signInWith(sub, user.email)
    expect(await signInWith(sub, other.email.toUpperCase())).toMatchObject({ email: user.email })
    await operatorUserStore(db).setEmail(other.id, null)
    expect(await signInWith(sub, other.email)).toMatchObject({ email: other.email })
    await operatorUserStore(db).setEmail(user.id, `chosen-${user.email}`)
    expect(await signInWith(sub, `third-${user.email}`)).toMatchObject({ email: `chosen-${user.email}` })
  })

  it('does not follow one that is not verified', async () => {
    const user = await givenReader()
    const sub = `unverified-${user.id}`
    await signInWith(sub, user.email)
    oidc.person = { sub, email: 'anybody@mail.test', email_verified: false }
    const { back, cookie } = await goThere()
    expect(await whoHas((await sessionIn(back, cookie)).cookie)).toMatchObject({ email: user.email })
  })
})

describe('signing out', () => {
  /** Signs in through the provider, and resolves to all cookies of the browser. */
  async function signedIn(url = context.service.url) {
    const user = await givenReader()
    oidc.person = { sub: `out-${user.id}`, email: user.email, email_verified: true }
    const { location, cookie } = await visit(url, '/sign-in/oidc')
    const back = (await wayThrough(oidc.issuer, location as string)).replace('http://easel.test', '')
    const { headers } = await visit(url, back, { cookie })
    const held = headers.getSetCookie().map((it) => it.split(';')[0] as string)
    return held.filter((it) => !it.endsWith('='))
  }
  const clearedBy = (headers: Headers) => headers.getSetCookie().map((it) => it.split('=')[0])

  it('of the account offers to sign out at the provider, too, with its ID token', async () => {
    const held = await signedIn()
    const cookie = held.join('; ')
    expect(await send('GET', '/sign-out/oidc', { cookie })).toMatchObject({ status: 303, location: '/' })
    const out = await send('POST', '/sign-out', { cookie })
    expect([out.status, out.location]).toEqual([303, '/signed-out'])
    const page = await send('GET', '/signed-out', { cookie })
    expect(page.html).toContain(`Sign out at ${new URL(oidc.issuer).host}, too`)
    expect(page.headers.get('refresh')).toBeNull()
    const there = await send('GET', '/sign-out/oidc', { cookie })
    const asked = new URL(there.location as string)
    expect(asked.origin + asked.pathname).toBe(`${oidc.issuer}/session/end`)
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      client_id: CLIENT.id,
      id_token_hint: expect.stringMatching(/^ey[\w-]+\.[\w-]+\.[\w-]+$/),
    })
    expect((await fetch(asked)).status).toBe(200)
    expect(clearedBy(there.headers)).toEqual(['easel-id-token'])
    const { html } = await send('GET', '/signed-out')
    expect(html).not.toContain('Sign out at')
    // Else who signs in again would be who they were, without a question.
    expect(html).toContain('href="/sign-in?again="')
    expect((await send('GET', '/sign-in?again=')).html).toMatch(/\/sign-in\/oidc\?next=[^"]*again=/)
    expect(await send('GET', '/sign-out/oidc')).toMatchObject({ status: 303, location: '/' })
  })

  it('offers nothing of a provider that has no page for it, and asks it who signs in next', async () => {
    const google = await startOidc({ discovery: { end_session_endpoint: undefined } })
    onTestFinished(() => google.close())
    const { url } = await context.service.server({}, { OIDC_ISSUER: google.issuer })
    const user = await givenReader()
    google.person = { sub: `google-${user.id}`, email: user.email, email_verified: true }
    const { location, cookie } = await visit(url, '/sign-in/oidc')
    const back = (await wayThrough(google.issuer, location as string)).replace('http://easel.test', '')
    const { headers } = await visit(url, back, { cookie })
    const held = headers.getSetCookie().map((it) => it.split(';')[0] as string)
    expect(held).toContain('easel-id-token=-')
    const out = await visit(url, '/sign-out', { cookie: held.join('; '), body: {} })
    expect(out.location).toBe('/signed-out')
    const { html } = await visit(url, '/signed-out', { cookie: held.join('; ') })
    expect([html.includes('Sign out at'), html.includes('href="/sign-in?again="')]).toEqual([false, true])
  })

  it('leads there at once and back if the operator says so', async () => {
    const { url } = await context.service.server({}, { OIDC_SIGN_OUT: 'always' })
    const cookie = (await signedIn(url)).join('; ')
    expect((await visit(url, '/sign-out', { cookie, body: {} })).location).toBe('/signed-out')
    const page = await visit(url, '/signed-out', { cookie })
    expect(page.headers.get('refresh')).toBe('0; url=/sign-out/oidc')
    const { location } = await visit(url, '/sign-out/oidc', { cookie })
    expect(new URL(location as string).searchParams.get('post_logout_redirect_uri')).toBe(SIGNED_OUT)
    // Back from there nothing leads on.
    expect((await visit(url, '/signed-out')).headers.get('refresh')).toBeNull()
  })

  it('is of Easel alone for who has signed in with a password since', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await givenPassword(db, user)
    const [, idToken] = await signedIn()
    const body = { username: user.username, password: PASSWORD }
    const { headers } = await visit(url, '/sign-in', { body, cookie: idToken })
    expect(clearedBy(headers)).toContain('easel-id-token')
    expect((await send('POST', '/sign-out', { cookie: await givenSession(db, user) })).location).toBe('/')
  })
})

describe('the answer of the provider', () => {
  it('is refused with a wrong state, without the cookie, and with a changed cookie', async () => {
    oidc.person = { sub: 'someone' }
    const { back, cookie } = await goThere()
    const [name] = (cookie as string).split('=')
    const elsewhere = back.replace(/state=[^&]+/, 'state=wrong')
    const junk = ['x', '.', '.x', '=', '~', '%20', '.'.repeat(3)].map((it) => `${cookie}${it}`)
    const answers = [undefined, ...junk, `${name}=e30.e30`].map((forged) => [back, forged] as const)
    for (const [at, forged] of [...answers, [elsewhere, cookie] as const]) {
      const { status, html } = await send('GET', at, { cookie: forged })
      expect([status, html.includes('was not begun in this browser')]).toEqual([400, true])
    }
  })

  it('is refused with another sign-in’s cookie under its own name', async () => {
    oidc.person = { sub: 'someone' }
    const [one, other] = [await goThere(), await goThere()]
    const [name] = (one.cookie as string).split('=')
    const moved = `${name}=${other.cookie?.split('=')[1]}`
    const { status, html } = await send('GET', one.back, { cookie: moved })
    expect([status, html.includes('did not sign you in')]).toEqual([401, true])
  })

  it('ends any of several sign-ins that were begun in as many tabs, in any order', async () => {
    const user = await givenReader()
    oidc.person = { sub: `tabs-${user.id}`, email: user.email, email_verified: true }
    const paths = ['/gallery', '/keys', '/usage'] as const
    const tabs = await Promise.all(paths.map((next) => goThere(`/sign-in/oidc?next=${next}`)))
    let held = tabs.map(({ cookie }) => cookie).join('; ')
    for (const n of [1, 0, 2]) {
      const { status, location, cookie } = await sessionIn(tabs[n]?.back as string, held)
      expect([status, location]).toEqual([303, paths[n]])
      held += `; ${cookie}`
    }
  })

  it('that comes again to who is signed in leads on', async () => {
    const user = await givenReader()
    oidc.person = { sub: `again-${user.id}`, email: user.email, email_verified: true }
    const { back, cookie } = await goThere('/sign-in/oidc?next=/gallery')
    const session = (await sessionIn(back, cookie)).cookie
    expect(await send('GET', back, { cookie: session })).toMatchObject({ status: 303, location: '/playground' })
  })

  it('needs few cookies, however often somebody begins', async () => {
    oidc.person = { sub: 'someone' }
    const kept = new Map<string, string>()
    const long = `/gallery?q=${'a'.repeat(400)}`
    for (let n = 0; n < 9; n++) {
      const cookie = [...kept].map((it) => it.join('=')).join('; ')
      const { headers } = await send('GET', `/sign-in/oidc?next=${encodeURIComponent(long)}`, { cookie })
      for (const set of headers.getSetCookie()) {
        const [name = '', value = ''] = (set.split(';')[0] ?? '').split(/=(.*)/)
        if (value === '') kept.delete(name)
        else kept.set(name, value)
      }
    }
    expect(kept.size).toBe(4)
    expect([...kept].map((it) => it.join('=')).join('; ').length).toBeLessThan(6200)
  })

  it('is not passed on to the provider any more when one address has sent too many', async () => {
    oidc.person = { sub: 'someone' }
    const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const { location, cookie } = await visit(url, '/sign-in/oidc')
    const state = new URL(location as string).searchParams.get('state')
    const answerFrom = (ip: string) =>
      visit(url, `/sign-in/oidc/callback?code=guess&state=${state}`, { cookie, headers: { 'x-forwarded-for': ip } })
    const answers = await Promise.all(Array.from({ length: 121 }, () => answerFrom('192.0.2.1')))
    const last = answers.filter(({ status }) => status === 429)
    expect(last).toHaveLength(1)
    expect(last[0]?.html).toContain('Too many tries to sign in.')
    expect((await answerFrom('192.0.2.2')).status).toBe(401)
  })

  it('signs in once, even with a copy of the cookie', async () => {
    const user = await givenReader()
    const { back, cookie, answer } = await signInAs({ sub: 'once', email: user.email, email_verified: true })
    expect(answer.status).toBe(303)
    expect(answer.attributes).toMatch(/^easel-oidc-[\w-]{16}=;/)
    expect((await sessionIn(back, cookie)).cookie).toBeUndefined()
    expect((await send('GET', back, { cookie })).status).toBe(401)
  })

  it('is not quoted if it is an error', async () => {
    const { answer } = await signInAs(undefined)
    expect(answer.status).toBe(401)
    expect(answer.html).toContain('did not sign you in. Begin again, or sign in another way.')
    expect(answer.html).not.toContain('access_denied')
  })
})

describe('a secret that is wrong or has expired', () => {
  it('is the service’s fault for who signs in, and is logged with what to correct, at the start and then', async () => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
    const { config, namespace } = context.service
    const expired = { ...config, oidc: { ...config.oidc, clientSecret: 'expired' } as typeof config.oidc }
    const { url, stop } = await startServer(expired, log, { namespace: `${namespace}-expired` })
    try {
      const told = () => lines.filter((line) => line.includes('OIDC_CLIENT_SECRET is wrong or has expired'))
      await until(async () => told().length === 1, 'the line of the start')
      oidc.person = { sub: 'someone' }
      const { location, cookie } = await visit(url, '/sign-in/oidc')
      const back = (await wayThrough(oidc.issuer, location as string)).replace('http://easel.test', '')
      const { status, html } = await visit(url, back, { cookie })
      expect(status).toBe(503)
      expect(html).toContain('is not set up correctly. Sign in another way, or ask the operator.')
      expect(told()).toHaveLength(2)
      expect(lines.join('')).not.toContain('"expired"')
    } finally {
      await stop()
    }
  })
})

describe('a provider that is down', () => {
  it('does not disturb the server or the other ways to sign in, and is used again once it is back', async () => {
    const { port } = oidc
    oidc.person = { sub: 'patient' }
    const begun = await goThere()
    await oidc.close()
    const { url } = await context.service.server()
    const fresh = formsOf(() => url)
    expect((await fresh.send('GET', '/sign-in')).status).toBe(200)
    const down = await fresh.send('GET', '/sign-in/oidc')
    expect(down.status).toBe(503)
    expect(down.html).toContain('does not answer. Sign in another way, or try again in a moment.')
    expect((await send('GET', begun.back, { cookie: begun.cookie })).status).toBe(503)
    oidc = await startOidc({ port })
    expect((await fresh.send('GET', '/sign-in/oidc')).status).toBe(303)
  })
})
