import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { startServer } from '../../../src/process/start-server.js'
import { call } from '../../support/client.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { unrecordable } from '../../support/unrecordable.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()
const REASON = 'Asked for by mail'
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const see = (path: string) => visit(context.service.url, path, { cookie: operator.cookie })
const send = (path: string, body: Readonly<Record<string, string>>) =>
  visit(context.service.url, path, { cookie: operator.cookie, body: { reason: REASON, ...body } })
const pageOf = ({ username }: { readonly username: string }) => `/operator/users/${username}`
const secretIn = (html: string) => /<input id="secret"[^>]* value="([^"]*)"/.exec(html)?.[1] ?? ''
const problemIn = (html: string) => textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')
const aName = () => `new-${crypto.randomUUID().slice(0, 8)}`
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

async function actsOn(username: string): Promise<string[]> {
  const { rows } = await context.service.db.pool.query(
    'SELECT actor, action, reason FROM operator_actions WHERE target = $1 ORDER BY id',
    [username],
  )
  for (const { actor } of rows) expect(actor).toBe(operator.username)
  return rows.map(({ action, reason }) => `${action}: ${reason}`)
}

describe('creating an account', () => {
  it('takes a name alone, or all that the command line takes, and is recorded', async () => {
    const { db } = context.service
    const [plain, full] = [aName(), aName()]
    const { status, location } = await send('/operator/users', { username: plain })
    expect({ status, location }).toEqual({ status: 303, location: `/operator/users/${plain}?done=created` })
    expect(textOf((await see(location as string)).html)).toContain('The account is created.')
    const ends = inDays(40)
    const body = { username: full, email: `${full}@mail.test`, credits: '25', plan: 'Studio', end_date: ends }
    expect((await send('/operator/users', { ...body, operator: 'yes' })).status).toBe(303)
    const { rows } = await db.pool.query(
      `SELECT u.id, u.email, u.role, u.credits, s.plan, s.status, s.end_date FROM users u
         LEFT JOIN subscriptions s ON s.user_id = u.id WHERE username = ANY ($1) ORDER BY u.created_at`,
      [[plain, full]],
    )
    expect(rows).toMatchObject([
      { email: null, role: 'subscriber', credits: 0, plan: null },
      { email: body.email, role: 'operator', credits: 25, plan: 'Studio', status: 'active' },
    ])
    expect(rows[1].end_date.toISOString()).toBe(`${ends}T23:59:59.999Z`)
    const moved = await db.pool.query('SELECT kind, delta FROM credit_ledger WHERE user_id = $1', [rows[1].id])
    expect(moved.rows).toEqual([{ kind: 'grant', delta: 25 }])
    for (const name of [plain, full]) expect(await actsOn(name)).toEqual([`created user: ${REASON}`])
  })

  it('says what is wrong, and keeps what was typed', async () => {
    const taken = await givenUser(context.service.db)
    const username = aName()
    const refused: [Record<string, string>, number, string][] = [
      [{ username: '-x' }, 400, 'The username must be 1 to 64 letters'],
      [{ username: taken.username }, 400, 'already exists'],
      [{ email: 'x' }, 400, 'The email address must look like'],
      [{ credits: '1.5' }, 400, 'The credits must be a whole number'],
      [{ credits: '2000000' }, 400, 'tick the box if you mean it'],
      [{ end_date: inDays(3) }, 400, 'name a plan, too'],
      [{ plan: 'Studio', end_date: inDays(-3) }, 400, 'and not over'],
      [{ plan: 'a\nb' }, 400, 'The plan must be one line'],
      [{ reason: ' ' }, 400, 'Say why in one line'],
    ]
    for (const [fields, status, sentence] of refused) {
      const answer = await send('/operator/users', { username, email: '', ...fields })
      expect({ status: answer.status, fields }).toEqual({ status, fields })
      expect(problemIn(answer.html)).toContain(sentence)
      for (const value of Object.values(fields)) {
        if (value.trim() && !value.includes('\n')) expect(answer.html).toContain(`value="${value}"`)
      }
    }
    const large = { username, credits: '2000000', meant: 'yes' }
    expect((await send('/operator/users', large)).status).toBe(303)
  })

  it('is for operators, and happens only if it can be recorded', async () => {
    const { db, url } = context.service
    const [username, subscriber] = [aName(), await givenSession(db, await givenUser(db))]
    expect((await visit(url, '/operator/users', { cookie: subscriber, body: { username, reason: 'me' } })).status).toBe(
      404,
    )
    await unrecordable(db, async () => {
      expect((await send('/operator/users', { username })).status).toBe(500)
    })
    expect((await db.pool.query('SELECT FROM users WHERE username = $1', [username])).rowCount).toBe(0)
  })
})

describe('a key that an operator creates for an account', () => {
  const create = (user: GivenUser, body: Readonly<Record<string, string>>) => send(`${pageOf(user)}/keys`, body)

  it('works, is shown once and never stored in what a browser keeps', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const until = inDays(20)
    const { status, html, headers, location } = await create(user, { name: 'their laptop', kind: 'personal', until })
    expect({ status, location }).toEqual({ status: 200, location: null })
    expect(headers.get('cache-control')).toBe('no-store')
    const key = secretIn(html)
    expect(await call(url, 'GET', '/api/v1/account', { key })).toMatchObject({ status: 200 })
    expect((await see(pageOf(user))).html).not.toContain(key)
    const { rows } = await db.pool.query(
      `SELECT id, kind, expires_at FROM api_keys WHERE user_id = $1 AND name = 'their laptop'`,
      [user.id],
    )
    expect(rows).toMatchObject([{ kind: 'personal' }])
    expect(rows[0].expires_at.toISOString()).toBe(`${until}T23:59:59.999Z`)
    expect(await actsOn(user.username)).toEqual([`created personal key ${rows[0].id}: ${REASON}`])
    expect(secretIn((await create(user, { name: 'for their site', kind: 'developer' })).html)).not.toBe('')
  })

  it('is refused with what is wrong, and keeps what was typed', async () => {
    const user = await givenUser(context.service.db)
    for (const [fields, sentence] of [
      [{ name: '' }, 'Give the key a name'],
      [{ name: 'typed name', until: inDays(-2) }, 'not over'],
      [{ name: 'typed name', until: 'x' }, 'must be a date'],
      [{ name: 'typed name', kind: 'operator' }, 'Choose the kind'],
      [{ name: 'typed name', reason: '' }, 'Say why'],
    ] as const) {
      const answer = await create(user, { kind: 'personal', until: '', ...fields })
      expect(answer.status).toBe(400)
      expect(problemIn(answer.html)).toContain(sentence)
      if (fields.name) expect(answer.html).toContain('value="typed name"')
      expect(secretIn(answer.html)).toBe('')
    }
    expect(await actsOn(user.username)).toEqual([])
  })
})

describe('a sign-in link that an operator makes for an account', () => {
  const make = (user: GivenUser, lasts: string, unit: string, more = {}) =>
    send(`${pageOf(user)}/sign-in-link`, { lasts, unit, ...more })

  it('signs in once, and lasts as long as the operator says', async () => {
    const { db, url } = context.service
    for (const [lasts, unit, minutes, words] of [
      ['5', 'minutes', 5, '5 minutes'],
      ['12', 'hours', 720, '12 hours'],
      ['30', 'days', 43_200, '30 days'],
    ] as const) {
      const user = await givenUser(db)
      const { status, html, headers, location } = await make(user, lasts, unit)
      expect({ status, location }).toEqual({ status: 200, location: null })
      expect(headers.get('cache-control')).toBe('no-store')
      expect(textOf(html)).toContain(`ends in ${words}`)
      const link = new URL(secretIn(html))
      expect(link.origin).toBe('http://easel.test')
      const { rows } = await db.pool.query('SELECT expires_at FROM sign_in_links WHERE user_id = $1', [user.id])
      const left = (rows[0].expires_at.getTime() - Date.now()) / 60_000
      expect(left).toBeGreaterThan(minutes - 1)
      expect(left).toBeLessThan(minutes + 1)
      const token = link.searchParams.get('token') as string
      expect((await see(pageOf(user))).html).not.toContain(token)
      const opened = await visit(url, '/sign-in/link', { body: { token, next: '/account' } })
      expect(textOf((await visit(url, '/account', { cookie: opened.cookie as string })).html)).toContain(user.username)
      expect((await visit(url, '/sign-in/link', { body: { token, next: '/account' } })).status).toBe(401)
      expect(await actsOn(user.username)).toEqual([`made a sign-in link that is valid for ${words}: ${REASON}`])
    }
  })

  it('is refused if it would end too soon or too late, and keeps what was typed', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    for (const [lasts, unit] of [
      ['4', 'minutes'],
      ['31', 'days'],
      ['1.5', 'hours'],
      ['-5', 'hours'],
      ['99999999', 'days'],
      ['', 'hours'],
    ] as const) {
      const { status, html } = await make(user, lasts, unit)
      expect({ lasts, status }).toEqual({ lasts, status: 400 })
      expect(problemIn(html)).toContain('A link lasts from 5 minutes to 30 days')
      expect(html).toContain(`<option value="${unit}" selected>`)
      expect(html).toContain(`value="${REASON}"`)
    }
    expect((await make(user, '1', 'weeks')).status).toBe(400)
    expect((await db.pool.query('SELECT FROM sign_in_links WHERE user_id = $1', [user.id])).rowCount).toBe(0)
    expect(await actsOn(user.username)).toEqual([])
  })

  it('is not made for a deleted account, nor by a subscriber', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const cookie = await givenSession(db, await givenUser(db))
    const body = { lasts: '1', unit: 'days', name: 'x', kind: 'personal', reason: 'me' }
    for (const name of ['keys', 'sign-in-link'])
      expect((await visit(url, `${pageOf(user)}/${name}`, { cookie, body })).status).toBe(404)
    await db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [user.id])
    for (const name of ['keys', 'sign-in-link']) {
      const answer = await send(`${pageOf(user)}/${name}`, body)
      expect(answer.status).toBe(400)
      expect(secretIn(answer.html)).toBe('')
    }
    expect((await see(pageOf(user))).html).not.toContain('Make a sign-in link')
  })
})

it('neither a key nor a link is in any line of the log', async () => {
  const { config, db, namespace } = context.service
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const server = await startServer(config, log, { namespace, probeBytes: 1024 })
  try {
    const user = await givenUser(db)
    const made = async (name: string, fields: Readonly<Record<string, string>>) => {
      const body = { reason: REASON, ...fields }
      const { html } = await visit(server.url, `${pageOf(user)}/${name}`, { cookie: operator.cookie, body })
      return secretIn(html)
    }
    const key = await made('keys', { name: 'x', kind: 'personal' })
    const link = await made('sign-in-link', { lasts: '1', unit: 'days' })
    const token = new URL(link).searchParams.get('token') as string
    expect(lines.join('')).toContain('/operator/users/:username/sign-in-link')
    for (const secret of [key, token]) {
      expect(secret.length).toBeGreaterThan(30)
      expect(lines.join('')).not.toContain(secret)
    }
  } finally {
    await server.stop()
  }
})
