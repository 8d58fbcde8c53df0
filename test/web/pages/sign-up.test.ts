import { beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../../src/core/accounts/password.js'
import { unsentMailStore } from '../../../src/db/accounts/sessions.js'
import { givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenTries } from '../../support/given-tries.js'
import { givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import { formsOf, visit } from '../../support/website-client.js'

const context = useService({ env: { SIGN_UP: 'open', SITE_LANGUAGES: 'en,de' } })
const { send } = formsOf(() => context.service.url)
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
  it('gives one without credits, subscription and address, and signs in to it', async () => {
    const { status, location, cookie } = await signUp({ username: 'plain_one' })
    expect([status, location]).toEqual([303, '/welcome'])
    for (const path of ['/', '/sign-up']) expect((await send('GET', path, { cookie })).location).toBe('/playground')
    expect(await rowOf('plain_one')).toMatchObject({ email: null, credits: 0, role: 'subscriber', plan: null })
    const again = { body: { username: 'PLAIN_one', password: PASSWORD } }
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

  it.each([
    ['the.Alice', 'alice', false],
    ['Alice', 'ALICE', true],
    ['Bertram', 'b.e_r-tram-', true],
    ['Claude', 'C1aude', true],
    ['Diana', 'dIana', true],
    ['Dianb', 'dlanb', true],
    ['Boris0', 'b0risO', true],
    ['Barnie', 'bamie', true],
    ['Vivvy', 'viwy', true],
    ['Steve', '5t3v3', true],
    ['Frank', 'frank2', false],
    ['Gordon1', 'gordon2', false],
    ['user6', 'user8', false],
    ['hel@mail.test', 'hel-mail-te5t', true],
  ])('beside %s as %s: refused %s', async (existing, username, isRefused) => {
    const { db } = context.service
    await db.pool.query('INSERT INTO users (username) VALUES ($1)', [existing])
    const { status, html } = await signUp({ username })
    expect(status).toBe(isRefused ? 409 : 303)
    if (isRefused) expect(html).toContain('Choose one that does not look like it.')
    await db.pool.query('UPDATE users SET deleted_at = now() WHERE username = ANY($1)', [[existing, username]])
  })

  it('takes the name of a deleted account, and one that looks like it', async () => {
    await context.service.db.pool.query(`INSERT INTO users (username, deleted_at) VALUES ('gone-away', now())`)
    expect((await signUp({ username: 'g0ne-away' })).status).toBe(303)
  })

  it('does not put the name into the mail to an address that need not be theirs', async () => {
    await signUp({ username: 'claim-prize', email: 'stranger@mail.test' })
    await tokenFor('stranger@mail.test')
    const mail = (await unsentMailStore(context.service.db).list()).find(({ to }) => to === 'stranger@mail.test')
    expect(mail?.text).toContain('gave this mail address for an account on Easel at easel.test')
    expect(`${mail?.subject} ${mail?.text}`).not.toContain('claim-prize')
  })

  it('disturbs no account whose name nobody could take now', async () => {
    const { db } = context.service
    for (const username of ['root', 'r00t', 'evil.example']) {
      const user = await givenUser(db)
      await db.pool.query('UPDATE users SET username = $2, password_hash = $3 WHERE id = $1', [
        ...[user.id, username, await hashPassword(PASSWORD)],
      ])
      expect((await send('POST', '/sign-in', { body: { username, password: PASSWORD } })).status).toBe(303)
    }
  })

  it.skipIf(!redisAvailable)(
    'is refused after twenty tries within an hour from one network, and only there',
    async () => {
      const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
      const { username } = await givenUser(context.service.db)
      const body = { username, email: 'a@mail.test', password: PASSWORD }
      const tryFrom = async (address: string) =>
        (await visit(url, '/sign-up', { body, headers: { 'x-forwarded-for': address } })).status
      await givenTries(context.service, 'sign-up:192.0.2.7', 19, 3_600_000)
      expect(await tryFrom('192.0.2.7')).toBe(409)
      expect(await tryFrom('192.0.2.7')).toBe(429)
      expect(await tryFrom('192.0.2.8')).toBe(409)
    },
  )

  it('is possible only if the operator has opened sign-up', async () => {
    const { url } = await context.service.server({}, { SIGN_UP: 'closed' })
    const closed = formsOf(() => url)
    expect((await closed.send('GET', '/sign-up')).status).toBe(404)
    expect((await closed.send('POST', '/sign-up', { body: {} })).status).toBe(404)
    expect((await closed.send('GET', '/sign-in')).html).not.toContain('/sign-up')
    expect((await send('GET', '/sign-in')).html).toContain('href="/sign-up"')
    expect((await send('GET', '/sign-up')).html).toContain('action="/sign-up"')
  })
})

describe('an email address', () => {
  it('belongs to the account once its owner has pressed the button of the mail', async () => {
    const { cookie } = await signUp({ username: 'reader', email: 'reader@mail.test' })
    const token = await tokenFor('reader@mail.test')
    expect((await send('GET', `/confirm-email?token=${token}`, { cookie })).html).toContain('reader')
    expect((await rowOf('reader')).email).toBeNull()
    expect(await send('POST', '/confirm-email', { body: { token }, cookie })).toMatchObject({ status: 303 })
    expect((await rowOf('reader')).email).toBe('reader@mail.test')
    expect((await send('POST', '/confirm-email', { body: { token }, cookie })).status).toBe(409)
  })

  it('of somebody else never gets to an account made with it: its link works only for that account’s session, and signs nobody in', async () => {
    await signUp({ username: 'trap', email: 'victim@mail.test' })
    const token = await tokenFor('victim@mail.test')
    const path = `/confirm-email?token=${token}`
    expect((await send('GET', path)).location).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
    expect((await send('POST', '/sign-in/link', { body: { token } })).status).toBe(401)
    const victim = await givenSession(context.service.db, await givenUser(context.service.db))
    expect((await send('POST', '/confirm-email', { body: { token }, cookie: victim })).status).toBe(409)
    expect((await rowOf('trap')).email).toBeNull()
  })

  it('belongs to one account only; an account without one may ask for another link', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    await db.pool.query(`UPDATE users SET email = 'one@mail.test' WHERE id = $1`, [owner.id])
    const second = await givenUser(db)
    const cookie = await givenSession(db, second)
    await send('POST', '/account/email', { body: { email: 'ONE@mail.test' }, cookie })
    const token = await tokenFor('ONE@mail.test')
    const taken = await send('POST', '/confirm-email', { body: { token }, cookie })
    expect([taken.status, taken.html.includes('Another account has this address.')]).toEqual([409, true])
    await send('POST', '/account/email', { body: { email: 'two@mail.test' }, cookie })
    await send('POST', '/confirm-email', { body: { token: await tokenFor('two@mail.test') }, cookie })
    expect((await rowOf(second.username)).email).toBe('two@mail.test')
    expect((await send('GET', '/confirm-email', { cookie })).location).toBe('/account#email-address')
  })
})

describe('for a browser that likes German best', () => {
  // Elsewhere than the others, who have tried often.
  const headers = { 'accept-language': 'de', 'x-forwarded-for': '192.0.2.20' }
  let origin: string
  beforeAll(async () => {
    origin = (await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })).url
  })
  const german = (path: string, more: object = {}) => visit(origin, path, { headers, ...more })

  it('the form is in German, and so is why it was refused', async () => {
    const { html } = await german('/sign-up')
    expect(html).toContain('<title>Konto anlegen · Easel</title>')
    expect(html).toContain('Dorthin schicken wir einen Link')
    const { username } = await givenUser(context.service.db)
    const fitting = { username: 'schreiberin', email: 'a@mail.test', password: PASSWORD }
    const refused: [Record<string, string>, string][] = [
      [{ username }, 'Diesen Benutzernamen hat schon jemand.'],
      [{ username: 'Jürgen' }, 'Das kann kein Benutzername sein. Nimm 1 bis 64 Buchstaben von A bis Z'],
      [{ username: 'easel.example' }, 'Das sieht aus wie eine Webadresse.'],
      [{ username: 'so-viele-lange-worte' }, 'Ein Benutzername hat höchstens 3 Wörter.'],
      [{ username: 'support' }, 'Bei diesem Namen könnte man denken'],
      [{ email: 'nirgends' }, 'Das ist keine E-Mail-Adresse.'],
      [{ password: 'kurz' }, 'Ein Passwort hat 10 bis 200 Zeichen.'],
      [{ username: 'das-gleiche', password: 'Das-Gleiche' }, 'Das Passwort darf nicht der Benutzername sein.'],
    ]
    for (const [fields, sentence] of refused)
      expect((await german('/sign-up', { body: { ...fitting, ...fields } })).html).toContain(sentence)
  })

  it('what comes next is in German', async () => {
    const body = { username: 'leserin', email: 'leserin@mail.test', password: PASSWORD }
    const { cookie } = await german('/sign-up', { body })
    const { html } = await german('/welcome', { cookie })
    expect(html).toContain('<h1>Dein Konto ist bereit</h1>')
    expect(html).toContain('<bdi>leserin@mail.test</bdi> ist noch nicht bestätigt.')
    const token = await tokenFor('leserin@mail.test')
    const asked = await german(`/confirm-email?token=${token}`, { cookie })
    expect(asked.html).toContain(
      'Das Konto <bdi>leserin</bdi> bekommt die Adresse, an die dieser Link geschickt wurde.',
    )
    const over = await german('/confirm-email', { cookie, body: { token: 'x' } })
    expect([over.status, over.html.includes('Dieser Link wurde schon benutzt')]).toEqual([409, true])
    await german('/confirm-email', { cookie, body: { token } })
    expect((await german('/welcome', { cookie })).html).toContain(
      'Erledigt: Links zum Anmelden gehen an <bdi>leserin@mail.test</bdi>.',
    )
  })
})
