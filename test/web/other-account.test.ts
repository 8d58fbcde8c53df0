import { expect, it } from 'vitest'
import { givenSession } from '../support/given-sign-in.js'
import { givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { textOf, visit } from '../support/website-client.js'

const context = useService({ env: { SITE_LANGUAGES: 'en,de' } })

async function given() {
  const { db, url } = context.service
  const [before, now] = [await givenUser(db), await givenUser(db)]
  const cookie = await givenSession(db, now)
  const create = (account: string, headers = {}) =>
    visit(url, '/keys', { cookie, headers, body: { name: 'shop', page_account: account } })
  const keys = async () =>
    (await db.pool.query(`SELECT FROM api_keys WHERE user_id = $1 AND name = 'shop'`, [now.id])).rowCount
  return { before, now, cookie, create, keys }
}

it('every page says whose it is, and one that nobody is signed in to says nothing', async () => {
  const { now, cookie } = await given()
  const { url } = context.service
  for (const path of ['/keys', '/account', '/playground', '/docs'])
    expect((await visit(url, path, { cookie })).html).toContain(`data-account="${now.id}"`)
  expect((await visit(url, '/docs')).html).not.toContain('data-account')
})

it('a form of a page of another account does nothing, and says why', async () => {
  const { before, now, create, keys } = await given()
  const refused = await create(before.id)
  expect([refused.status, textOf(refused.html)]).toEqual([
    403,
    expect.stringContaining('Somebody else is signed in here'),
  ])
  const part = await create(before.id, { 'hx-request': 'true', 'accept-language': 'de' })
  expect([part.status, part.html]).toEqual([
    403,
    expect.stringContaining('Hier ist inzwischen jemand anders angemeldet'),
  ])
  expect(await keys()).toBe(0)
  expect((await create(now.id)).status).toBe(200)
  expect(await keys()).toBe(1)
})

it('who was signed out in another tab comes to the sign-in page, and signs in there as anybody', async () => {
  const { url, db } = context.service
  const { before, cookie } = await given()
  const signedOut = await visit(url, '/keys', { body: { name: 'shop', page_account: before.id } })
  expect([signedOut.status, signedOut.location]).toEqual([303, '/sign-in?next=%2F'])
  const out = await visit(url, '/sign-out', { cookie, body: { page_account: before.id } })
  expect(out.status).toBe(303)
  expect(
    (await db.pool.query('SELECT FROM api_keys WHERE name = $1 AND user_id = $2', ['shop', before.id])).rowCount,
  ).toBe(0)
})
