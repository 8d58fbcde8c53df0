import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isPassword } from '../../src/core/accounts/password.js'
import { hashToken, newToken } from '../../src/core/accounts/session.js'
import { credentialStore } from '../../src/db/accounts/sessions.js'
import { networksOf } from '../../src/http/shared/networks.js'
import { givenPassword, givenSession, PASSWORD } from '../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { formsOf } from '../support/website-client.js'

const context = useService()
const { send } = formsOf(() => context.service.url)
let operator: string

beforeAll(async () => {
  const { db } = context.service
  const { id } = await givenUser(db)
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [id])
  operator = await givenSession(db, { id })
})

async function givenSignIn(): Promise<GivenUser> {
  const user = await givenUser(context.service.db)
  await givenPassword(context.service.db, user)
  return user
}
async function givenLink({ id }: GivenUser, email?: string): Promise<string> {
  const token = newToken()
  await credentialStore(context.service.db).addLink(id, hashToken(token), email)
  return token
}
const act = (path: string, cookie: string, body: Record<string, string> = {}) => send('POST', path, { body, cookie })

/** What is stored of a password, at a cost that it names itself. */
const storedAt = (N: number) => ['scrypt', N, 8, 1, '', Buffer.alloc(32).toString('base64')].join('$')
const CHEAP = storedAt(2)

/** Keeps the threads busy on which Node reads files and hashes passwords, until the function that it returns is called. */
async function holdThreads(): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-threads-'))
  const pipes = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, (_, n) => join(directory, `${n}`))
  execFileSync('mkfifo', pipes)
  // Each open takes a thread until somebody opens the other end.
  const opening = Promise.all(pipes.map((pipe) => open(pipe, 'r')))
  return async () => {
    for (const pipe of pipes) closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
    for (const handle of await opening) await handle.close()
    await rm(directory, { recursive: true })
  }
}

describe('the check of a password', () => {
  it('waits for the check before it, so that any number of checks takes one thread', async () => {
    const ended: string[] = []
    const check = (name: string, stored: string) => isPassword('wrong', stored).then(() => ended.push(name))
    // Beside the dear one, the cheap ones would end first.
    await Promise.all([check('dear', storedAt(2 ** 14)), check('cheap', CHEAP), check('cheap', CHEAP)])
    expect(ended).toEqual(['dear', 'cheap', 'cheap'])
  })

  it('begins no session if the password is changed meanwhile', async () => {
    const { db } = context.service
    const { username, id } = await givenSignIn()
    const { rows } = await db.pool.query('SELECT clock_timestamp() AS begun')
    const release = await holdThreads()
    const answer = send('POST', '/sign-in', { body: { username, password: PASSWORD } })
    // The backslash keeps it from finding itself.
    const look = String.raw`SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                   AND state = 'idle' AND query LIKE '%"password\_hash"%' AND query_start > $1`
    try {
      await until(async () => (await db.pool.query(look, [rows[0].begun])).rowCount, 'the old password being read')
      await credentialStore(db).setPassword(id, CHEAP, undefined)
    } finally {
      await release()
    }
    const { status, cookie } = await answer
    expect([status, cookie]).toEqual([401, undefined])
  })
})

describe('tries to sign in', () => {
  it('count nothing towards another address that is tried as a username', async () => {
    const user = await givenSignIn()
    const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const from = (address: string, username: string, path = '/sign-in') =>
      formsOf(() => url).send('POST', path, {
        body: { username, password: PASSWORD },
        headers: { 'x-forwarded-for': address },
      })
    const network = '203.0.113.9'
    // While the line is full of its network's, a try is counted and then refused without one: each would cost a sixth of a second.
    const release = await holdThreads()
    const waiting = Array.from({ length: 241 }, () => isPassword('wrong', CHEAP, { networks: networksOf('192.0.2.1') }))
    try {
      // Each as often as the other one's own counter allows.
      const names = { [`${user.id} ${network}`]: 12, [`mail ${network}`]: 10 }
      for (const [name, length] of Object.entries(names)) {
        const tries = await Promise.all(Array.from({ length }, () => from('192.0.2.1', name)))
        expect(tries.map(({ status }) => status)).toEqual(Array(length).fill(503))
      }
    } finally {
      await release()
      await Promise.all(waiting)
    }
    expect((await from(network, user.username)).status).toBe(303)
    expect((await from(network, user.username, '/sign-in/mail')).status).toBe(303)
  })
})

describe('a form that is sent', () => {
  it('gets no server error for text that no header or database can hold', async () => {
    const { username } = await givenSignIn()
    for (const next of ['/gallery?q=日本', '/\0', '/\u007f', '/é'])
      expect((await send('POST', '/sign-in', { body: { username, password: PASSWORD, next } })).location).toBe(
        '/playground',
      )
    expect((await send('POST', '/sign-in', { body: { username: 'a\0b', password: 'x' } })).status).toBe(401)
    for (const name of ['cancel', 'run-again'])
      expect((await act(`/operator/generations/%00/${name}`, operator, { reason: 'why' })).status).toBeLessThan(500)
  })

  it('cannot set an end of a subscription that the pages could not show', async () => {
    const user = await givenUser(context.service.db)
    const path = `/operator/users/${user.username}`
    const fields = { plan: 'Pro', status: 'active', end_date: '0000-01-01', reason: 'why' }
    expect((await act(`${path}/subscription`, operator, fields)).status).toBe(400)
    expect((await send('GET', path, { cookie: operator })).status).toBe(200)
  })

  it('counts towards the limit of its account, of which other accounts and reading are free', async () => {
    const { db } = context.service
    const [cookie, other] = [await givenSession(db, await givenUser(db)), await givenSession(db, await givenUser(db))]
    const check = (who: string) => act('/playground/check', who, { prompt: 'a lighthouse' })
    const statuses = await Promise.all(Array.from({ length: 130 }, async () => (await check(cookie)).status))
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect((await check(other)).status).toBe(200)
    expect((await send('GET', '/gallery', { cookie })).status).toBe(200)
  })
})

describe('a link that was mailed and is not used yet', () => {
  it('does not replace an address that the account confirmed meanwhile', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const cookie = await givenSession(db, user)
    const [theirs, strangers] = [await givenLink(user, 'own@mail.test'), await givenLink(user, 'thief@mail.test')]
    expect((await act('/confirm-email', cookie, { token: theirs })).status).toBe(303)
    expect((await act('/confirm-email', cookie, { token: strangers })).status).toBe(409)
    expect((await send('GET', '/account', { cookie })).html).toContain('own@mail.test')
  })

  it('signs nobody in once the address has changed or every session was ended', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const path = `/operator/users/${user.username}`
    const signsIn = async (token: string) => (await send('POST', '/sign-in/link', { body: { token } })).cookie
    const acts = [
      () => act(`${path}/email`, operator, { email: 'new@mail.test', reason: 'The old one is not theirs.' }),
      () => act(`${path}/sessions/end`, operator, { reason: 'Stolen.' }),
      async () => act('/account/sessions/end', await givenSession(db, user)),
    ]
    for (const changes of acts) {
      const token = await givenLink(user)
      expect((await changes()).status).toBe(303)
      expect(await signsIn(token)).toBeUndefined()
    }
  })

  it('signs in once, even if it is used eight times at once', async () => {
    const token = await givenLink(await givenUser(context.service.db))
    const presses = Array.from({ length: 8 }, () => send('POST', '/sign-in/link', { body: { token } }))
    const cookies = (await Promise.all(presses)).filter(({ cookie }) => cookie !== undefined)
    expect(cookies).toHaveLength(1)
  })
})
