import { beforeAll, describe, expect, it } from 'vitest'
import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { planStore } from '../../../src/db/accounts/plans.js'
import { credentialStore, sessionStore } from '../../../src/db/accounts/sessions.js'
import { call } from '../../support/client.js'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, givenUser, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { unrecordable } from '../../support/unrecordable.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>
let cookie: string

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
  cookie = operator.cookie
})

const pageOf = ({ username }: GivenUser) => `/operator/users/${username}`
const see = (path: string) => visit(context.service.url, path, { cookie })
const act = (user: GivenUser, name: string, body: Readonly<Record<string, string>> = {}) =>
  visit(context.service.url, `${pageOf(user)}/${name}`, {
    cookie,
    body: { reason: 'Asked for by mail', ...body },
  })

/** What was recorded about a user, the latest last. */
async function recordedOf({ username }: GivenUser): Promise<string[]> {
  const { rows } = await context.service.db.pool.query(
    'SELECT actor, action, reason FROM operator_actions WHERE target = $1 ORDER BY id',
    [username],
  )
  for (const { actor } of rows) expect(actor).toBe(operator.username)
  return rows.map(({ action, reason }) => `${action}: ${reason}`)
}

describe('the operator’s pages of users', () => {
  it('do not exist for subscribers, who can do nothing there, and ask whoever is not signed in to sign in', async () => {
    const { db, url } = context.service
    const [subscriber, other] = [await givenUser(db), await givenUser(db)]
    const theirs = await givenSession(db, subscriber)
    for (const path of ['/operator/users', pageOf(other), '/operator/moderation', '/operator/images']) {
      expect((await visit(url, path, { cookie: theirs })).status).toBe(404)
      expect((await visit(url, path)).location).toMatch(/^\/sign-in\?next=/)
    }
    const body = { amount: '5', reason: 'me', role: 'operator', username: other.username }
    for (const name of ['credits', 'role', 'delete', 'sessions/end', 'subscription/remove'])
      expect((await visit(url, `${pageOf(other)}/${name}`, { cookie: theirs, body })).status).toBe(404)
    expect(await creditsOf(db, other)).toBe(100)
    expect(await recordedOf(other)).toEqual([])
  })

  it('find users by a part of the name or address in capital or small letters, by the end of a key, and by the ID of either', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const email = `Some.Body+${user.id}@Example.com`
    await db.pool.query('UPDATE users SET email = $2 WHERE id = $1', [user.id, email])
    const hint = user.key.slice(-4)
    for (const q of [
      user.username.slice(5).toUpperCase(),
      email.toLowerCase(),
      hint,
      `easel_…${hint}`,
      user.id,
      user.keyId,
    ]) {
      const { html } = await see(`/operator/users?q=${encodeURIComponent(q)}`)
      expect(html).toContain(pageOf(user))
      expect(html).not.toContain(pageOf(operator))
    }
    for (const q of ['%', "'; DROP TABLE users; --", '\0', '_', '<script>']) {
      const { status, html } = await see(`/operator/users?q=${encodeURIComponent(q)}&after=nonsense`)
      expect(status).toBe(200)
      expect(html).not.toContain('<script>')
    }
  })

  it('list every user once, page by page, and deleted accounts separately', async () => {
    const { db } = context.service
    await db.pool.query(
      `INSERT INTO users (username, deleted_at)
       SELECT 'Paged-' || n, CASE WHEN n % 2 = 0 THEN now() END FROM generate_series(1, 240) n`,
    )
    // The same name again, by accounts that were deleted.
    await db.pool.query(`INSERT INTO users (username, deleted_at) SELECT 'paged-1', now() FROM generate_series(1, 60)`)
    for (const [deleted, count] of [
      ['', 120],
      ['yes', 180],
    ] as const) {
      const seen: string[] = []
      let path: string | undefined = `/operator/users?q=paged-&deleted=${deleted}`
      while (path) {
        const { html } = await see(path)
        seen.push(...[...html.matchAll(/class="user" href="([^"]+)"/g)].map(([, href]) => href as string))
        path = /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')
      }
      expect(seen).toHaveLength(count)
      expect(new Set(seen).size).toBe(count)
    }
    const { html } = await see('/operator/users?q=paged-1&deleted=yes')
    const [, deleted] = /href="([^"]*paged-1\?id=[^"]+)"/.exec(html) ?? []
    expect((await see(deleted as string)).html).toContain('>deleted<')
    expect((await see('/operator/users/paged-1')).html).not.toContain('>deleted<')
  })

  it('answer 404 in words if there is no such user', async () => {
    for (const name of ['nobody', '..%2f', '%00', 'a'.repeat(90)]) {
      const { status, html } = await see(`/operator/users/${name}`)
      expect(status).toBe(404)
      expect(html).toContain('There is no user of this name.')
    }
  })

  it('show what users and their browsers have written as text', async () => {
    const { db } = context.service
    const plan = `"><img src=x onerror=alert(1)>`
    const user = await givenUser(db, { subscription: { plan } })
    await db.pool.query('UPDATE api_keys SET name = $2 WHERE id = $1', [
      user.keyId,
      '</bdi><script>alert(2)</script>\u202e',
    ])
    await sessionStore(db).begin(user.id, hashToken(newToken()), '<script>alert(3)</script>')
    const { html } = await see(pageOf(user))
    expect(html).not.toMatch(/<img src=x|<script>/)
    expect(html).toContain('&lt;script>alert(2)')
    expect(html).toContain('&lt;script>alert(3)')
  })
})

it('an act that cannot be recorded is not done', async () => {
  const { db } = context.service
  const user = await givenUser(db, { credits: 10 })
  const { id } = await givenGeneration(db, user)
  const state = async () =>
    (
      await db.pool.query(
        `SELECT u.credits, u.role, u.email, u.deleted_at, s.plan, g.status, k.revoked_at
           FROM users u JOIN generations g ON g.user_id = u.id JOIN api_keys k ON k.user_id = u.id
           LEFT JOIN subscriptions s ON s.user_id = u.id WHERE u.id = $1`,
        [user.id],
      )
    ).rows
  const before = await state()
  const acts = {
    credits: { amount: '5' },
    'credits/correct': { amount: '-3' },
    subscription: { plan: 'other', status: 'active', end_date: '' },
    'subscription/remove': {},
    'keys/revoke': { id: user.keyId },
    'generations/cancel': { id },
    role: { role: 'operator' },
    email: { email: 'new@example.com' },
    delete: { username: user.username },
  }
  await unrecordable(db, async () => {
    for (const [name, body] of Object.entries(acts))
      expect([name, (await act(user, name, body)).status]).toEqual([name, 500])
    expect(await state()).toEqual(before)
  })
  for (const name of ['credits', 'role'] as const) expect((await act(user, name, acts[name])).status).toBe(303)
  expect(await state()).toMatchObject([{ credits: before[0].credits + 5, role: 'operator' }])
})

describe('granting credits', () => {
  it('changes the balance, the ledger and the log once, however often the form is sent', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 10 })
    const [, ref] = /name="ref" value="([\w-]{43})"/.exec((await see(pageOf(user))).html) ?? []
    const sent = { amount: '32', reason: 'Invoice <b>May</b>', ref: ref as string }
    const answers = await Promise.all([1, 2, 3].map(() => act(user, 'credits', sent)))
    for (const { status, location } of answers) {
      expect(status).toBe(303)
      expect((await see(location as string)).html).toMatch(/credits were granted/)
    }
    expect(await creditsOf(db, user)).toBe(42)
    expect(await recordedOf(user)).toEqual(['granted 32 credits: Invoice <b>May</b>'])
    const { html } = await see(pageOf(user))
    expect(html).toContain('Invoice &lt;b>May')
    expect(html).not.toContain(ref)
  })

  it('is refused without a positive whole number and a reason, and keeps what was typed', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 1 })
    const wrong = [
      { amount: '0' },
      { amount: '-5' },
      { amount: '1.5' },
      { amount: '1e3' },
      { amount: '' },
      { amount: '9007199254740991' },
      { amount: '99999999999999999' },
      { amount: '7', reason: ' ' },
      { amount: '7', reason: '\u200b\u3164' },
      { amount: '7', reason: 'two\nlines' },
      { amount: '7', reason: 'x'.repeat(501) },
    ]
    for (const body of wrong) {
      const { status, html } = await act(user, 'credits', { ref: 'r'.repeat(43), ...body })
      expect([body, status]).toEqual([body, 400])
      expect(html).toContain('role="alert"')
      if (body.amount) expect(html).toContain(`value="${body.amount}"`)
      expect(html).toContain(`value="${'r'.repeat(43)}"`)
    }
    expect(await creditsOf(db, user)).toBe(1)
    expect(await recordedOf(user)).toEqual([])
  })

  it('wants more than a million credits confirmed by a box, which the form has only then', async () => {
    const { db } = context.service
    const user = await givenUser(db, { credits: 0 })
    const box = 'name="meant" type="checkbox"'
    expect((await see(pageOf(user))).html).not.toContain(box)
    const { status, html } = await act(user, 'credits', { amount: '1000001' })
    expect(status).toBe(400)
    expect(html).toContain('That is more than 1,000,000 credits at once: tick the box if you mean it.')
    expect(html).toContain(box)
    expect(await recordedOf(user)).toEqual([])
    expect((await act(user, 'credits', { amount: '1000001', meant: 'yes' })).status).toBe(303)
    expect((await act(user, 'credits', { amount: '1000000' })).status).toBe(303)
    expect(await creditsOf(db, user)).toBe(2_000_001)
    expect((await act(user, 'credits', { amount: '9007199254740991', meant: 'yes' })).html).toContain('grant fewer')
  })

  it('is refused for another user with a form that was sent before', async () => {
    const { db } = context.service
    const [user, other] = [await givenUser(db, { credits: 0 }), await givenUser(db, { credits: 0 })]
    const sent = { amount: '32', ref: newToken() }
    expect((await act(user, 'credits', sent)).status).toBe(303)
    expect((await act(other, 'credits', sent)).html).toContain('This form was sent before, with other values')
    expect(await creditsOf(db, other)).toBe(0)
  })
})

describe('correcting credits', () => {
  const balanceOf = (user: GivenUser) => creditsOf(context.service.db, user)

  it('gives or takes once, however often the form is sent, and says why in the ledger and the log', async () => {
    const user = await givenUser(context.service.db, { credits: 10 })
    const [, ref] = /credits\/correct".*?name="ref" value="([\w-]{43})"/s.exec((await see(pageOf(user))).html) ?? []
    const sent = { amount: '-4', reason: 'Granted twice', ref: ref as string }
    const answers = await Promise.all([1, 2, 3].map(() => act(user, 'credits/correct', sent)))
    for (const { status, location } of answers) {
      expect(status).toBe(303)
      expect((await see(location as string)).html).toMatch(/credits were corrected/)
    }
    expect((await act(user, 'credits/correct', { amount: '7' })).status).toBe(303)
    expect(await balanceOf(user)).toBe(13)
    expect(await recordedOf(user)).toEqual([
      'corrected the credits by -4: Granted twice',
      'corrected the credits by 7: Asked for by mail',
    ])
    expect(textOf((await see(pageOf(user))).html)).toContain('CorrectedGranted twice−46')
  })

  it('stops at 0 and says so, unless the box is ticked', async () => {
    const user = await givenUser(context.service.db, { credits: 10 })
    const { location } = await act(user, 'credits/correct', { amount: '-50' })
    expect((await see(location as string)).html).toContain('The balance stops at 0: fewer credits were taken.')
    const refused = await act(user, 'credits/correct', { amount: '-1', below_zero: '' })
    expect([refused.status, await balanceOf(user)]).toEqual([400, 0])
    expect(refused.html).toContain(
      'holds 0 credits, so nothing was taken: tick the box to let the balance fall below 0.',
    )
    expect(refused.html).toContain('value="-1"')
    expect((await act(user, 'credits/correct', { amount: '-1', below_zero: 'yes' })).status).toBe(303)
    expect(await balanceOf(user)).toBe(-1)
    expect(await recordedOf(user)).toHaveLength(2)
  })

  it.each(['0', '', '1.5', '1e3', '--5', '9007199254740992'])('is refused with the amount %j', async (amount) => {
    const user = await givenUser(context.service.db, { credits: 10 })
    const { status, html } = await act(user, 'credits/correct', { amount, below_zero: 'yes' })
    expect([status, await balanceOf(user)]).toEqual([400, 10])
    expect(html).toContain('The amount must be a whole number')
    // The form beside it stays as it was.
    expect(html).toMatch(/id="amount"[^>]* value required/)
  })

  it('wants more than a million credits confirmed by a box', async () => {
    const user = await givenUser(context.service.db, { credits: 10 })
    const sent = { amount: '-1000001', below_zero: 'yes' }
    expect((await act(user, 'credits/correct', sent)).html).toContain('tick the box if you mean it')
    expect((await act(user, 'credits/correct', { ...sent, meant: 'yes' })).status).toBe(303)
    expect(await balanceOf(user)).toBe(10 - 1_000_001)
  })
})

it('the card of the subscription shows its running period, and offers the plans that are not retired', async () => {
  const { db } = context.service
  const [plan, retired] = [await givenPlan(db, { credits: 500, carryOver: 20 }), await givenPlan(db)]
  await planStore(db).retire(retired.name)
  const user = await givenSubscriber(db, plan)
  const { html } = await see(pageOf(user))
  expect(textOf(html)).toMatch(/Granted in it500 creditsExpire at its end480 creditsGranted next500 credits/)
  const [, offered = ''] = /<datalist id="plans">(.*?)<\/datalist>/s.exec(html) ?? []
  expect(offered).toContain(plan.name)
  expect(offered).not.toContain(retired.name)
  expect((await see(pageOf(await givenUser(db)))).html).not.toContain('Granted in it')
})

const problemIn = (html: string) => textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')

describe('an operator', () => {
  it('is told the plan that is near a name of none, and may mean that name', async () => {
    const { db } = context.service
    const { name } = await givenPlan(db, { name: `Studio ${crypto.randomUUID()}` })
    const user = await givenUser(db, { subscription: { plan: 'Former' } })
    const has = async () =>
      (await db.pool.query('SELECT plan FROM subscriptions WHERE user_id = $1', [user.id])).rows[0].plan
    const form = { status: 'active', end_date: '' }
    const refused = await act(user, 'subscription', { ...form, plan: name.replace('Studio', 'studoi') })
    expect(refused.status).toBe(400)
    expect(problemIn(refused.html)).toContain(`write "${name}", or tick the box to begin a subscription that grants`)
    expect((await act(user, 'subscription', { ...form, plan: `${name}\u202e` })).status).toBe(400)
    // What it has already is not asked about.
    expect((await act(user, 'subscription', { ...form, plan: 'Former' })).status).toBe(303)
    expect(await has()).toBe('Former')
    expect((await act(user, 'subscription', { ...form, plan: 'Guest', unlisted: 'yes' })).status).toBe(303)
    expect(await has()).toBe('Guest')
    expect((await act(user, 'subscription', { ...form, plan: ` ${name} ` })).status).toBe(303)
    expect(await has()).toBe(name)
  })

  it('revokes a key of the user, which is refused at the next request, and no key of anybody else', async () => {
    const { db, url } = context.service
    const [user, other] = [await givenUser(db), await givenUser(db)]
    const answer = () => call(url, 'GET', '/api/v1/account', { key: user.key })
    expect((await answer()).status).toBe(200)
    expect((await act(user, 'keys/revoke', { id: other.keyId })).status).toBe(400)
    expect((await act(user, 'keys/revoke', { id: user.keyId })).status).toBe(303)
    expect((await answer()).status).toBe(401)
    expect((await call(url, 'GET', '/api/v1/account', { key: other.key })).status).toBe(200)
    expect(await recordedOf(user)).toEqual([`revoked key ${user.keyId}: Asked for by mail`])
  })

  it('ends all sessions of a user', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const theirs = await givenSession(db, user)
    expect((await act(user, 'sessions/end')).status).toBe(303)
    expect((await visit(url, '/sign-in', { cookie: theirs })).status).toBe(200)
    expect(await sessionStore(db).list(user.id)).toEqual([])
  })

  it('cancels an active generation of the user with its refund, and no generation of anybody else', async () => {
    const { db } = context.service
    const [user, other] = [await givenUser(db), await givenUser(db)]
    const [mine, theirs] = [await givenGeneration(db, user, { batchSize: 2 }), await givenGeneration(db, other)]
    expect((await see(pageOf(user))).html).toContain(mine.id)
    expect((await act(user, 'generations/cancel', { id: theirs.id })).status).toBe(400)
    expect((await act(user, 'generations/cancel', { id: mine.id })).status).toBe(303)
    expect((await act(user, 'generations/cancel', { id: mine.id })).status).toBe(400)
    expect(await rowOf(db, mine)).toMatchObject({ status: 'failed', error: 'Canceled.' })
    expect(await rowOf(db, theirs)).toMatchObject({ status: 'queued' })
    expect(await chargesOf(db, user)).toEqual([
      ['charge', -2],
      ['refund', 2],
    ])
  })

  it('begins, changes and removes a subscription, whose end keeps its time of day if the day is not changed', async () => {
    const { db, url } = context.service
    const user = await givenUser(db, { subscription: null })
    const shown = async () => (await call(url, 'GET', '/api/v1/account', { key: user.key })).body.subscription
    const plan = { plan: 'Studio', status: 'active', unlisted: 'yes' }
    expect((await act(user, 'subscription', { ...plan, end_date: '' })).status).toBe(303)
    const begun = await shown()
    expect(begun).toMatchObject({ status: 'active', plan: 'Studio' })
    const sameDay = { ...plan, plan: 'Solo', status: 'past_due', end_date: begun.endDate.slice(0, 10) }
    expect((await act(user, 'subscription', sameDay)).status).toBe(303)
    expect(await shown()).toEqual({ status: 'past_due', plan: 'Solo', endDate: begun.endDate })
    for (const wrong of [{ plan: '' }, { status: 'Active' }, { end_date: '2027-02-30' }])
      expect((await act(user, 'subscription', { ...plan, end_date: '', ...wrong })).status).toBe(400)
    expect((await act(user, 'subscription/remove')).status).toBe(303)
    expect(await shown()).toBeNull()
    expect(await recordedOf(user)).toHaveLength(3)
  })

  it('ends a subscription with its last day in UTC, and with no day that is over', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const shown = async () => (await call(url, 'GET', '/api/v1/account', { key: user.key })).body.subscription
    const plan = { plan: 'Studio', status: 'active', unlisted: 'yes' }
    const today = new Date().toISOString().slice(0, 10)
    for (const end_date of ['2091-05-06', today]) {
      expect((await act(user, 'subscription', { ...plan, end_date })).status).toBe(303)
      expect(await shown()).toMatchObject({ status: 'active', endDate: `${end_date}T23:59:59.999Z` })
    }
    const { status, html } = await act(user, 'subscription', { ...plan, end_date: '2020-01-01' })
    expect(status).toBe(400)
    expect(html).toContain('The end is over: choose today (in UTC) or a later date.')
    await db.pool.query(`UPDATE subscriptions SET end_date = '2020-01-01T12:00:00Z' WHERE user_id = $1`, [user.id])
    for (const end_date of ['2020-01-01', ''])
      expect((await act(user, 'subscription', { ...plan, end_date })).status).toBe(400)
    expect((await act(user, 'subscription', { ...plan, status: 'canceled', end_date: '2020-01-01' })).status).toBe(303)
    expect(await shown()).toMatchObject({ status: 'expired', endDate: '2020-01-01T12:00:00.000Z' })
  })

  it('makes a user an operator and a subscriber again, but changes no role of their own', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const theirs = await givenSession(db, user)
    expect((await act(user, 'role', { role: 'operator' })).status).toBe(303)
    expect((await visit(url, '/operator/users', { cookie: theirs })).status).toBe(200)
    expect((await act(user, 'role', { role: 'subscriber' })).status).toBe(303)
    expect((await visit(url, '/operator/users', { cookie: theirs })).status).toBe(404)
    expect((await act(user, 'role', { role: 'god' })).status).toBe(400)
    for (const [name, body] of [
      ['role', { role: 'subscriber' }],
      ['delete', { username: operator.username }],
    ] as const)
      expect((await act(operator, name, body)).html).toContain('another operator must do this')
    expect((await see('/operator/users')).status).toBe(200)
  })

  it('changes the email address of a user, unless another account has it', async () => {
    const { db, url } = context.service
    const [user, other] = [await givenUser(db), await givenUser(db)]
    const email = `${user.username}@example.com`
    expect((await act(user, 'email', { email })).status).toBe(303)
    expect((await act(other, 'email', { email: email.toUpperCase() })).html).toContain(
      `Another user has the address ${email.toUpperCase()}.`,
    )
    for (const wrong of ['a', 'a b@c', 'a@b@c', '@', 'jörg@bücher.example'])
      expect((await act(user, 'email', { email: wrong })).status).toBe(400)
    expect((await see(pageOf(user))).html).toContain(email)
    const [token, confirmation] = [newToken(), newToken()]
    const credentials = credentialStore(db)
    await credentials.addLink(user.id, hashToken(token))
    await credentials.addLink(user.id, hashToken(confirmation), email)
    expect((await act(user, 'email', { email: '' })).status).toBe(303)
    // Both were sent to the address before.
    expect((await visit(url, '/sign-in/link', { body: { token } })).status).toBe(401)
    expect(await credentials.confirmEmail(user.id, hashToken(confirmation))).toBe('over')
    expect((await see(pageOf(user))).html).not.toContain(email)
  })

  it('keeps an address whose domain has other letters as the sign-in page looks for it, and finds it either way', async () => {
    const user = await givenUser(context.service.db)
    const email = `${user.username}@bücher.example`
    expect((await act(user, 'email', { email })).status).toBe(303)
    const kept = `${user.username}@xn--bcher-kva.example`
    expect((await see(pageOf(user))).html).toContain(kept)
    for (const q of [email, kept])
      expect((await see(`/operator/users?q=${encodeURIComponent(q)}`)).html).toContain(pageOf(user))
  })

  it('deletes an account after typing its name, which ends its sessions and gives back what is active', async () => {
    const { db, url } = context.service
    const user = await givenUser(db, { credits: 10 })
    const theirs = await givenSession(db, user)
    const active = await givenGeneration(db, user)
    expect((await act(user, 'delete', { username: 'somebody' })).html).toContain('type the username exactly')
    const { status, location } = await act(user, 'delete', { username: user.username })
    expect(status).toBe(303)
    expect((await see(location as string)).html).toContain('The account is deleted.')
    expect(await rowOf(db, active)).toMatchObject({ status: 'failed' })
    expect(await creditsOf(db, user)).toBe(10)
    expect((await visit(url, '/keys', { cookie: theirs })).status).not.toBe(200)
    expect(await sessionStore(db).list(user.id)).toEqual([])
    for (const name of ['credits', 'delete', 'role', 'subscription/remove'])
      expect((await act(user, name, { amount: '5', username: user.username })).html).toContain(
        'nothing about it can be changed',
      )
    expect(await recordedOf(user)).toEqual(['deleted user: Asked for by mail'])
  })
})
