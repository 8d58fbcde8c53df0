import { beforeAll, describe, expect, it } from 'vitest'
import { auditResults } from '../../../src/db/audit/audit-results.js'
import { call } from '../../support/client.js'
import { givenPassword, givenSession, PASSWORD } from '../../support/given-sign-in.js'
import { givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { visit } from '../../support/website-client.js'
import { givenOperatorKey } from './given-operator-key.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperatorKey>>
beforeAll(async () => {
  operator = await givenOperatorKey(context.service.db)
})

const send = (method: string, path: string, body?: object, key = operator.key) =>
  call(context.service.url, method, `/admin/v1${path}`, { key, body })

describe('PUT /admin/v1/accounts/{name}/password', () => {
  const NEXT = 'a new battery staple'
  const signIn = async (username: string, password: string) =>
    (await visit(context.service.url, '/sign-in', { body: { username, password } })).status

  it('lets the account sign in with the new one alone, ends its sessions, and is recorded without it', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    await givenPassword(db, user)
    const cookie = await givenSession(db, user)
    const path = `/accounts/${user.username}/password`
    expect(await send('PUT', path, { password: NEXT, reason: 'forgotten' })).toMatchObject({
      status: 200,
      body: { username: user.username },
    })
    expect(await signIn(user.username, PASSWORD)).toBe(401)
    expect(await signIn(user.username, NEXT)).toBe(303)
    expect((await visit(url, '/account', { cookie })).location).toMatch(/^\/sign-in/)
    const [act] = (await send('GET', '/acts?limit=1')).body.acts
    expect(act).toMatchObject({ action: 'set the password', target: user.username, reason: 'forgotten' })
    expect(JSON.stringify(act)).not.toContain(NEXT)
  })

  it.each([
    [{ password: 'short' }, 'A password has 10 to 200 characters. Choose another one.'],
    [{}, 'password must be a text.'],
  ])('refuses %j, and keeps the old one', async (body, error) => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenPassword(db, user)
    expect(await send('PUT', `/accounts/${user.username}/password`, body)).toMatchObject({
      status: 400,
      body: { error },
    })
    expect(await signIn(user.username, PASSWORD)).toBe(303)
  })

  it('is refused for an account that there is not, and to a key that only reads', async () => {
    const { db } = context.service
    const { username } = await givenUser(db)
    expect((await send('PUT', '/accounts/nobody-at-all/password', { password: NEXT })).status).toBe(404)
    const { key } = await givenOperatorKey(db, 'read')
    expect((await send('PUT', `/accounts/${username}/password`, { password: NEXT }, key)).status).toBe(403)
  })
})

describe('GET /admin/v1/acts', () => {
  it('lists what was done on every door, newest first, in pages', async () => {
    const { username } = await givenUser(context.service.db)
    for (const email of ['one@mail.test', 'two@mail.test', null])
      expect((await send('PATCH', `/accounts/${username}`, { email, reason: `to ${email}` })).status).toBe(200)
    const first = await send('GET', '/acts?limit=2')
    const second = await send('GET', `/acts?limit=1&cursor=${first.body.next_cursor}`)
    const acts = [...first.body.acts, ...second.body.acts]
    expect(acts.map(({ reason }) => reason)).toEqual(['to null', 'to two@mail.test', 'to one@mail.test'])
    expect(acts[0]).toEqual({
      ...{ id: expect.any(Number), at: expect.stringMatching(/Z$/), target: username, reason: 'to null' },
      ...{ actor: `${operator.user.username} (key billing)`, action: 'removed the email address' },
    })
    expect((await send('GET', '/acts?cursor=none')).status).toBe(400)
    expect((await send('GET', '/acts', undefined, (await givenUser(context.service.db)).key)).status).toBe(403)
  })
})

describe('GET /admin/v1/audit', () => {
  it('has what the service found last, without what belongs to it alone, and null before', async () => {
    const { db } = context.service
    await db.pool.query('DELETE FROM last_audit')
    expect(await send('GET', '/audit')).toMatchObject({ status: 200, body: { audit: null } })
    const check = { name: 'credits of accounts', violations: 2, examples: ['ada'] }
    await auditResults(db.pool).keep([check as never], 1234)
    expect((await send('GET', '/audit')).body).toEqual({
      audit: {
        ...{ finished_at: expect.stringMatching(/Z$/), took_ms: 1234 },
        checks: [{ name: check.name, violations: 2 }],
      },
    })
  })
})

describe('/admin/v1/pauses', () => {
  const paused = async () => (await send('GET', '/pauses')).body.pauses
  const MODEL_PAUSE = { scope: 'model', target: MODEL.filename }

  it('is a list of what is paused, with the reason, until it is resumed', async () => {
    expect(await paused()).toEqual([])
    expect(await send('POST', '/pauses', { ...MODEL_PAUSE, reason: 'new disks' })).toMatchObject({
      status: 201,
      body: { ...MODEL_PAUSE, paused: true },
    })
    expect(await paused()).toEqual([{ ...MODEL_PAUSE, reason: 'new disks', paused_at: expect.stringMatching(/Z$/) }])
    const again = await send('POST', '/pauses', { ...MODEL_PAUSE, reason: 'more disks' })
    expect([again.status, again.body.error]).toEqual([400, expect.stringContaining('is paused already')])
    const query = new URLSearchParams(MODEL_PAUSE)
    expect((await send('DELETE', `/pauses?${query}`)).body).toEqual({ ...MODEL_PAUSE, paused: false })
    expect(await paused()).toEqual([])
    expect((await send('DELETE', `/pauses?${query}`)).status).toBe(400)
  })

  it('pauses nothing without a reason, and nothing that is not known', async () => {
    expect(await send('POST', '/pauses', MODEL_PAUSE)).toMatchObject({
      status: 400,
      body: { error: 'reason is missing: say why in the field reason or the header X-Reason.' },
    })
    expect((await send('POST', '/pauses', { scope: 'model', target: 'no.such', reason: 'x' })).status).toBe(404)
    expect(await paused()).toEqual([])
  })
})
