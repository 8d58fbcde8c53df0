import { stat } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { isPassword } from '../../src/account/password.js'
import { hashToken, newToken } from '../../src/account/session.js'
import { credentialStore } from '../../src/db/session-store.js'
import { givenSession } from '../support/browser.js'
import { givenPassword, PASSWORD } from '../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
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

describe('guessing passwords', () => {
  it('leaves threads for images, however many are tried at once', async () => {
    let ended = 0
    const tries = Array.from({ length: 12 }, () => isPassword('wrong', undefined).then(() => ended++))
    await stat('.')
    expect(ended).toBeLessThan(4)
    await Promise.all(tries)
    expect(ended).toBe(12)
  })

  it('with one that is changed meanwhile begins no session', async () => {
    const { username, id } = await givenSignIn()
    const others = Array.from({ length: 8 }, () => isPassword('wrong', undefined))
    const answer = send('POST', '/sign-in', { body: { username, password: PASSWORD } })
    await Promise.race(others.slice(3))
    await credentialStore(context.service.db).setPassword(id, 'scrypt$1$1$1$$', undefined)
    const { status, cookie } = await answer
    expect([status, cookie]).toEqual([401, undefined])
    await Promise.all(others)
  })

  it('counts nothing towards another address that is tried as a username', async () => {
    const user = await givenSignIn()
    const { url } = await context.service.server({}, { TRUST_PROXY: '127.0.0.1' })
    const from = (address: string, username: string, path = '/sign-in') =>
      formsOf(() => url).send('POST', path, {
        body: { username, password: PASSWORD },
        headers: { 'x-forwarded-for': address },
      })
    const network = '203.0.113.9'
    // Each as often as the other one's own counter allows.
    const names = { [`${user.id} ${network}`]: 12, [`mail ${network}`]: 10 }
    for (const [name, length] of Object.entries(names))
      await Promise.all(Array.from({ length }, () => from('192.0.2.1', name)))
    expect((await from(network, user.username)).status).toBe(303)
    expect((await from(network, user.username, '/sign-in/mail')).status).toBe(303)
  })
})

describe('what a form sends', () => {
  it('is refused in words where no header or database takes it', async () => {
    const { username } = await givenSignIn()
    for (const next of ['/gallery?q=日本', '/\0', '/\u007f', '/é'])
      expect((await send('POST', '/sign-in', { body: { username, password: PASSWORD, next } })).location).toBe(
        '/playground',
      )
    expect((await send('POST', '/sign-in', { body: { username: 'a\0b', password: 'x' } })).status).toBe(401)
    for (const name of ['cancel', 'run-again'])
      expect((await act(`/operator/generations/%00/${name}`, operator, { reason: 'why' })).status).toBeLessThan(500)
  })

  it('sets no end of a subscription that nobody could read', async () => {
    const user = await givenUser(context.service.db)
    const path = `/operator/users/${user.username}`
    const fields = { plan: 'Pro', status: 'active', end_date: '0000-01-01', reason: 'why' }
    expect((await act(`${path}/subscription`, operator, fields)).status).toBe(400)
    expect((await send('GET', path, { cookie: operator })).status).toBe(200)
  })

  it('has a limit for each account', async () => {
    const { db } = context.service
    const [cookie, other] = [await givenSession(db, await givenUser(db)), await givenSession(db, await givenUser(db))]
    const check = (who: string) => act('/playground/check', who, { prompt: 'a lighthouse' })
    const statuses = await Promise.all(Array.from({ length: 130 }, async () => (await check(cookie)).status))
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect((await check(other)).status).toBe(200)
    expect((await send('GET', '/gallery', { cookie })).status).toBe(200)
  })
})

describe('a link that waits', () => {
  it('gives an account no second address', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    const cookie = await givenSession(db, user)
    const [theirs, strangers] = [await givenLink(user, 'own@mail.test'), await givenLink(user, 'thief@mail.test')]
    expect((await act('/confirm-email', cookie, { token: theirs })).status).toBe(303)
    expect((await act('/confirm-email', cookie, { token: strangers })).status).toBe(409)
    expect((await send('GET', '/confirm-email', { cookie })).html).toContain('own@mail.test')
  })

  it('signs nobody in once the address has changed, or every session was ended', async () => {
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

  it('signs in once, however often it is pressed at once', async () => {
    const token = await givenLink(await givenUser(context.service.db))
    const presses = Array.from({ length: 8 }, () => send('POST', '/sign-in/link', { body: { token } }))
    const cookies = (await Promise.all(presses)).filter(({ cookie }) => cookie !== undefined)
    expect(cookies).toHaveLength(1)
  })
})
