import { expect, it } from 'vitest'
import { givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { unrecordable } from '../support/unrecordable.js'
import { useEasel } from './easel.js'

const easel = useEasel()

it('nothing is done that cannot be recorded', async () => {
  const { db } = easel
  const user = await givenUser(db, { credits: 5 })
  const { id } = await givenGeneration(db, await givenUser(db))
  const keys = await easel.json(`key list ${user.username}`)
  // What any account holds, in one text.
  const state = async () => {
    const tables = ['users', 'subscriptions', 'credit_ledger', 'api_keys', 'sign_in_links', 'sessions']
    const rows = tables.map((it) =>
      db.pool.query(`SELECT (to_jsonb(t) - 'last_used_at')::text FROM ${it} t ORDER BY 1`),
    )
    return JSON.stringify((await Promise.all(rows)).map((it) => it.rows))
  }
  const before = await state()
  await unrecordable(db, async () => {
    for (const line of [
      `credits grant ${user.username} 10`,
      'user create somebody --credits 3 --plan basic',
      `user email ${user.username} new@example.com`,
      `user role ${user.username} operator`,
      `user sign-in-link ${user.username}`,
      `user delete ${user.username}`,
      `subscription set ${user.username} --plan pro --until 2099-01-31`,
      `subscription set ${user.username} --none`,
      `key create ${user.username} --name test`,
      `key revoke ${keys[0].id}`,
      `jobs cancel ${id}`,
    ]) {
      await easel.error(line)
      expect([line, await state()]).toEqual([line, before])
    }
  })
  expect(await rowOf(db, { id })).toMatchObject({ status: 'queued' })
  await easel.text(`credits grant ${user.username} 10`)
  expect(await state()).not.toBe(before)
})
