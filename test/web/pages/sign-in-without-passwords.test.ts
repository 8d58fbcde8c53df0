import { beforeAll, describe, expect, it } from 'vitest'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { credentialStore } from '../../../src/db/accounts/sessions.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { formsOf, visit } from '../../support/website-client.js'

// Nobody is there, which keeps no server from serving.
const OIDC = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'easel', OIDC_CLIENT_SECRET: 'secret' }
const context = useService({ env: { ...OIDC, PASSWORD_SIGN_IN: 'off', SIGN_UP: 'provider' } })
let user: GivenUser

beforeAll(async () => {
  user = await givenUser(context.service.db)
  await givenPassword(context.service.db, user)
})

const { send } = formsOf(() => context.service.url)
const ANSWER = 'Passwords are not used on this site. Sign in another way.'

async function givenLink(): Promise<string> {
  const token = newToken()
  await credentialStore(context.service.db).addLink(user.id, hashToken(token))
  return token
}

describe('with PASSWORD_SIGN_IN=off', () => {
  it('the sign-in page has the button of the provider alone, and the form of mailed links where there is a mail server', async () => {
    const { html } = await send('GET', '/sign-in')
    expect(html).toContain('Sign in with 127.0.0.1')
    expect(html).not.toMatch(/type="password"|name="username"|type="submit"/)
    const { url } = await context.service.server(
      {},
      { ...OIDC, PASSWORD_SIGN_IN: 'off', SMTP_URL: 'smtp://127.0.0.1:1' },
    )
    const mailed = await visit(url, '/sign-in')
    expect(mailed.html).toContain('action="/sign-in/mail"')
    expect(mailed.html).toContain('name="username"')
    expect(mailed.html).not.toMatch(/type="password"|action="\/sign-in"/)
  })

  it('refuses a password that is right, and makes no account with one', async () => {
    const { status, html, cookie } = await send('POST', '/sign-in', {
      body: { username: user.username, password: PASSWORD },
    })
    expect([status, cookie]).toEqual([403, undefined])
    expect(html).toContain(ANSWER)
    expect((await send('GET', '/sign-up')).status).toBe(404)
  })

  it('a link signs in, and sets no password', async () => {
    const token = await givenLink()
    expect((await send('GET', `/sign-in/link?token=${token}`)).html).not.toContain('type="password"')
    const body = { token, password: 'another password' }
    const refused = await send('POST', '/sign-in/link', { body })
    expect([refused.status, refused.html.includes(ANSWER)]).toEqual([403, true])
    expect((await send('POST', '/sign-in/link', { body: { token } })).status).toBe(303)
  })

  it('the account has no password to set, and is asked for none', async () => {
    const cookie = await givenSession(context.service.db, user)
    for (const path of ['/account', '/account/delete'])
      expect((await send('GET', path, { cookie })).html).not.toContain('type="password"')
    const body = { current: PASSWORD, next: 'another password' }
    const { status, html } = await send('POST', '/account/password', { cookie, body })
    expect([status, html.includes(ANSWER)]).toEqual([403, true])
    const changed = await send('POST', '/account/email', { cookie, body: { email: `${user.username}@new.test` } })
    expect(changed.location).toMatch('/account?done=email')
  })
})
