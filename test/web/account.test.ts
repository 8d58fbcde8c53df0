import { describe, expect, it } from 'vitest'
import { isPassword } from '../../src/account/password.js'
import { credentialStore, sessionStore } from '../../src/db/session-store.js'
import { spendingStore } from '../../src/db/spending-store.js'
import { browserName } from '../../src/web/account/browser-name.js'
import { describeInBrowser, givenSession, useBrowser } from '../support/browser.js'
import { call } from '../support/client.js'
import { givenPassword, PASSWORD } from '../support/given-sign-in.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { visit } from '../support/website-client.js'

const context = useService()
const browser = useBrowser()
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

async function givenEnd(user: Awaited<ReturnType<typeof givenUser>>, prompt: string, fails = false) {
  const worker = standInWorker(context.service.db)
  const { slugs } = await givenGeneration(context.service.db, user, { prompt, batchSize: 2 })
  const claimed = await worker.claim()
  await (fails ? worker.fail(claimed, 'The model broke.') : worker.succeed(claimed))
  return slugs[0] as string
}

describeInBrowser('the account page', () => {
  it('shows credits, plan, what they went to, and what came back', async () => {
    const { service } = context
    const { user, cookie } = await given({ credits: 1250, password: true })
    const slug = await givenEnd(user, HOSTILE)
    await givenEnd(user, 'a lighthouse', true)
    const { page, violations, scrollsSideways } = await browser.open(service.url, cookie)
    await page.goto('/account')
    expect(await page.getByRole('region', { name: 'Credits', exact: true }).textContent()).toContain('1,248')
    expect(await page.getByRole('region', { name: 'Plan' }).textContent()).toMatch(/Pro.*active/)
    const rows = page.getByRole('table', { name: 'Credit history' }).getByRole('row')
    const shown = await rows.allTextContents()
    expect(shown[1]).toMatch(/Given back.*a lighthouse.*Unnamed key.*\+21,248/)
    expect(shown[2]).toMatch(/Failed.*a lighthouse.*The model broke\..*−21,246/)
    expect(shown[3]).toContain(HOSTILE)
    expect(await rows.nth(3).getByRole('link').getAttribute('href')).toBe(`/image/${slug}`)
    expect(shown[4]).toMatch(/Added.*Operator.*\+1,2501,250/)
    await page.getByText('As a table').click()
    expect(await page.getByRole('cell', { name: '2', exact: true }).count()).toBe(1)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await violations()).toEqual([])
    }
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await scrollsSideways()).toBe(false)
    expect(await violations()).toEqual([])
  })

  it('changes the password, ends other sessions, and signs out everywhere', async () => {
    const { service } = context
    const { user, cookie, sessions, hasPassword } = await given({ password: true })
    const elsewhere = await givenSession(service.db, user)
    const { page } = await browser.open(service.url, cookie)
    await page.goto('/account')
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password').fill(NEXT)
    await page.keyboard.press('Enter')
    await page.getByText('Your password is changed.').waitFor()
    expect(await hasPassword(NEXT)).toBe(true)
    expect(await sessions()).toHaveLength(1)
    expect((await visit(service.url, '/account', { cookie: elsewhere })).location).toMatch(/^\/sign-in/)
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('button', { name: 'Sign out here, too?' }).click()
    await page.waitForURL('**/sign-in')
    expect(await sessions()).toEqual([])
  })
})

describe('changing the password', () => {
  it('needs the right one, and a new one that is long enough; else nothing changes', async () => {
    const { post, hasPassword, sessions, user } = await given({ password: true })
    await givenSession(context.service.db, user)
    const wrong = await post('/account/password', { current: 'wrong', next: NEXT })
    expect([wrong.status, wrong.html.includes('The current password is not right.')]).toEqual([403, true])
    const short = await post('/account/password', { current: PASSWORD, next: 'short' })
    expect([short.status, short.html.includes('A password has 10 to 200 characters')]).toEqual([400, true])
    expect((await post('/account/password')).status).toBe(400)
    expect(await hasPassword(PASSWORD)).toBe(true)
    expect(await sessions()).toHaveLength(2)
    for (const { html } of [wrong, short]) expect(html).not.toContain(PASSWORD)
  })

  it('asks for none where there is none', async () => {
    const { post, hasPassword, get } = await given()
    expect((await get()).html).not.toContain('Current password')
    expect((await post('/account/password', { next: NEXT })).location).toBe('/account?done=password')
    expect(await hasPassword(NEXT)).toBe(true)
  })

  it('is refused after too many tries, also with the right one', async () => {
    const { post, hasPassword } = await given({ password: true })
    await Promise.all(Array.from({ length: 12 }, () => post('/account/password', { current: 'wrong', next: 'short' })))
    expect((await post('/account/password', { current: PASSWORD, next: NEXT })).status).toBe(429)
    expect(await hasPassword(PASSWORD)).toBe(true)
  })
})

describe('sessions', () => {
  it('are ended one by one; another account’s are not', async () => {
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

  it('that have ended change nothing any more', async () => {
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
  ])('name the browser of %j', (userAgent, name) => {
    expect(browserName(userAgent)).toBe(name)
  })
})

describe('the credit history', () => {
  it('is one’s own, in pages that lose and repeat nothing', async () => {
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

  it('adds nothing to the API’s', async () => {
    const { user } = await given()
    await givenEnd(user, HOSTILE)
    const { body } = await call(context.service.url, 'GET', '/api/v1/credits', { key: user.key })
    const fields = ['balance', 'created_at', 'delta', 'generation_id', 'kind', 'note']
    expect(Object.keys(body.entries[0]).sort()).toEqual(fields)
  })

  it('adds up 30 days, today as the last', async () => {
    const { user } = await given()
    await givenEnd(user, 'kept')
    await givenEnd(user, 'given back', true)
    const days = await spendingStore(context.service.db).days(user.id)
    expect(days.map(({ spent }) => spent)).toEqual([...Array(29).fill(0), 2])
    expect(days[29]?.day).toBe(new Date().toISOString().slice(0, 10))
  })
})
