import { afterAll, describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { type Mailbox, startMailbox } from '../../support/mailbox.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

let mailbox: Mailbox
const context = useService(async () => {
  mailbox = await startMailbox()
  return {
    env: {
      SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`,
      SIGN_UP: 'open',
      TRUST_PROXY: '127.0.0.1',
      SITE_LANGUAGES: 'en,de',
    },
  }
})
afterAll(() => mailbox.close())

const NO_PASSWORD = { password: '' }
let count = 0
const newAddress = () => `fresh-${++count}@mail.test`

async function given({ password = true, address = true } = {}) {
  const { db, url } = context.service
  const user = await givenUser(db)
  if (password) await givenPassword(db, user)
  const email = `${user.username}@mail.test`
  if (address) await operatorUserStore(db).setEmail(user.id, email)
  const cookie = await givenSession(db, user)
  // Each from a network of its own: links are limited for each.
  const headers = { 'x-forwarded-for': `192.0.2.${++count}` }
  return {
    user,
    email,
    cookie,
    headers,
    get: (path = '/account') => visit(url, path, { cookie }),
    post: (path: string, body: Record<string, string> = {}) => visit(url, path, { cookie, body, headers }),
    change: (to: string, more: Record<string, string> = {}) =>
      visit(url, '/account/email', { cookie, headers, body: { email: to, password: PASSWORD, ...more } }),
    confirm: (token: string) => visit(url, '/confirm-email', { cookie, body: { token } }),
    stored: async () =>
      (await db.pool.query<{ email: string | null }>('SELECT email FROM users WHERE id = $1', [user.id])).rows[0]
        ?.email,
    shown: async () => {
      const { html } = await visit(url, '/account', { cookie })
      return textOf(/<section[^>]*id="email-address".*?<\/section>/s.exec(html)?.[0] ?? '')
    },
  }
}

const mailsTo = (email: string) => mailbox.received.filter(({ to }) => to.includes(email)).map(({ text }) => text)
/** The tokens of the mails that came to an address, once there are that many. */
async function tokensTo(email: string, wanted = 1): Promise<string[]> {
  await until(async () => mailsTo(email).length === wanted, `${wanted} mails to ${email}`)
  return mailsTo(email).map((text) => /confirm-email\?token=(\S+)/.exec(text)?.[1] ?? '')
}
const tokenTo = async (email: string) => (await tokensTo(email))[0] as string

describe('changing the address of an account', () => {
  it('says the same of an address that got sign-in links, so that nobody learns whose it is', async () => {
    const other = await given()
    for (let n = 0; n < 5; n++)
      await visit(context.service.url, '/sign-in/mail', { body: { username: other.email }, headers: other.headers })
    await until(async () => mailsTo(other.email).length > 0, 'the sign-in link')
    const one = await given()
    expect((await one.change(other.email)).status).toBe(303)
    expect((await one.change(newAddress())).status).toBe(303)
  })

  it('is not kept back by strangers of the same network, who asked for as many links as they may', async () => {
    const { change, headers } = await given()
    const ask = () => visit(context.service.url, '/sign-in/mail', { body: { username: 'nobody' }, headers })
    for (let n = 0; n < 10; n++) await ask()
    expect((await ask()).status).toBe(429)
    expect((await change(newAddress())).status).toBe(303)
  })

  it('is kept back, if many accounts of one network ask for many links', async () => {
    const { db, url } = context.service
    const headers = { 'x-forwarded-for': '198.51.100.7' }
    const change = async () => {
      const user = await givenUser(db)
      const cookie = await givenSession(db, user)
      const asked = await visit(url, '/account/email', {
        cookie,
        headers,
        body: { email: newAddress(), ...NO_PASSWORD },
      })
      return asked.status
    }
    const statuses: number[] = []
    for (let n = 0; n < 51; n++) statuses.push(await change())
    expect(statuses).toEqual([...Array(50).fill(303), 429])
  })

  it('takes effect when the link in the mail to the new one is used, once, and tells the old one before', async () => {
    const { user, email, change, confirm, stored, shown, get } = await given()
    const next = newAddress()
    const asked = await change(next)
    expect([asked.status, asked.location]).toEqual([303, '/account?done=email#email-address'])
    expect((await get('/account?done=email')).html).toContain('A link is on its way to the address.')
    expect(await shown()).toContain(`${next} is not confirmed yet.`)
    expect(await stored()).toBe(email)
    await until(async () => mailsTo(email).length === 1, 'a mail to the old address')
    expect(mailsTo(email)[0]).toContain(next)
    expect(mailsTo(email)[0]).toContain(user.username)
    const token = await tokenTo(next)
    expect((await get(`/confirm-email?token=${token}`)).html).toContain('Confirm')
    expect(await stored()).toBe(email)
    expect(await confirm(token)).toMatchObject({ status: 303, location: '/account?done=confirmed#email-address' })
    expect(await stored()).toBe(next)
    expect(await shown()).not.toContain('not confirmed')
    expect((await confirm(token)).status).toBe(409)
  })

  it('needs the password, and keeps what was typed when it is wrong', async () => {
    const { change, shown } = await given()
    const next = newAddress()
    for (const password of ['wrong', '']) {
      const { status, html } = await change(next, { password })
      expect([status, html.includes('The current password is not right.')]).toEqual([403, true])
      expect(html).toContain(`value="${next}"`)
    }
    expect(await shown()).not.toContain('not confirmed')
    expect(mailsTo(next)).toEqual([])
  })

  it('needs a session of the last quarter of an hour where the account has no password', async () => {
    const { user, change, shown } = await given({ password: false })
    const { db } = context.service
    await db.pool.query(`UPDATE sessions SET created_at = now() - interval '16 minutes' WHERE user_id = $1`, [user.id])
    const late = await change(newAddress(), NO_PASSWORD)
    expect([late.status, late.html.includes('Sign out, sign in again')]).toEqual([403, true])
    await db.pool.query('UPDATE sessions SET created_at = now() WHERE user_id = $1', [user.id])
    expect((await change(newAddress(), NO_PASSWORD)).status).toBe(303)
    expect(await shown()).toContain('not confirmed')
  })

  it('refuses what is no address, and the one that it has already', async () => {
    const { change, email } = await given()
    const wrong = await change('nowhere')
    expect([wrong.status, wrong.html.includes('That is no email address.')]).toEqual([400, true])
    const same = await change(email.toUpperCase())
    expect([same.status, same.html.includes('This is your address already.')]).toEqual([400, true])
    expect((await change('a\0b@mail.test')).status).toBe(400)
  })

  it('does not say that another account has the address, until its owner has shown that it is theirs', async () => {
    const other = await given()
    const { change, confirm, stored, email } = await given()
    expect((await change(other.email)).location).toBe('/account?done=email#email-address')
    const [token] = await tokensTo(other.email)
    const taken = await confirm(token as string)
    expect([taken.status, taken.html.includes('Another account has this address.')]).toEqual([409, true])
    expect([await stored(), await other.stored()]).toEqual([email, other.email])
    // It is spent all the same.
    expect((await confirm(token as string)).html).toContain('This link was used before')
  })

  it('of two accounts that confirm the same address at once gives it to one', async () => {
    const next = newAddress()
    const both = [await given(), await given()] as const
    for (const it of both) await it.change(next)
    const tokens = await tokensTo(next, 2)
    const ends = await Promise.all(both.flatMap((it) => tokens.map((token) => it.confirm(token))))
    expect(ends.filter(({ status }) => status === 303)).toHaveLength(1)
    expect((await Promise.all(both.map((it) => it.stored()))).filter((it) => it === next)).toHaveLength(1)
  })

  it('can be canceled, and is over once another address is asked for or the password changes', async () => {
    const { change, confirm, post, stored, email, shown } = await given()
    const addresses = [newAddress(), newAddress(), newAddress()] as const
    await change(addresses[0])
    expect((await post('/account/email/cancel')).location).toBe('/account?done=canceled#email-address')
    expect(await shown()).not.toContain('not confirmed')
    await change(addresses[1])
    await change(addresses[2])
    expect(await shown()).not.toContain(addresses[1])
    for (const address of addresses.slice(0, 2)) expect((await confirm(await tokenTo(address))).status).toBe(409)
    await post('/account/password', { current: PASSWORD, next: 'a longer one, newly chosen' })
    expect((await confirm(await tokenTo(addresses[2]))).status).toBe(409)
    expect(await stored()).toBe(email)
  })

  it('ends the links that would sign in by the old address', async () => {
    const { user, change, confirm, email, headers } = await given()
    const { url } = context.service
    await visit(url, '/sign-in/mail', { headers, body: { username: user.username } })
    await until(async () => mailsTo(email).length === 1, 'a link to sign in')
    const link = /sign-in\/link\?token=(\S+)/.exec(mailsTo(email)[0] ?? '')?.[1] ?? ''
    const next = newAddress()
    await change(next)
    await confirm(await tokenTo(next))
    expect((await visit(url, '/sign-in/link', { body: { token: link } })).status).toBe(401)
  })

  it('sends the link once more with a new token, four times at most', async () => {
    const { change, post, confirm, stored } = await given()
    const next = newAddress()
    await change(next)
    for (let sent = 2; sent <= 4; sent++) expect((await post('/account/email/again')).status).toBe(303)
    const late = await post('/account/email/again')
    expect([late.status, late.html.includes('Too many mails were sent to this address.')]).toEqual([429, true])
    const tokens = await tokensTo(next, 4)
    const ends = await Promise.all(tokens.map(async (token) => (await confirm(token)).status))
    expect(ends.sort()).toEqual([303, 409, 409, 409])
    expect(await stored()).toBe(next)
    expect((await post('/account/email/again')).html).toContain('No address waits to be confirmed.')
  })

  it('is over after an hour', async () => {
    const { user, change, confirm, shown } = await given()
    const next = newAddress()
    await change(next)
    const { rows } = await context.service.db.pool.query<{ minutes: number }>(
      `SELECT round(extract(epoch FROM expires_at - now()) / 60)::int AS minutes FROM sign_in_links WHERE user_id = $1`,
      [user.id],
    )
    expect(rows).toEqual([{ minutes: 60 }])
    await context.service.db.pool.query('UPDATE sign_in_links SET expires_at = now() WHERE user_id = $1', [user.id])
    expect(await shown()).not.toContain('not confirmed')
    expect((await confirm(await tokenTo(next))).status).toBe(409)
  })
})

describe('changing the address in German', () => {
  const german = { 'accept-language': 'de' }

  it('is said in German on the page and in both mails', async () => {
    const { url } = context.service
    const { cookie, headers, email, shown } = await given()
    const next = newAddress()
    const post = (to: string) =>
      visit(url, '/account/email', {
        cookie,
        headers: { ...headers, ...german },
        body: { email: to, password: PASSWORD },
      })
    expect((await post('nowhere')).html).toContain('Das ist keine E-Mail-Adresse.')
    expect((await post(email)).html).toContain('Das ist schon deine Adresse.')
    const asked = await post(next)
    const { html } = await visit(url, asked.location as string, { cookie, headers: german })
    expect(html).toContain('Ein Link ist an die Adresse unterwegs.')
    expect(textOf(html)).toContain(
      `${next} ist noch nicht bestätigt. Öffne den Link in der E-Mail, die wir dorthin geschickt haben. Der Link gilt bis`,
    )
    expect(await shown()).toContain('is not confirmed yet.')
    await tokensTo(next)
    expect(mailsTo(next)[0]).toContain('jemand hat diese E-Mail-Adresse')
    await until(async () => mailsTo(email).length === 1, 'a mail to the old address')
    expect(mailsTo(email)[0]).toContain('jemand, der in deinem Konto')
  })

  it('sends the mails in the language that the account remembers, whatever the browser likes', async () => {
    const { url } = context.service
    const { cookie, headers, change } = await given()
    await visit(url, '/account/language', { cookie, headers, body: { language: 'de' } })
    const next = newAddress()
    await change(next)
    await tokensTo(next)
    expect(mailsTo(next)[0]).toContain('jemand hat diese E-Mail-Adresse')
  })

  it('sends who signs up the link in the language of the browser', async () => {
    const { url } = context.service
    const email = newAddress()
    const body = { username: 'neuling', email, password: PASSWORD }
    await visit(url, '/sign-up', { headers: german, body })
    await tokensTo(email)
    expect(mailsTo(email)[0]).toContain('jemand hat diese E-Mail-Adresse')
  })
})

describe('setting a password where there is none', () => {
  it('needs a session of the last quarter of an hour', async () => {
    const { user, post } = await given({ password: false })
    const { db } = context.service
    await db.pool.query(`UPDATE sessions SET created_at = now() - interval '16 minutes' WHERE user_id = $1`, [user.id])
    const late = await post('/account/password', { next: 'a longer one, newly chosen' })
    expect([late.status, late.html.includes('Sign out, sign in again')]).toEqual([403, true])
    expect(await sessionStore(db).list(user.id)).toHaveLength(1)
  })
})

describe('who has just signed up', () => {
  it('is told to confirm the address, how to get credits, and to make an image', async () => {
    const { url } = context.service
    const email = newAddress()
    const made = await visit(url, '/sign-up', { body: { username: 'newcomer', email, password: PASSWORD } })
    expect([made.status, made.location]).toEqual([303, '/welcome'])
    const told = async () => textOf((await visit(url, '/welcome', { cookie: made.cookie })).html)
    expect(await told()).toContain(`${email} is not confirmed yet. Open the link in the mail that we sent there.`)
    expect(await told()).toContain('Making images needs one: ask the operator of this site.')
    await visit(url, '/confirm-email', { cookie: made.cookie, body: { token: await tokenTo(email) } })
    expect(await told()).toContain(`Done: links to sign in go to ${email}.`)
    expect((await visit(url, '/welcome')).location).toMatch(/^\/sign-in/)
  })
})

describe('where no mail can be sent', () => {
  it('the sign-in page offers no link by mail, and the account page says whom to ask', async () => {
    const { url } = await context.service.server({}, { SMTP_URL: '' })
    const { html } = await visit(url, '/sign-in')
    expect(html).not.toContain('Email me a link')
    expect(html).toContain('Ask the operator of this site for a link.')
    expect((await visit(context.service.url, '/sign-in')).html).toContain('Email me a link')
    const { cookie, headers } = await given()
    const asked = await visit(url, '/account/email', {
      cookie,
      headers,
      body: { email: newAddress(), password: PASSWORD },
    })
    expect(asked.status).toBe(303)
    const page = textOf((await visit(url, '/account?done=email', { cookie })).html)
    expect(page).toContain('ask the operator of this site for the link')
    expect(page).not.toContain('A link is on its way')
  })
})
