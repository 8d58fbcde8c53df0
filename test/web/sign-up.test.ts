import { describe, expect, it } from 'vitest'
import { hashToken, newToken } from '../../src/account/session.js'
import { credentialStore } from '../../src/db/session-store.js'
import { unsentMailStore } from '../../src/db/unsent-mail-store.js'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { givenOperator } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { formsOf } from '../support/website-client.js'

const context = useService(async () => ({ env: { SIGN_UP: 'open' } }))
const browser = useBrowser()
const { send } = formsOf(() => context.service.url)
const PASSWORD = 'correct horse battery'
let count = 0

const signUp = (fields: Record<string, string> = {}) => {
  const username = `new-${++count}`
  const body = { username, email: `${username}@mail.test`, password: PASSWORD, ...fields }
  return send('POST', '/sign-up', { body })
}
/** The token of the mail that waits for this address. */
async function tokenFor(email: string): Promise<string> {
  let token: string | undefined
  await until(async () => {
    const mail = (await unsentMailStore(context.service.db).list()).find(({ to }) => to === email)
    token = /confirm-email\?token=(\S+)/.exec(mail?.text ?? '')?.[1]
    return token !== undefined
  }, `a mail to ${email}`)
  return token as string
}
const rowOf = async (username: string) =>
  (
    await context.service.db.pool.query(
      `SELECT u.id, u.email, u.credits::int, u.role, s.plan FROM users u LEFT JOIN subscriptions s ON s.user_id = u.id
        WHERE u.username = $1`,
      [username],
    )
  ).rows[0]

describe('making an account', () => {
  it('gives one without credits, subscription and address, signed in', async () => {
    const { status, location, cookie } = await signUp({ username: 'plain.one' })
    expect([status, location]).toEqual([303, '/playground'])
    expect((await send('GET', '/', { cookie })).location).toBe('/playground')
    expect(await rowOf('plain.one')).toMatchObject({ email: null, credits: 0, role: 'subscriber', plan: null })
    const again = { body: { username: 'PLAIN.one', password: PASSWORD } }
    expect((await send('POST', '/sign-in', again)).status).toBe(303)
  })

  it('refuses names that are taken or look like addresses, bad addresses and bad passwords, and keeps what was typed', async () => {
    const { username } = await givenUser(context.service.db)
    const refused: [Record<string, string>, number, string][] = [
      [{ username }, 409, 'Somebody has this username.'],
      [{ username: 'alice@mail.test' }, 400, 'That cannot be a username.'],
      [{ username: '<b>' }, 400, 'That cannot be a username.'],
      [{ email: 'nowhere' }, 400, 'That is no email address.'],
      [{ password: 'short' }, 400, 'A password has 10 to 200 characters.'],
      [{ password: 'x'.repeat(201) }, 400, 'A password has 10 to 200 characters.'],
      [{ username: 'the-same-word', password: 'The-Same-Word' }, 400, 'The password must not be the username.'],
    ]
    for (const [fields, status, sentence] of refused) {
      const answer = await signUp({ email: 'typed@mail.test', ...fields })
      expect([answer.status, answer.cookie]).toEqual([status, undefined])
      expect(answer.html).toContain(sentence)
      if (!fields.email) expect(answer.html).toContain('value="typed@mail.test"')
    }
  })

  it('is limited for each address', async () => {
    const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const { username } = await givenUser(context.service.db)
    const body = { username, email: 'a@mail.test', password: PASSWORD }
    const probe = () =>
      formsOf(() => url).send('POST', '/sign-up', { body, headers: { 'x-forwarded-for': '192.0.2.7' } })
    const statuses = await Promise.all(Array.from({ length: 21 }, async () => (await probe()).status))
    expect(statuses.filter((status) => status === 429)).toHaveLength(1)
  })

  it('is possible only where the operator lets people', async () => {
    const { url } = await context.service.server({}, { SIGN_UP: 'closed' })
    const closed = formsOf(() => url)
    expect((await closed.send('GET', '/sign-up')).status).toBe(404)
    expect((await closed.send('POST', '/sign-up', { body: {} })).status).toBe(404)
    expect((await closed.send('GET', '/sign-in')).html).not.toContain('/sign-up')
    expect((await send('GET', '/sign-in')).html).toContain('href="/sign-up"')
  })
})

describe('an address', () => {
  it('is the account’s once its owner has pressed the button of the mail', async () => {
    const { cookie } = await signUp({ username: 'reader', email: 'reader@mail.test' })
    const token = await tokenFor('reader@mail.test')
    expect((await send('GET', `/confirm-email?token=${token}`, { cookie })).html).toContain('reader')
    expect((await rowOf('reader')).email).toBeNull()
    expect(await send('POST', '/confirm-email', { body: { token }, cookie })).toMatchObject({ status: 303 })
    expect((await rowOf('reader')).email).toBe('reader@mail.test')
    expect((await send('POST', '/confirm-email', { body: { token }, cookie })).status).toBe(409)
  })

  it('of somebody else never gets to an account that was made with it: the link works for that account’s session only, and signs nobody in', async () => {
    await signUp({ username: 'trap', email: 'victim@mail.test' })
    const token = await tokenFor('victim@mail.test')
    const path = `/confirm-email?token=${token}`
    expect((await send('GET', path)).location).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
    expect((await send('POST', '/sign-in/link', { body: { token } })).status).toBe(401)
    const victim = await givenSession(context.service.db, await givenUser(context.service.db))
    expect((await send('POST', '/confirm-email', { body: { token }, cookie: victim })).status).toBe(409)
    expect((await rowOf('trap')).email).toBeNull()
  })

  it('belongs to one account, and may be asked for again by one that has none', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    await db.pool.query(`UPDATE users SET email = 'one@mail.test' WHERE id = $1`, [owner.id])
    const { cookie } = await signUp({ username: 'second', email: 'ONE@mail.test' })
    const token = await tokenFor('ONE@mail.test')
    const taken = await send('POST', '/confirm-email', { body: { token }, cookie })
    expect([taken.status, taken.html.includes('Another account has this address.')]).toEqual([409, true])
    const asked = await send('POST', '/confirm-email/send', { body: { email: 'two@mail.test' }, cookie })
    expect(asked.html).toContain('A link is on its way.')
    await send('POST', '/confirm-email', { body: { token: await tokenFor('two@mail.test') }, cookie })
    expect((await rowOf('second')).email).toBe('two@mail.test')
    await send('POST', '/confirm-email/send', { body: { email: 'three@mail.test' }, cookie })
    expect((await send('GET', '/confirm-email', { cookie })).html).toContain('two@mail.test')
  })
})

describeInBrowser('the pages for signing in', () => {
  it('have no accessibility violation in light and dark, and fit a phone', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const cookie = await givenSession(db, user)
    const token = newToken()
    await credentialStore(db).addLink(user.id, hashToken(token))
    const mail = { to: `${'x'.repeat(60)}@mail.test`, subject: 'Sign in <b>', text: `http://a/${'y'.repeat(200)}\n<b>` }
    await unsentMailStore(db).add(mail)
    const pages: [string, string | undefined][] = [
      ['/sign-in?sent=&next=/', undefined],
      [`/sign-in/link?token=${token}`, undefined],
      ['/sign-up', undefined],
      ['/confirm-email', cookie],
      ['/confirm-email?token=x', cookie],
      ['/operator/mails', (await givenOperator(db)).cookie],
    ]
    await Promise.all(
      pages.map(async ([path, session]) => {
        const { page, violations, scrollsSideways } = await browser.open(url, session)
        await page.goto(path)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          expect([path, ...(await violations())]).toEqual([path])
        }
        await page.setViewportSize({ width: 390, height: 800 })
        expect([path, await scrollsSideways()]).toEqual([path, false])
      }),
    )
  })

  it('are used by keyboard alone: a link by mail, then an account', async () => {
    const { page } = await browser.open(context.service.url)
    await page.goto('/sign-in?next=/docs')
    await page.getByLabel('Username or email').focus()
    await page.keyboard.type('somebody')
    for (const name of ['Password', 'Sign in', 'Email me a link']) {
      await page.keyboard.press('Tab')
      expect(
        await page.evaluate('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent'),
      ).toBe(name)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('a link is on its way').waitFor()
    await page.getByRole('link', { name: 'Create an account' }).press('Enter')
    await page.waitForURL('**/sign-up')
    await page.getByLabel('Username').focus()
    for (const text of ['keyboarder', 'keys@mail.test', PASSWORD]) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.waitForURL('**/playground')
  })
})
