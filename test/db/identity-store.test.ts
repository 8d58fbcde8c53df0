import { expect, it } from 'vitest'
import { operatorUserStore } from '../../src/db/accounts/accounts.js'
import { identityStore } from '../../src/db/accounts/identities.js'
import { useDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'

const context = useDatabase()
const issuer = 'https://idp.test'
const ten = Array.from({ length: 10 }, (_, n) => n)

it('makes one account of a person who signs in for the first time in several windows at once', async () => {
  const { db } = context
  const identity = { issuer, subject: 'in many windows' }
  const names = ten.map((n) => `window-${'abcdefghij'[n]}`)
  const accounts = await Promise.all(names.map((name) => identityStore(db).register(identity, name, undefined)))
  expect(new Set(accounts)).toEqual(new Set([await identityStore(db).find(identity)]))
  const { rows } = await db.pool.query('SELECT username FROM users WHERE username = ANY($1)', [names])
  expect(rows).toHaveLength(1)
})

it('links an address to one person of a provider, however many come with it at once', async () => {
  const { db } = context
  const user = await givenUser(db)
  await operatorUserStore(db).setEmail(user.id, 'shared@mail.test')
  const linked = await Promise.all(
    ten.map((n) => identityStore(db).linkByEmail({ issuer, subject: `sharer ${n}` }, 'shared@mail.test')),
  )
  expect(linked.filter((it) => it !== undefined)).toEqual([user.id])
})
