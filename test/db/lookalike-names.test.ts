/** Names that people take for each other, given to two accounts at the same moment. */
import { expect, it } from 'vitest'
import { identityStore } from '../../src/db/accounts/identities.js'
import { credentialStore } from '../../src/db/accounts/sessions.js'
import { useDatabase } from '../support/database.js'

const context = useDatabase()
const ROUNDS = 10

it('makes one account of all that ask for look-alikes at once, by password or by an identity provider', async () => {
  const { db } = context
  for (let round = 0; round < ROUNDS; round++) {
    const name = `carol-${'x'.repeat(round)}`
    const lookalikes = [
      name,
      name.toUpperCase(),
      `c.arol${name.slice(5)}`,
      name.replace('o', '0'),
      `car-ol${name.slice(5)}`,
    ]
    const made = await Promise.all(
      lookalikes.flatMap((it) => [
        credentialStore(db).register(it, 'no hash'),
        identityStore(db).register({ issuer: 'https://issuer.test', subject: it }, it, `${it}@mail.test`),
      ]),
    )
    expect(made.filter((id) => id !== undefined)).toHaveLength(1)
  }
})

it('makes accounts of others at the same time', async () => {
  const names = ['dora', 'emil', 'fritz', 'gustav', 'heinz']
  const made = await Promise.all(names.map((it) => credentialStore(context.db).register(it, 'no hash')))
  expect(new Set(made).size).toBe(names.length)
  expect(made).not.toContain(undefined)
})
