import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { isAboutAccount } from '../../../src/core/operator/acts-about-accounts.js'
import { forgetUnsentMails, takeName } from '../../../src/db/accounts/purges.js'
import { credentialStore, unsentMailStore } from '../../../src/db/accounts/sessions.js'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'

const context = useDatabase()
const sql = (text: string, ...values: unknown[]) => context.db.pool.query(text, values)

async function given(name: string) {
  const user = await givenUser(context.db)
  await sql('UPDATE users SET username = $1 WHERE id = $2', name, user.id)
  const wipe = async () => {
    await sql('UPDATE users SET deleted_at = now() WHERE id = $1', user.id)
    await takeName(context.db, user.id)
  }
  return { ...user, wipe }
}

async function exported(id: string, file: 'operator-acts' | 'mails') {
  const rows: string[] = []
  for await (const page of accountExports(context.db).rows(id, file)) rows.push(...page)
  return rows.map((it) => JSON.parse(it))
}

const act = (actor: string, action: string, target: string) =>
  sql('INSERT INTO operator_actions (actor, action, target) VALUES ($1, $2, $3)', actor, action, target)

it('leaves acts alone whose target is only spelt like the name', async () => {
  const things = [
    ['saved plan', 'Pro'],
    ['disabled model version', '12'],
    ['paused the backend', 'gpu-1'],
  ] as const
  for (const [action, target] of things) {
    const user = await given(target.toLowerCase())
    await act('root', action, target)
    await act('root', 'granted 5 credits', target)
    expect(await exported(user.id, 'operator-acts')).toMatchObject([{ action: 'granted 5 credits' }])
    await user.wipe()
    const { rows } = await sql('SELECT action FROM operator_actions WHERE target = $1', target)
    expect(rows).toEqual([{ action }])
  }
})

it('takes no act of an account that got the name later', async () => {
  const first = await given('Alice')
  await act('root', 'granted 1 credit', 'alice')
  await sql('UPDATE users SET deleted_at = now() WHERE id = $1', first.id)
  const second = await given('alice')
  await act('root', 'granted 2 credits', 'alice')
  await act('alice', 'deleted user', 'zed')
  const actions = async (id: string) => (await exported(id, 'operator-acts')).map(({ action }) => action)
  expect(await actions(first.id)).toEqual(['granted 1 credit'])
  await first.wipe()
  const { rows } = await sql(`SELECT action FROM operator_actions WHERE 'alice' IN (actor, target) ORDER BY id`)
  expect(rows).toEqual([{ action: 'granted 2 credits' }, { action: 'deleted user' }])
  expect(await actions(second.id)).toEqual(['granted 2 credits'])
})

it('knows each act that operators do to an account', async () => {
  const folder = new URL('../../../src/core/operator/', import.meta.url)
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')))
  const lists = texts.flatMap((text) => text.match(/\[(?:[^[\]]|\[[^\]]*\])*, (?:\w+\.)?username,?\s*\]/g) ?? [])
  const words = lists.flatMap((list) => list.match(/(?<=['`])(?!an? )[a-z]+ [a-z][^'`$]*/g) ?? [])
  expect(words.length).toBeGreaterThan(12)
  expect(words.filter((it) => !isAboutAccount(it))).toEqual([])
})

it('shows and forgets no mail to an address that the account only typed', async () => {
  const { db } = context
  const eve = await given('eve')
  await sql(`UPDATE users SET email = 'Eve@example.com' WHERE id = $1`, eve.id)
  await credentialStore(db).addLink(eve.id, Buffer.from('token'), 'bob@example.com')
  for (const to of ['eve@example.com', 'bob@example.com'])
    await unsentMailStore(db).add({ to, subject: 'Sign in', text: 'a link' })
  expect(await exported(eve.id, 'mails')).toMatchObject([{ recipient: 'eve@example.com' }])
  await sql('UPDATE users SET deleted_at = now() WHERE id = $1', eve.id)
  // Of whoever has the address now.
  await unsentMailStore(db).add({ to: 'eve@example.com', subject: 'Later', text: 'a link' })
  await forgetUnsentMails(db, eve.id)
  const { rows } = await sql('SELECT subject, recipient FROM unsent_mails ORDER BY id')
  expect(rows).toEqual([
    { subject: 'Sign in', recipient: 'bob@example.com' },
    { subject: 'Later', recipient: 'eve@example.com' },
  ])
})
