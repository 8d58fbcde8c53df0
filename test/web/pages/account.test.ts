import { describe, expect, it } from 'vitest'
import { isPassword } from '../../../src/core/accounts/password.js'
import { CANCELED } from '../../../src/core/generations/failure-reason.js'
import { operatorCreditStore, spendingStore } from '../../../src/db/accounts/ledger.js'
import { moveCredits } from '../../../src/db/accounts/move-credits.js'
import { credentialStore, sessionStore } from '../../../src/db/accounts/sessions.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { browserName } from '../../../src/web/parts/text.js'
import { en } from '../../../src/web/texts/texts.js'
import { call } from '../../support/client.js'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { type GivenUser, givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService({ env: { SITE_LANGUAGES: 'en,de' } })
const GERMAN = { 'accept-language': 'de' }
const HOSTILE = '<img src=x onerror=alert(1)>\nsecond \u202E"line"'
const NEXT = 'a longer one, newly chosen'

async function given({ password = false, ...options }: Parameters<typeof givenUser>[1] & { password?: boolean } = {}) {
  const { db, url } = context.service
  const user = await givenUser(db, options)
  if (password) await givenPassword(db, user)
  const cookie = await givenSession(db, user)
  return {
    user,
    cookie,
    get: (path = '/account', as = cookie) => visit(url, path, { cookie: as }),
    post: (path: string, body: Record<string, string> = {}, as = cookie) => visit(url, path, { cookie: as, body }),
    sessions: () => sessionStore(db).list(user.id),
    hasPassword: async (text: string) =>
      isPassword(text, (await credentialStore(db).find(user.username))?.passwordHash),
  }
}

const givenEnd = async (user: GivenUser, prompt: string, fails = false) =>
  (await givenEndedGeneration(context.service.db, user, { prompt, batchSize: 2 }, fails ? 'fail' : 'succeed')).slugs[0]

describe('the account page', () => {
  it('shows the credits, the plan, what the credits went to, and what was given back', async () => {
    const { user, get } = await given({ credits: 1250 })
    const slug = await givenEnd(user, HOSTILE)
    await givenEnd(user, 'a lighthouse', true)
    const { html } = await get()
    const sectionOf = (name: string) =>
      textOf(new RegExp(`<section[^>]*aria-labelledby="${name}".*?</section>`, 's').exec(html)?.[0] ?? '')
    expect(sectionOf('held')).toContain('1,248')
    expect(sectionOf('plan')).toMatch(/Pro.*active/)
    const rows = html.slice(html.indexOf('id="history"')).split('<tr>').slice(2)
    const shown = rows.map(textOf)
    expect(shown[0]).toMatch(/Given back.*a lighthouse.*Unnamed key.*\+21,248/)
    expect(shown[1]).toMatch(/Failed.*a lighthouse.*The model broke\..*−21,246/)
    expect(shown[2]).toContain(HOSTILE)
    expect(rows[2]).toContain(`href="/image/${slug}"`)
    expect(shown[3]).toMatch(/Added.*Operator.*\+1,2501,250/)
  })
})

describe('the credit history', () => {
  it('says what moved credits without a generation: a plan, a payment or an operator', async () => {
    const { user, get } = await given({ credits: 10 })
    const { pool } = context.service.db
    const move = (kind: 'grant' | 'expire' | 'purchase' | 'adjustment', delta: number, ref: string) =>
      moveCredits(pool, { userId: user.id, kind, delta, ref })
    await move('grant', 5, 'period:2027-01-01T00:00:00.000Z')
    await move('expire', -2, 'expire:2027-01-01T00:00:00.000Z')
    await move('purchase', 7, 'payment:pi_1')
    await move('adjustment', -7, 'payment:pi_1:1')
    const { html } = await get()
    const rows = html.slice(html.indexOf('id="history"')).split('<tr>').slice(2).map(textOf)
    const by = rows.map((row) => /Plan|Payment|Operator/.exec(row)?.[0])
    expect(by).toEqual(['Payment', 'Payment', 'Plan', 'Plan', 'Operator'])
  })
})

describe('the tile of the credits', () => {
  const heldBy = async (user: GivenUser) => {
    const { db, url } = context.service
    const { html } = await visit(url, '/account', { cookie: await givenSession(db, user) })
    return textOf(/<section[^>]*aria-labelledby="held".*?<\/section>/s.exec(html)?.[0] ?? '')
  }
  const day = (at: Date) => new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(at)

  it('says how many credits expire, when, and what comes then', async () => {
    const { db } = context.service
    const user = await givenSubscriber(db, await givenPlan(db, { credits: 500 }), { credits: 30 })
    const shown = await heldBy(user)
    expect(shown).toContain('530')
    expect(shown).toContain(`500 of them expire on ${day(user.periodEnd)}, and are spent first.`)
    expect(shown).toContain(`On ${day(user.periodEnd)} you get 500 credits; what is left of this month’s expires.`)
  })

  it('counts only what exceeds what stays, and says how many stay', async () => {
    const { db } = context.service
    const some = await heldBy(await givenSubscriber(db, await givenPlan(db, { carryOver: 99 })))
    expect(some).toMatch(/1 of them expires on .*, and is spent first\./)
    expect(some).toContain('100 credits; of what is left of your plan’s credits, 99 stay.')
    const all = await heldBy(await givenSubscriber(db, await givenPlan(db, { carryOver: 100 })))
    expect(all).not.toContain('spent first')
    expect(await heldBy(await givenSubscriber(db, await givenPlan(db, { carryOver: null })))).toMatch(
      /100 credits; what is left of this month’s stays\./,
    )
  })

  it('says that no credits follow after the end of the subscription', async () => {
    const { db } = context.service
    const endDate = new Date(Date.now() + 3_600_000)
    const shown = await heldBy(await givenSubscriber(db, await givenPlan(db), { subscription: { endDate } }))
    expect(shown).toMatch(/100 of them expire on .*On .* no more credits come; what is left of this month’s expires\./)
  })

  it('says nothing of periods to who has a plan that is in no file', async () => {
    const { db } = context.service
    expect(await heldBy(await givenUser(db, { subscription: { plan: `None ${crypto.randomUUID()}` } }))).not.toMatch(
      /expire|stay|On /,
    )
  })

  it('says what a balance below 0 means', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 10 })
    await operatorCreditStore(db).adjust(user.id, -22, { note: 'Granted twice', belowZero: true })
    expect(await heldBy(user)).toContain('−12You owe 12 credits: until your balance is above 0 you can make no images.')
  })
})

describe('changing the password', () => {
  it('needs the right current one and a new one that is long enough; otherwise nothing changes', async () => {
    const { post, hasPassword, sessions, user } = await given({ password: true })
    await givenSession(context.service.db, user)
    const wrong = await post('/account/password', { current: 'wrong', next: NEXT })
    expect([wrong.status, wrong.html.includes('The current password is not right.')]).toEqual([403, true])
    const short = await post('/account/password', { current: PASSWORD, next: 'short' })
    expect([short.status, short.html.includes('A password has 10 to 200 characters')]).toEqual([400, true])
    expect((await post('/account/password')).status).toBe(400)
    const named = await post('/account/password', { current: PASSWORD, next: ` ${user.username.toUpperCase()}` })
    expect([named.status, named.html.includes('The password must not be the username.')]).toEqual([400, true])
    expect(await hasPassword(PASSWORD)).toBe(true)
    expect(await sessions()).toHaveLength(2)
    for (const { html } of [wrong, short]) expect(html).not.toContain(PASSWORD)
  })

  it('keeps the session that changed it and ends the account’s others', async () => {
    const { post, get, hasPassword, user } = await given({ password: true })
    const elsewhere = await givenSession(context.service.db, user)
    const { location } = await post('/account/password', { current: PASSWORD, next: NEXT })
    expect(location).toBe('/account?done=password')
    expect(await hasPassword(NEXT)).toBe(true)
    expect((await get(location as string)).html).toContain('Your password is changed.')
    expect((await get('/account', elsewhere)).location).toMatch(/^\/sign-in/)
  })

  it('asks for no current one if the account has none', async () => {
    const { post, hasPassword, get } = await given()
    const { html } = await get()
    expect(html).not.toContain('Current password')
    // Password managers keep a password with the name in a field of text, also one that is not shown.
    expect(html).toMatch(/<input type="text" name="username" autocomplete="username" value="[^"]+"[^>]* hidden/)
    expect((await post('/account/password', { next: NEXT })).location).toBe('/account?done=password')
    expect(await hasPassword(NEXT)).toBe(true)
  })

  it('is refused after too many wrong tries, even with the right current one', async () => {
    const { post, hasPassword } = await given({ password: true })
    await Promise.all(Array.from({ length: 12 }, () => post('/account/password', { current: 'wrong', next: 'short' })))
    expect((await post('/account/password', { current: PASSWORD, next: NEXT })).status).toBe(429)
    expect(await hasPassword(PASSWORD)).toBe(true)
  })
})

describe('a session', () => {
  it('is ended by its owner, one at a time, and by nobody else', async () => {
    const { post, sessions, user, get } = await given()
    const other = await given()
    await givenSession(context.service.db, user)
    const [mine] = await sessionStore(context.service.db).list(other.user.id)
    for (const id of [mine?.id, 'nonsense', crypto.randomUUID()])
      expect((await post(`/account/sessions/${id}/end`)).status).toBe(303)
    expect(await other.sessions()).toHaveLength(1)
    const { html } = await get()
    const [id] = /(?<=\/account\/sessions\/)[0-9a-f-]{36}/.exec(html) ?? []
    await post(`/account/sessions/${id}/end`)
    expect(await sessions()).toHaveLength(1)
    expect((await get()).html).toContain('this one')
  })

  it('that has ended cannot change the password any more', async () => {
    const { post, sessions, hasPassword } = await given({ password: true })
    await post('/account/sessions/end')
    expect(await sessions()).toEqual([])
    const late = await post('/account/password', { current: PASSWORD, next: NEXT })
    expect(late.location).toMatch(/^\/sign-in/)
    expect(await hasPassword(PASSWORD)).toBe(true)
  })

  it.each([
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0',
      'Edge on Windows',
    ],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile Safari/604.1', 'Safari on iPhone'],
    ['Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36', 'Chrome on Android'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', 'Firefox on Linux'],
    ['<script>', 'Unknown browser'],
    [null, 'Unknown browser'],
  ])('of the browser %j is listed as %s', (userAgent, name) => {
    expect(browserName(userAgent, en)).toBe(name)
  })
})

describe('the credit history', () => {
  it('shows only the account’s own entries, in pages that lose and repeat nothing', async () => {
    const { db } = context.service
    const { user, get } = await given({ credits: 0 })
    const other = await givenUser(db, { credits: 0 })
    await db.pool.query(
      `INSERT INTO credit_ledger (user_id, kind, delta, balance, note)
       SELECT CASE WHEN n <= 60 THEN $1::uuid ELSE $2::uuid END, 'grant', 1, n, 'note <' || n || '>'
       FROM generate_series(1, 70) n`,
      [user.id, other.id],
    )
    const notes: number[] = []
    let path: string | undefined = '/account'
    for (; path; ) {
      const { html } = await get(path)
      notes.push(...[...html.matchAll(/note &lt;(\d+)>/g)].map(([, n]) => Number(n)))
      path = /href="(\/account\?cursor=[^"#]+)/.exec(html)?.[1]
    }
    expect(notes).toEqual(Array.from({ length: 60 }, (_, n) => 60 - n))
    expect((await get('/account?cursor=nonsense&done=nonsense')).status).toBe(200)
  })

  it('says of a canceled generation that it was canceled, not that it failed', async () => {
    const { db } = context.service
    const { user, get } = await given()
    const { id } = await givenGeneration(db, user, { prompt: 'called off' })
    await cancelStore(db).cancel(id, CANCELED, { onlyQueued: true })
    const { html } = await get()
    const [refund, charge] = html.slice(html.indexOf('id="history"')).split('<tr>').slice(2).map(textOf)
    expect(refund).toMatch(/Given back.*called off/)
    expect(charge).toMatch(/Canceled.*called off/)
    expect(charge).not.toMatch(/Failed|Canceled\./)
  })

  it('of the API has none of the fields that only the page shows', async () => {
    const { user } = await given()
    await givenEnd(user, HOSTILE)
    const { body } = await call(context.service.url, 'GET', '/api/v1/credits', { key: user.key })
    const fields = ['balance', 'created_at', 'delta', 'generation_id', 'kind', 'note']
    expect(Object.keys(body.entries[0]).sort()).toEqual(fields)
  })

  it('adds up the spending of 30 days, without what was given back, with today as the last', async () => {
    const { user } = await given()
    await givenEnd(user, 'kept')
    await givenEnd(user, 'given back', true)
    const today = () => new Date().toISOString().slice(0, 10)
    const before = today()
    const days = await spendingStore(context.service.db).days(user.id)
    expect(days).toHaveLength(30)
    expect(days.map(({ spent }) => spent).filter((spent) => spent > 0)).toEqual([2])
    expect([before, today()]).toContain(days[29]?.day)
  })

  it('adds up the spending of a day to the last credit, however much it is', async () => {
    const { user } = await given({ credits: 20_000_000 })
    // The first whole number that a `real` of Postgres can not hold.
    const model = { ...MODEL, creditsPerImage: 16_777_217 }
    await givenEndedGeneration(context.service.db, user, { model })
    const days = await spendingStore(context.service.db).days(user.id)
    expect(days.map(({ spent }) => spent).filter((spent) => spent > 0)).toEqual([16_777_217])
  })
})

describe('the account page in German', () => {
  it('shows credits, plan, password, sessions and what the credits went to', async () => {
    const { db, url } = context.service
    const plan = await givenPlan(db, { name: 'Groß', signUpCredits: 5 })
    const user = await givenSubscriber(db, plan)
    await givenEnd(user, 'ein Leuchtturm', true)
    const { html } = await visit(url, '/account', { cookie: await givenSession(db, user), headers: GERMAN })
    const text = textOf(html)
    for (const said of [
      'Ein Bild kostet einen oder mehr, je nach Modell.',
      'Passwort festlegen',
      'Mindestens 10 Zeichen. Du bleibst hier angemeldet, und sonst nirgends.',
      'Wo du angemeldet bist',
      'Zuletzt aktiv: ',
      'Verbrauchte Credits in 30 Tagen',
      'Dein Konto löschen',
    ])
      expect(text).toContain(said)
    expect(text).toMatch(/Abo\s*Groß\s*aktiv bis/)
    const rows = html.slice(html.indexOf('id="history"')).split('<tr>').slice(2).map(textOf)
    expect(rows[0]).toMatch(/Erstattet.*ein Leuchtturm.*Schlüssel ohne Namen/)
    expect(rows[1]).toMatch(/Fehlgeschlagen.*ein Leuchtturm/)
    const notes = rows.slice(2).join()
    expect(notes).toMatch(/Gutschrift Groß, \d\d\.\d\d\.\d{4} bis \d\d\.\d\d\.\d{4}.*Abo/)
    expect(notes).toContain('Groß, zum Start')
  })

  it('keeps the words of an operator as they are', async () => {
    const { db, url } = context.service
    const { user, cookie } = await given({ credits: 20 })
    await operatorCreditStore(db).adjust(user.id, -22, { note: 'Pro, at sign-up', belowZero: true })
    const { html } = await visit(url, '/account', { cookie, headers: GERMAN })
    expect(textOf(html)).toContain('Korrigiert Pro, at sign-up')
    expect(textOf(html)).toContain('Du bist mit 2 Credits im Minus')
  })

  it('says what was done, and what is refused', async () => {
    const { url } = context.service
    const { cookie } = await given({ password: true })
    const body = { current: 'wrong', next: NEXT }
    const refused = await visit(url, '/account/password', { cookie, headers: GERMAN, body })
    expect(refused.html).toContain('Das jetzige Passwort stimmt nicht.')
    for (const [done, said] of [
      ['password', 'Dein Passwort ist geändert.'],
      ['session', 'Dieser Browser ist abgemeldet.'],
      ['mails', 'Deine Auswahl der E-Mails ist gespeichert.'],
      ['language', 'Deine Sprache ist gespeichert.'],
    ])
      expect((await visit(url, `/account?done=${done}`, { cookie, headers: GERMAN })).html).toContain(said)
  })
})
