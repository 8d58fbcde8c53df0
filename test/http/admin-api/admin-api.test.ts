import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OperatorScope } from '../../../src/core/accounts/account.js'
import { newApiKey } from '../../../src/core/accounts/api-key.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { administration } from '../../../src/db/operator/administration.js'
import { SECRET_KEY, startStripeStandIn } from '../../stand-ins/stripe/stripe-stand-in.js'
import { call } from '../../support/client.js'
import { givenPlan } from '../../support/given-plan.js'
import { creditsOf, givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { unrecordable } from '../../support/unrecordable.js'
import { givenOperatorKey as operatorKey } from './given-operator-key.js'

const context = useService()

const givenOperatorKey = (...options: [scope?: OperatorScope, name?: string]) =>
  operatorKey(context.service.db, ...options)

const send = (
  key: string | undefined,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) => call(context.service.url, method, `/admin/v1${path}`, { ...(key && { key }), body, headers })

const actsOn = async (target: string) => {
  const sql = 'SELECT actor, action, reason FROM operator_actions WHERE target = $1 ORDER BY id'
  return (await context.service.db.pool.query(sql, [target])).rows
}

describe('/admin/v1', () => {
  it('is for operator keys alone, and operator keys are for it alone', async () => {
    const { url } = context.service
    const { key } = await givenOperatorKey()
    const personal = await givenUser(context.service.db)
    expect((await send(undefined, 'GET', '/accounts')).status).toBe(401)
    expect((await send(newApiKey('easel-operator'), 'GET', '/accounts')).status).toBe(401)
    expect(await send(personal.key, 'GET', '/accounts')).toMatchObject({
      status: 403,
      body: { error: 'Only operator keys work on /admin/v1: make one with "easel key create NAME --operator".' },
    })
    expect((await send(key, 'GET', '/accounts')).status).toBe(200)
    const refused = 'Operator keys work on /admin/v1 only; use a personal or developer API key here.'
    expect(await call(url, 'GET', '/api/v1/account', { key })).toMatchObject({ status: 403, body: { error: refused } })
    const image = { prompt: 'a lighthouse', model: 'sdxl' }
    expect(await call(url, 'POST', '/v1/images/generate', { key, body: image })).toMatchObject({
      status: 403,
      body: { success: false, error: { code: 'forbidden', message: refused } },
    })
    expect((await call(url, 'POST', '/mcp', { key, body: {} })).status).toBe(403)
  })

  it('lets a key do nothing once its account is no operator any more, is deleted, or the key is revoked', async () => {
    const { db } = context.service
    const { key, user } = await givenOperatorKey()
    await db.pool.query(`UPDATE users SET role = 'subscriber' WHERE id = $1`, [user.id])
    expect(await send(key, 'GET', '/accounts')).toMatchObject({
      status: 403,
      body: { error: 'The account of this key is no operator any more: use the key of an operator.' },
    })
    const other = await givenOperatorKey()
    await administration(db).keys.revoke(other.id)
    expect((await send(other.key, 'GET', '/accounts')).status).toBe(401)
    const third = await givenOperatorKey()
    await administration(db).accounts.delete(third.user.id)
    expect((await send(third.key, 'GET', '/accounts')).status).toBe(401)
  })

  it('has its own rate limit, of each key, of which it tells', async () => {
    const { key } = await givenOperatorKey()
    const { headers } = await send(key, 'GET', '/accounts')
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['300', '299'])
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('records each act with the key and the reason, of the header or of the field', async () => {
    const { db } = context.service
    const { key, user: operator } = await givenOperatorKey()
    const { username } = await givenUser(db)
    const path = `/accounts/${username}/credits/grants`
    expect((await send(key, 'POST', path, { amount: 5, reason: 'an outage' })).status).toBe(201)
    const header = Buffer.from('Überweisung').toString('latin1')
    expect((await send(key, 'POST', path, { amount: 1 }, { 'x-reason': header })).status).toBe(201)
    const actor = `${operator.username} (key billing)`
    expect(await actsOn(username)).toEqual([
      { actor, action: 'granted 5 credits', reason: 'an outage' },
      { actor, action: 'granted 1 credit', reason: 'Überweisung' },
    ])
    expect(await send(key, 'POST', path, { amount: 1 }, { 'x-reason': 'x'.repeat(501) })).toMatchObject({
      status: 400,
      body: { error: 'reason must be one line of 1 to 500 characters.' },
    })
    const adjust = `/accounts/${username}/credits/adjustments`
    expect(await send(key, 'POST', adjust, { amount: -1 })).toMatchObject({
      status: 400,
      body: { error: 'reason is missing: say why in the field reason or the header X-Reason.' },
    })
  })

  it('gives accounts in pages', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const users = [await givenUser(db), await givenUser(db), await givenUser(db)].map((it) => it.username)
    const found: string[] = []
    let cursor = ''
    do {
      const { body } = await send(key, 'GET', `/accounts?text=user-&limit=2${cursor}`)
      expect(body.accounts.length).toBeLessThanOrEqual(2)
      found.push(...body.accounts.map((it: { username: string }) => it.username))
      cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : ''
    } while (cursor)
    expect(found).toEqual(expect.arrayContaining(users))
    expect(new Set(found).size).toBe(found.length)
    const { next_cursor } = (await send(key, 'GET', '/accounts?text=user-&limit=1')).body
    expect((await send(key, 'GET', `/accounts?text=user-&cursor=${next_cursor}`)).status).toBe(200)
    // With something behind it, too.
    const junk = ['%3D', '%20', '.', '%0A'].map((it) => next_cursor + it)
    for (const cursor of ['x', Buffer.from('a:b').toString('base64url'), 'é', ...junk])
      expect((await send(key, 'GET', `/accounts?cursor=${cursor}`)).status).toBe(400)
  })
})

it('/admin/v1 refuses what Postgres cannot store or would not understand, wherever it stands', async () => {
  const { key, user } = await givenOperatorKey()
  for (const [method, path] of [
    ...['accounts?text=%00', 'moderation/refusals?category=%00', 'accounts/%00', 'generations?username=%00'].map(
      (it) => ['GET', it] as const,
    ),
    ...['generations/%00', 'plans/%00', 'accounts/%00/usage', 'accounts/x/usage?since=9'].map(
      (it) => ['GET', it] as const,
    ),
    ...[
      'plans/%00',
      'packs/%00',
      'payments/unmatched/%00',
      'keys/%00',
      'images/%00',
      'accounts/%00',
      'accounts/%00/subscription',
    ].map((it) => ['DELETE', it] as const),
    ...['pauses?scope=model&target=%00', 'pauses?scope=all&target=x', 'pauses?scope=some'].map(
      (it) => ['DELETE', it] as const,
    ),
    ...['generations/%00/cancel', 'generations/%00/run-again', 'moderation/refusals/%00/wrong'].map(
      (it) => ['POST', it] as const,
    ),
    ...['moderation/refusals/99999999999999999999/wrong', 'accounts/%00/webhook-secret'].map(
      (it) => ['POST', it] as const,
    ),
  ]) {
    const { status, body } = await send(key, method, `/${path}`)
    expect([method, path, status]).toEqual([method, path, expect.toBeOneOf([400, 404])])
    expect(body).toEqual({ error: expect.stringMatching(/\.$/) })
  }
  for (const [path, body] of [
    ['accounts', { username: 'nul', plan: 'a\0' }],
    ['accounts', { username: 'nul', email: 'a\0@example.com' }],
    ['accounts/import', { accounts: [{ name: 'nul', plan: '\0' }, null] }],
    ['accounts/import', { accounts: [null, 3, 'x', []] }],
    ['plans/import', { plans: [null] }],
    ['packs/import', { packs: [null] }],
    ['payments/retry', { id: '\0' }],
    ['payments/customers/cus_1/match', { username: '\0' }],
    ['models/import', { models: [{ id: 1, name: '\0' }] }],
    ['pauses', { scope: 'model', target: '\0', reason: 'x' }],
  ] as const)
    expect([path, body, (await send(key, 'POST', `/${path}`, body)).status]).toEqual([path, body, 400])
  const { username } = user
  expect((await send(key, 'POST', '/payments/customers/%00/match', { username })).status).toBe(404)
})

it('an address whose domain has other letters is kept in ASCII, however it is given', async () => {
  const { key } = await givenOperatorKey()
  const [one, other] = [0, 1].map((n) => `idn${n}-${randomUUID().slice(0, 8)}`)
  const emailOf = async (name?: string) =>
    ((await send(key, 'GET', `/accounts/${name}`)).body as { email: string }).email
  expect((await send(key, 'POST', '/accounts', { username: one, email: `${one}@bücher.example` })).status).toBe(201)
  expect(await emailOf(one)).toBe(`${one}@xn--bcher-kva.example`)
  const accounts = [{ name: other, email: `${other}@BÜCHER.example` }]
  expect((await send(key, 'POST', '/accounts/import', { accounts })).status).toBe(200)
  expect(await emailOf(other)).toBe(`${other}@xn--bcher-kva.example`)
  const refused = await send(key, 'PATCH', `/accounts/${one}`, { email: 'jörg@bücher.example' })
  expect(refused).toMatchObject({ status: 400, body: { error: 'email must be an address like alice@example.com.' } })
})

describe('the scope of an operator key', () => {
  it('says what it may change; all of them may read', async () => {
    const { db } = context.service
    const { username } = await givenUser(db)
    const grant = (key: string) => send(key, 'POST', `/accounts/${username}/credits/grants`, { amount: 1 })
    for (const scope of ['read', 'models'] as const) {
      const { key } = await givenOperatorKey(scope)
      expect((await send(key, 'GET', `/accounts/${username}`)).status).toBe(200)
      expect(await grant(key)).toMatchObject({
        status: 403,
        body: {
          error: `This key has the scope "${scope}", and this needs the scope "accounts" or "all": use a key that may do it.`,
        },
      })
    }
    expect((await grant((await givenOperatorKey('accounts')).key)).status).toBe(201)
    expect(await creditsOf(db, { id: (await administration(db).accounts.find(username))?.id ?? '' })).toBe(101)
  })

  it('"accounts" gives nobody what operators may do: not the role, not a key, not the address of an operator', async () => {
    const { key, id, user } = await givenOperatorKey('accounts')
    const { username } = await givenUser(context.service.db)
    for (const [method, path, body] of [
      ['POST', '/accounts', { username: `op-${randomUUID().slice(0, 8)}`, role: 'operator' }],
      ['PATCH', `/accounts/${username}`, { role: 'operator' }],
      ['PATCH', `/accounts/${user.username}`, { email: 'mine@example.com' }],
      ['POST', `/accounts/${user.username}/keys`, { kind: 'operator', scope: 'all' }],
      ['PATCH', `/keys/${id}`, { until: null }],
      ['DELETE', `/keys/${id}`, undefined],
      ['POST', `/accounts/${user.username}/keys`, { kind: 'personal' }],
      ['POST', `/accounts/${user.username}/webhook-secret`, undefined],
      ['POST', `/accounts/${user.username}/sign-in-link`, undefined],
      ['PUT', `/accounts/${user.username}/subscription`, { plan: 'Pro' }],
      ['DELETE', `/accounts/${user.username}/subscription`, undefined],
      ['POST', `/accounts/${user.username}/credits/grants`, { amount: 1 }],
      ['POST', `/accounts/${user.username}/credits/adjustments`, { amount: -1, reason: 'Wrong' }],
      ['DELETE', `/accounts/${user.username}`, undefined],
    ] as const)
      expect([path, (await send(key, method, path, body)).status]).toEqual([path, 403])
    expect((await send(key, 'PATCH', `/accounts/${username}`, { email: `${username}@example.com` })).status).toBe(200)
    const all = await givenOperatorKey()
    expect((await send(all.key, 'PATCH', `/accounts/${username}`, { role: 'operator' })).status).toBe(200)
  })
})

describe('an Idempotency-Key of /admin/v1', () => {
  it('does it once, however often and at once it is sent, and gives the first answer again', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const user = await givenUser(db, { credits: 0 })
    const headers = { 'idempotency-key': randomUUID() }
    const grant = (amount: number) =>
      send(key, 'POST', `/accounts/${user.username}/credits/grants`, { amount }, headers)
    const answers = await Promise.all([1, 2, 3, 4].map(() => grant(7)))
    for (const { status, body } of answers)
      expect([status, body]).toEqual([201, { username: user.username, credits: 7, granted: true }])
    expect(answers.filter((it) => it.headers.get('idempotent-replayed') === 'true')).toHaveLength(3)
    expect(await creditsOf(db, user)).toBe(7)
    expect((await grant(8)).status).toBe(422)
    const other = await givenUser(db)
    const elsewhere = await send(key, 'POST', `/accounts/${other.username}/credits/grants`, { amount: 7 }, headers)
    expect(elsewhere.status).toBe(422)
    expect(await actsOn(user.username)).toHaveLength(1)
    // Of the key that it was sent with alone.
    const second = await givenOperatorKey()
    expect(
      (await send(second.key, 'POST', `/accounts/${user.username}/credits/grants`, { amount: 1 }, headers)).status,
    ).toBe(201)
  })

  it('keeps no answer of what was refused or could not be done: it is done when it is sent again', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const username = `late-${randomUUID().slice(0, 8)}`
    const headers = { 'idempotency-key': randomUUID() }
    const grant = () => send(key, 'POST', `/accounts/${username}/credits/grants`, { amount: 7 }, headers)
    expect((await grant()).status).toBe(404)
    expect((await send(key, 'POST', '/accounts', { username })).status).toBe(201)
    await unrecordable(db, async () => expect((await grant()).status).toBe(500))
    expect(await grant()).toMatchObject({ status: 201, body: { credits: 7 } })
    expect((await grant()).headers.get('idempotent-replayed')).toBe('true')
  })

  it('shows a new key once: a repeat names it, and it is stored nowhere', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const { username } = await givenUser(db)
    const headers = { 'idempotency-key': randomUUID() }
    const create = () => send(key, 'POST', `/accounts/${username}/keys`, { name: 'shop' }, headers)
    const first = await create()
    expect(first).toMatchObject({
      status: 201,
      body: { id: expect.any(String), key: expect.stringMatching(/^easel_/) },
    })
    const again = await create()
    expect(again).toMatchObject({
      status: 201,
      body: { id: first.body.id, key: null, note: expect.stringContaining('shown once') },
    })
    const { rows } = await db.pool.query('SELECT r::text AS row FROM admin_requests r')
    expect(rows.filter(({ row }) => row.includes(first.body.key.slice(6)))).toEqual([])
    expect(rows.length).toBeGreaterThan(0)
  })

  it('is forgotten after a day', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const { username } = await givenUser(db, { credits: 0 })
    const headers = { 'idempotency-key': randomUUID() }
    const grant = () => send(key, 'POST', `/accounts/${username}/credits/grants`, { amount: 7 }, headers)
    await grant()
    await db.pool.query(`UPDATE admin_requests SET created_at = now() - interval '25 hours' WHERE key = $1`, [
      headers['idempotency-key'],
    ])
    expect((await grant()).body).toMatchObject({ credits: 14 })
    await db.pool.query(`UPDATE admin_requests SET created_at = now() - interval '25 hours'`)
    await reconcileStore(db, { refundFailed: true }).clean()
    expect((await db.pool.query('SELECT FROM admin_requests')).rowCount).toBe(0)
  })
})

describe('imports', () => {
  it('make 50 accounts in one request, and once however often it is sent', async () => {
    const { key } = await givenOperatorKey('accounts')
    const prefix = `school-${randomUUID().slice(0, 8)}`
    const accounts = Array.from({ length: 50 }, (_, n) => ({ name: `${prefix}-${n}`, plan: 'Basic', credits: 20 }))
    const send50 = () => send(key, 'POST', '/accounts/import', { accounts, reason: 'class of 2027' })
    expect(await send50()).toMatchObject({ status: 200, body: { created: 50, changed: 0, unchanged: 0 } })
    expect((await send50()).body).toMatchObject({ created: 0, unchanged: 50 })
    expect((await send(key, 'GET', `/accounts/${prefix}-49`)).body).toMatchObject({ credits: 20 })
  })

  it('do not let a key for accounts take over an operator, and name the entry that is wrong', async () => {
    const { key, user } = await givenOperatorKey('accounts')
    const accounts = [{ name: user.username, email: 'mine@example.com' }]
    expect((await send(key, 'POST', '/accounts/import', { accounts })).status).toBe(403)
    for (const [wrong, sentence] of [
      [[{ name: 'ok' }, { name: 'two words' }], /^Entry 2: username must be 1 to 64 letters/],
      [
        [{ name: 'ok', colour: 'red' }],
        /^Entry 1: unknown field "colour"; the fields are name, email, plan, until, credits\.$/,
      ],
      [[{ name: 'Ok' }, { name: 'oK' }], /^Entries 1 and 2 have the same name, oK\.$/],
      [[{ name: 'ok', until: '2099-01-01' }], /^Entry 1: until is the end of a subscription/],
    ] as const)
      expect(await send(key, 'POST', '/accounts/import', { accounts: wrong })).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(sentence) },
      })
  })
})

it('packs are imported only if the payment provider has each price, paid once', async () => {
  const stripe = await startStripeStandIn()
  onTestFinished(() => stripe.close())
  const [once, monthly] = [stripe.givenPrice({ every: undefined }).id, stripe.givenPrice({ every: 'month' }).id]
  const env = { STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: 'whsec_1', STRIPE_API_URL: stripe.url }
  const server = await context.service.server({}, env)
  onTestFinished(() => server.stop())
  const { key } = await givenOperatorKey('accounts')
  const small = { name: 'Small', credits: 100, price: once }
  const imported = (...packs: object[]) => call(server.url, 'POST', '/admin/v1/packs/import', { key, body: { packs } })
  expect(await imported(small, { ...small, name: 'Large', price: monthly })).toMatchObject({
    status: 400,
    body: { error: `"Large" cannot be sold: ${monthly} is paid each month; name a price that is paid once.` },
  })
  expect((await send(key, 'GET', '/packs')).body).toEqual({ packs: [] })
  expect(await imported(small)).toMatchObject({ status: 200, body: { imported: 1 } })
  const list = { packs: [{ ...small, retired_at: null }] }
  expect((await send(key, 'GET', '/packs')).body).toEqual(list)
  expect((await imported(...list.packs)).body).toEqual({ imported: 1 })
})

it('payments are listed newest first, up to a limit', async () => {
  const { key } = await givenOperatorKey('read')
  await context.service.db.pool.query(
    `INSERT INTO payments (id, amount, currency, returned, paid_at, credits, taken_back)
     VALUES ('pi_old', 1, 'eur', 0, '2026-01-01', 0, 0), ('pi_new', 2, 'eur', 0, '2026-01-02', 0, 0)`,
  )
  const idsOf = async (query: string) =>
    (await send(key, 'GET', `/payments${query}`)).body.payments.map((it: { id: string }) => it.id)
  expect(await idsOf('')).toEqual(['pi_new', 'pi_old'])
  expect(await idsOf('?limit=1')).toEqual(['pi_new'])
  expect(await send(key, 'GET', '/payments?limit=501')).toMatchObject({
    status: 400,
    body: { error: 'limit must be an integer from 1 to 500.' },
  })
})

describe('a failed generation', () => {
  it('is run again once for an Idempotency-Key, and recorded', async () => {
    const { db } = context.service
    const { key } = await givenOperatorKey()
    const user = await givenUser(db, { credits: 10 })
    const { id } = await givenGeneration(db, user)
    expect((await send(key, 'POST', `/generations/${id}/run-again`)).status).toBe(400)
    expect(await send(key, 'POST', `/generations/${id}/cancel`, { reason: 'stuck' })).toMatchObject({
      status: 200,
      body: { id, status: 'failed', error: 'Canceled.' },
    })
    const headers = { 'idempotency-key': randomUUID() }
    const again = () => send(key, 'POST', `/generations/${id}/run-again`, undefined, headers)
    const first = await again()
    expect(first).toMatchObject({ status: 201, body: { id: expect.stringMatching(/^gen_/) } })
    const second = await again()
    expect([second.body.id, second.headers.get('idempotent-replayed')]).toEqual([first.body.id, 'true'])
    expect(await creditsOf(db, user)).toBe(9)
    expect((await actsOn(id)).map(({ action }) => action)).toEqual([
      'canceled generation',
      'asked to run it again',
      `ran again as ${first.body.id}`,
      'asked to run it again',
    ])
    expect((await send(key, 'POST', `/generations/${id}/run-again`, { reason: 'why' }, headers)).status).toBe(422)
  })
})

// The last one: from here on there are plans.
describe('a name that no plan has', () => {
  it('is refused by each request that names a plan, unless it is said to be meant', async () => {
    const { key } = await givenOperatorKey('accounts')
    const { db } = context.service
    const { name } = await givenPlan(db, { name: `Academy ${randomUUID()}` })
    const user = await givenUser(db, { subscription: null })
    const username = `unlisted-${randomUUID().slice(0, 8)}`
    const requests = (plan: string, more: object) =>
      [
        ['POST', '/accounts', { username, plan, ...more }],
        ['PUT', `/accounts/${user.username}/subscription`, { plan, ...more }],
        ['POST', '/accounts/import', { accounts: [{ name: `${username}-2`, plan }], ...more }],
      ] as const
    for (const [method, path, body] of requests(name.toLowerCase(), {})) {
      const answer = await send(key, method, path, body)
      expect(answer.status).toBe(400)
      expect(answer.body.error).toContain(
        `here is no plan "${name.toLowerCase()}": write "${name}", or give unlisted to`,
      )
    }
    for (const [method, path, body] of requests(`${name}\u202e`, { unlisted: true }))
      expect(await send(key, method, path, body)).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('plan must have no characters that nobody sees') },
      })
    for (const [method, path, body] of requests('Guests', { unlisted: true }))
      expect((await send(key, method, path, body)).status).toBeLessThan(300)
  })
})
