import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { credentialStore, sessionStore } from '../../../src/db/accounts/sessions.js'
import { parseConfig } from '../../../src/process/config.js'
import { startServer } from '../../../src/process/start-server.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser } from '../../support/givens.js'
import { type Mailbox, type ReceivedMail, startMailbox } from '../../support/mailbox.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { formsOf, visit } from '../../support/website-client.js'

let mailbox: Mailbox
const context = useService(async () => {
  mailbox = await startMailbox()
  return {
    env: {
      SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`,
      MAIL_FROM: 'Easel <hello@easel.test>',
      SITE_LANGUAGES: 'en,de',
    },
  }
})
afterAll(() => mailbox.close())

const { send } = formsOf(() => context.service.url)
const askFor = (username: string, more: Record<string, string> = {}) =>
  send('POST', '/sign-in/mail', { body: { username, ...more } })

/** A user with an address. */
async function givenReader() {
  const { db } = context.service
  const user = await givenUser(db)
  const email = `${user.username}@mail.test`
  await operatorUserStore(db).setEmail(user.id, email)
  return { ...user, email }
}
const mailsTo = (email: string) => mailbox.received.filter(({ to }) => to.includes(email))
const linkIn = ({ text }: ReceivedMail) => /http:\/\/easel\.test(\/\S+)/.exec(text)?.[1] as string

describe('asking for a link', () => {
  it('by username or address sends a short mail with a link that signs in once', async () => {
    const user = await givenReader()
    for (const name of [user.username, user.email.toUpperCase()])
      expect(await askFor(name, { next: '/gallery' })).toMatchObject({
        status: 303,
        location: '/sign-in?sent=&next=%2Fgallery',
      })
    await until(async () => mailsTo(user.email).length === 2, 'two mails')
    const [mail] = mailsTo(user.email) as [ReceivedMail]
    expect(mail.text).toMatch(/^From: Easel <hello@easel\.test>$/m)
    expect(mail.text).toMatch(/^Subject: Sign in to Easel at easel\.test$/m)
    expect(mail.text).toMatch(/^Content-Type: text\/plain/m)
    expect(mail.text).toContain('ignore it')
    const [path, token = ''] = linkIn(mail).split('?token=')
    expect(path).toBe('/sign-in/link')
    expect(await send('POST', '/sign-in/link', { body: { token } })).toMatchObject({
      status: 303,
      location: '/playground',
    })
    expect((await send('POST', '/sign-in/link', { body: { token } })).status).toBe(401)
  })

  it('lets its reader set a new password in place of one that is forgotten, which ends all other sessions', async () => {
    const { db } = context.service
    const user = await givenReader()
    await givenPassword(db, user)
    const elsewhere = await givenSession(db, user)
    await askFor(user.email)
    await until(async () => mailsTo(user.email).length === 1, 'the mail')
    const link = linkIn(mailsTo(user.email)[0] as ReceivedMail)
    expect((await send('GET', link)).html).toContain('Set a new password')
    const token = link.split('?token=')[1] as string
    const set = (password: string) => send('POST', '/sign-in/link', { body: { token, password } })
    for (const [password, sentence] of [
      ['short', 'A password has 10 to 200 characters.'],
      [user.username, 'The password must not be the username.'],
    ] as const) {
      const { status, html } = await set(password)
      expect([status, html.includes(sentence)]).toEqual([400, true])
    }
    const { status, cookie } = await set('never to be forgotten')
    expect(status).toBe(303)
    expect((await send('GET', '/account', { cookie })).status).toBe(200)
    expect((await send('GET', '/account', { cookie: elsewhere })).location).toMatch(/^\/sign-in/)
    expect((await set('used a second time')).status).toBe(401)
    const signIn = (password: string) => send('POST', '/sign-in', { body: { username: user.username, password } })
    expect((await signIn(PASSWORD)).status).toBe(401)
    expect((await signIn('never to be forgotten')).status).toBe(303)
  })

  it('sends the mail in the language that the account remembers, else in that of the browser', async () => {
    const { db, url } = context.service
    const [one, other] = [await givenReader(), await givenReader()]
    await sessionStore(db).setLanguage(other.id, 'en')
    const headers = { 'accept-language': 'de' }
    for (const { username } of [one, other]) await visit(url, '/sign-in/mail', { headers, body: { username } })
    await until(async () => [one, other].every(({ email }) => mailsTo(email).length === 1), 'both mails')
    expect(mailsTo(one.email)[0]?.text).toMatch(/^Subject: Anmelden bei Easel \(easel\.test\)$/m)
    expect(mailsTo(one.email)[0]?.text).toContain(`Hallo ${one.username},`)
    expect(linkIn(mailsTo(one.email)[0] as ReceivedMail)).toContain('/sign-in/link?token=')
    expect(mailsTo(other.email)[0]?.text).toMatch(/^Subject: Sign in to Easel at easel\.test$/m)
  })

  it('is answered alike whether there is an account or not', async () => {
    const user = await givenReader()
    const { username: withoutAddress } = await givenUser(context.service.db)
    const answers = await Promise.all([user.username, withoutAddress, 'nobody-of-this-name'].map((it) => askFor(it)))
    expect(new Set(answers.map(({ status, location }) => `${status} ${location}`)).size).toBe(1)
    const { html } = await send('GET', answers[0]?.location as string)
    expect(html).toContain('a link is on its way. It works once, and ends in 15 minutes.')
    await until(async () => mailsTo(user.email).length === 1, 'the mail')
    expect(mailbox.received.flatMap(({ to }) => to).every((to) => to.endsWith('@mail.test'))).toBe(true)
    expect((await askFor(' ')).html).toContain('Fill in your username or email first.')
  })

  it('is limited to four mails for an account and ten requests from a network, and ends no session', async () => {
    const user = await givenReader()
    const cookie = await givenSession(context.service.db, user)
    const { url, stop } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const ask = (from: string, username: string) =>
      visit(url, '/sign-in/mail', { body: { username }, headers: { 'x-forwarded-for': from } })
    for (let n = 0; n < 6; n++) expect((await ask(`192.0.2.${n}`, user.username)).status).toBe(303)
    await until(async () => mailsTo(user.email).length === 4, 'four mails')
    for (let n = 0; n < 10; n++) expect((await ask('192.0.2.99', `nobody-${n}`)).status).toBe(303)
    const refused = await ask('192.0.2.99', 'nobody')
    expect(refused.status).toBe(429)
    expect(refused.html).toContain('Too many links were asked for from here.')
    expect((await send('GET', '/', { cookie })).location).toBe('/playground')
    // It has sent all its mails then.
    await stop()
    expect(mailsTo(user.email)).toHaveLength(4)
  })

  it('is answered before the mail server is, and its failure is logged without link and address', async () => {
    const user = await givenReader()
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const checked = once(silent, 'connection')
    const lines: string[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
    const { config, namespace } = context.service
    const smtpUrl = `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const server = await startServer({ ...config, mail: { ...config.mail, smtpUrl } }, log, {
      namespace: `${namespace}-down`,
    })
    const [check] = await checked
    check.destroy()
    const connected = once(silent, 'connection')
    const failed = () => lines.some((line) => line.includes('could not be sent'))
    expect((await visit(server.url, '/sign-in/mail', { body: { username: user.email } })).status).toBe(303)
    expect(failed()).toBe(false)
    const [connection] = await connected
    connection.destroy()
    await until(failed, 'the error in the log')
    await server.stop()
    silent.close()
    expect(lines.join('')).toContain('check SMTP_URL and MAIL_FROM')
    expect(lines.join('')).not.toContain(user.email)
    expect(lines.join('')).not.toContain('token')
  })

  it('may be by an address as people write its domain', async () => {
    const { db } = context.service
    const { id } = await givenUser(db)
    await operatorUserStore(db).setEmail(id, `${id}@xn--bcher-kva.mail.test`)
    await askFor(`${id}@Bücher.mail.test`)
    // The stand-in reads it as people write it, too.
    await until(async () => mailsTo(`${id}@bücher.mail.test`).length === 1, 'the mail')
  })
})

describe('a mail without SMTP_URL', () => {
  it('waits for an operator, who alone sees it, and is deleted after a day', async () => {
    const user = await givenReader()
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
    const { config, db, namespace } = context.service
    const unsent = { ...config, mail: parseConfig({ DATABASE_URL: config.databaseUrl }).mail }
    const server = await startServer(unsent, log, { namespace: `${namespace}-unsent` })
    const { send } = formsOf(() => server.url)
    expect(lines.filter((line) => line.includes('SMTP_URL is not set'))).toHaveLength(1)
    await send('POST', '/sign-in/mail', { body: { username: user.username } })
    await until(async () => lines.some((line) => line.includes('/sign-in/link?token=')), 'the link in the log')
    const operator = await givenUser(db)
    await operatorUserStore(db).setRole(operator.id, 'operator')
    const cookie = await givenSession(db, operator)
    const { html } = await send('GET', '/operator/mails', { cookie })
    expect(html).toContain(user.email)
    expect(html).toContain('/sign-in/link?token=')
    expect(html).toContain('It works once, and ends in\n15 minutes')
    expect(html).not.toContain('link ended')
    expect((await send('GET', '/operator/mails', { cookie: await givenSession(db, user) })).status).toBe(404)
    expect((await send('GET', '/operator/mails')).location).toBe('/sign-in?next=%2Foperator%2Fmails')
    await db.pool.query(`UPDATE unsent_mails SET created_at = now() - interval '15 minutes'`)
    expect((await send('GET', '/operator/mails', { cookie })).html).toContain('link ended')
    await db.pool.query(`UPDATE unsent_mails SET created_at = now() - interval '1 day'`)
    await db.pool.query(`UPDATE sign_in_links SET expires_at = now()`)
    expect((await send('GET', '/operator/mails', { cookie })).html).not.toContain(user.email)
    await credentialStore(db).forgetExpired()
    const { rows } = await db.pool.query(
      `SELECT (SELECT count(*) FROM unsent_mails) AS mails, (SELECT count(*) FROM sign_in_links) AS links`,
    )
    expect(rows[0]).toEqual({ mails: 0, links: 0 })
    await server.stop()
  })
})
