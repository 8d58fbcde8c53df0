import { afterAll, describe, expect, it } from 'vitest'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { operatorCreditStore } from '../../../src/db/accounts/ledger.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import { LANGUAGES, textsIn } from '../../../src/web/texts/texts.js'
import { SECRET_KEY, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenSiteFile } from '../../support/given-site.js'
import { givenUser } from '../../support/givens.js'
import { type Mailbox, startMailbox } from '../../support/mailbox.js'
import { type Service, startService, useService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { textOf, visit } from '../../support/website-client.js'

let mailbox: Mailbox
const PAST = new Date('2026-02-01T00:00:00Z')
const NOW = new Date()
const context = useService(async () => {
  mailbox = await startMailbox({
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('refused-') ? new Error('no such mailbox') : null),
  })
  const plan = { en: 'https://club.example/join', de: '/beitreten' }
  return {
    server: { mailPollMs: 50 },
    env: { ...mailEnv(), SITE_LANGUAGES: 'en,de', SITE_FILE: givenSiteFile({ links: { plan } }) },
  }
})
const mailEnv = () => ({ SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`, MAIL_FROM: 'Easel <hello@easel.test>' })
afterAll(() => mailbox.close())

async function given(mails?: readonly string[], { db, url }: Service = context.service) {
  const user = await givenUser(db)
  const email = `${user.username}@mail.test`
  await operatorUserStore(db).setEmail(user.id, email)
  const cookie = await givenSession(db, user)
  const choose = (chosen: readonly string[]) =>
    visit(url, '/account/mails', { cookie, body: chosen.map((mail) => ['mails', mail] as const) })
  if (mails) expect((await choose(mails)).location).toBe('/account?done=mails')
  return {
    user,
    cookie,
    take: (amount: number) => operatorCreditStore(db).adjust(user.id, -amount, { note: 'Corrected', belowZero: false }),
    /** The subjects, once as many mails have come. */
    subjects: async (count: number) => {
      const mine = () => mailbox.received.filter(({ to }) => to.includes(email))
      await until(async () => mine().length >= count, `${count} mails`)
      return mine().map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1])
    },
    text: () => mailbox.received.findLast(({ to }) => to.includes(email))?.text ?? '',
    remember: (language: string) => sessionStore(db).setLanguage(user.id, language),
    end: () => operatorSubscriptionStore(db).set(user.id, { status: undefined, plan: 'Max', endDate: PAST }, NOW),
    /** Whether all that the account was told has been sent or left out. */
    isDone: async () =>
      (await db.pool.query('SELECT FROM notices WHERE user_id = $1 AND mail_at IS NOT NULL', [user.id])).rowCount === 0,
  }
}

describe('the mails of notices', () => {
  it('say that few credits are left, and that none are, and how to turn them off', async () => {
    const { user, take, subjects, text } = await given()
    await take(81)
    expect(await subjects(1)).toEqual(['Few credits are left on Easel at easel.test'])
    expect(text()).toContain(`Hello ${user.username},`)
    expect(text()).toContain('has 19 credits left')
    expect(text()).toContain('You can turn these mails off at http://easel.test/account#mails')
    await take(19)
    expect(await subjects(2)).toEqual([
      'Few credits are left on Easel at easel.test',
      'No credits are left on Easel at easel.test',
    ])
    expect(text()).toMatch(
      /Get more: https:\/\/club\.example\/join\r\nSee what they went to: http:\/\/easel\.test\/usage/,
    )
  })

  it('are in the language that the account remembers', async () => {
    const { user, take, subjects, text, remember, end } = await given()
    await remember('de')
    await take(99)
    expect(await subjects(1)).toEqual(['Nur noch wenige Credits bei Easel (easel.test)'])
    expect(text()).toContain(`Hallo ${user.username},`)
    expect(text()).toContain('hat noch 1 Credit, weniger als ein')
    expect(text()).toContain('Diese E-Mails kannst du hier abschalten: http://easel.test/account#mails')
    await take(1)
    expect((await subjects(2))[1]).toBe('Keine Credits mehr bei Easel (easel.test)')
    expect(text()).toContain('Hier bekommst du welche: http://easel.test/beitreten')
    await end()
    expect((await subjects(3))[2]).toBe('Dein Abo bei Easel (easel.test) ist beendet')
    expect(text()).toMatch(/Abo Max bei .* ist seit dem 01\.02\.2026 \(UTC\) beendet/)
    expect(text()).toContain('http://easel.test/beitreten')
  })

  it('say that a subscription has ended, and of its other changes nothing', async () => {
    const { user, subjects, text } = await given()
    const store = operatorSubscriptionStore(context.service.db)
    const soon = new Date(Date.now() + 1000)
    await store.set(user.id, { status: undefined, plan: 'Max', endDate: undefined }, soon)
    await store.set(user.id, { status: undefined, plan: undefined, endDate: soon }, soon)
    expect(await subjects(1)).toEqual(['Your subscription on Easel at easel.test has ended'])
    expect(text()).toMatch(/the plan Max on Easel at easel\.test has ended on \d{4}-\d\d-\d\d/)
    expect(text()).toContain('renew it: https://club.example/join')
  })

  it('say that a payment has failed, and until when images can be made', async () => {
    const { user, subjects, text } = await given()
    await context.service.db.pool.query("INSERT INTO notices (user_id, kind, data) VALUES ($1, 'payment.failed', $2)", [
      user.id,
      { plan: 'Max', endDate: '2027-02-03T00:00:00.000Z' },
    ])
    expect(await subjects(1)).toEqual(['A payment on Easel at easel.test has failed'])
    expect(text()).toContain('can make images until 2027-02-03 (UTC)')
  })

  it('are sent to nobody who has turned them off, and again to who has turned them on', async () => {
    const { take, subjects, isDone, cookie } = await given(['credits.out'])
    const page = async () => (await visit(context.service.url, '/account?done=mails', { cookie })).html
    expect(await page()).toMatch(/id="credits.low" type="checkbox" name="mails" value="credits.low"\/?>/)
    expect(await page()).toMatch(/id="credits.out" [^>]*checked/)
    await take(90)
    await until(isDone, 'the notice to be left out')
    await take(10)
    expect(await subjects(1)).toEqual(['No credits are left on Easel at easel.test'])
  })

  it('wait for none that its mail server refuses, and are sent to no deleted account', async () => {
    const { db } = context.service
    const [refused, deleted, other] = [await given(), await given(), await given()]
    const { pool } = db
    await pool.query("UPDATE users SET email = 'refused-' || email WHERE id = $1", [refused.user.id])
    await pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [deleted.user.id])
    const note = `INSERT INTO notices (user_id, kind, data) SELECT unnest($1::uuid[]), 'credits.out', '{"credits": 0}'`
    await pool.query(note, [[refused, deleted, other].map(({ user }) => user.id)])
    expect(await other.subjects(1)).toEqual(['No credits are left on Easel at easel.test'])
    await until(deleted.isDone, 'the notice of the deleted account to be left out')
    expect(deleted.text()).toBe('')
    expect(await refused.isDone()).toBe(false)
  })

  it('are sent to no account without a confirmed address', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await operatorCreditStore(db).adjust(user.id, -90, { note: 'Corrected', belowZero: false })
    const left = `SELECT FROM notices WHERE user_id = $1 AND mail_at IS NOT NULL`
    await until(async () => (await db.pool.query(left, [user.id])).rowCount === 0, 'the notice to be left out')
    expect(mailbox.received.flatMap(({ to }) => to).every((to) => to.endsWith('@mail.test'))).toBe(true)
    const { html } = await visit(url, '/account', { cookie: await givenSession(db, user) })
    expect(textOf(html)).toContain('You get none: your account has no mail address.')
  })

  it('are tried again after the mail server was away', async () => {
    const { db } = context.service
    const { user, take, subjects } = await given()
    const port = mailbox.port
    await mailbox.close()
    await take(90)
    const tried = 'SELECT FROM notices WHERE user_id = $1 AND tries > 0 AND mail_at > now()'
    await until(async () => (await db.pool.query(tried, [user.id])).rowCount === 1, 'the first try')
    mailbox = await startMailbox({}, port)
    await db.pool.query('UPDATE notices SET mail_at = now() WHERE user_id = $1', [user.id])
    expect(await subjects(1)).toEqual(['Few credits are left on Easel at easel.test'])
  })
})

describe('a service that sells plans', () => {
  it('leads in its mails to where they are bought', async () => {
    const stripe = await startStripeStandIn()
    const env = { STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: 'whsec_mails', STRIPE_API_URL: stripe.url }
    const service = await startService({ server: { mailPollMs: 50 }, env: { ...mailEnv(), ...env } })
    try {
      const { take, subjects, text, end } = await given(undefined, service)
      await end()
      expect(await subjects(1)).toEqual(['Your subscription on Easel at easel.test has ended'])
      expect(text()).toContain('renew it: http://easel.test/account#buy')
      await take(100)
      await subjects(2)
      expect(text()).toContain('Get more: http://easel.test/account#buy')
    } finally {
      await service.close()
      await stripe.close()
    }
  })
})

describe('where nobody has said how to get a plan', () => {
  it.each(LANGUAGES)('the mails in %s lead to the usage, and else nowhere', (language) => {
    const { creditsOut } = textsIn(language).mails
    const place = { name: 'Easel', host: 'easel.test' }
    const { text } = creditsOut({ place, usageUrl: 'http://easel.test/usage', offersUrl: undefined })
    expect(text.match(/\S+:\/\/\S+/g)).toEqual(['http://easel.test/usage'])
  })
})

describe('a service without a mail server', () => {
  it('sends none, and shows no choice', async () => {
    const service = await startService()
    try {
      const user = await givenUser(service.db)
      await operatorUserStore(service.db).setEmail(user.id, 'ada@mail.test')
      const { html } = await visit(service.url, '/account', { cookie: await givenSession(service.db, user) })
      expect(html).not.toContain('id="mails"')
    } finally {
      await service.close()
    }
  })
})
