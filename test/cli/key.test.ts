import { describe, expect, it } from 'vitest'
import { hashApiKey, isWellFormedApiKey } from '../../src/core/accounts/api-key.js'
import { accountStore } from '../../src/db/accounts/accounts.js'
import { givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const callerOf = (key: string) => accountStore(easel.db).findCaller(hashApiKey(key))

describe('key create', () => {
  it('makes a personal key that works, for a user without subscription too', async () => {
    const user = await givenUser(easel.db, { subscription: null })
    const { id, key, ...rest } = await easel.json(['key', 'create', user.username.toUpperCase(), '--name', 'my laptop'])
    expect(rest).toEqual({})
    expect(isWellFormedApiKey(key, 'easel')).toBe(true)
    expect(await callerOf(key)).toMatchObject({ account: { id: user.id }, keyId: id, keyKind: 'personal' })
  })

  it('makes a developer key that runs 4 at once, or as many as told', async () => {
    const { username } = await givenUser(easel.db)
    const usual = await easel.json(`key create ${username} --developer`)
    expect(await callerOf(usual.key)).toMatchObject({ keyKind: 'developer' })
    const wide = await easel.json(`key create ${username} --developer --concurrency 20`)
    expect(await callerOf(wide.key)).toMatchObject({ keyKind: 'developer' })
    const keys: { id: string; concurrency: number }[] = await easel.json(`key list ${username}`)
    const atOnce = (id: string) => keys.find((key) => key.id === id)?.concurrency
    expect([atOnce(usual.id), atOnce(wide.id)]).toEqual([4, 20])
  })

  it('begins the key with KEY_PREFIX', async () => {
    const { username } = await givenUser(easel.db)
    const { key } = await easel.json(`key create ${username}`, { KEY_PREFIX: 'atelier' })
    expect(isWellFormedApiKey(key, 'atelier')).toBe(true)
  })

  it('stores the key nowhere', async () => {
    const { username } = await givenUser(easel.db)
    const text = await easel.text(`key create ${username}`)
    const key = /^key {2}(easel_\w+)\nid {3}[0-9a-f-]{36}\nStore the key now: it is not shown again\.$/.exec(text)?.[1]
    expect(isWellFormedApiKey(key ?? '', 'easel')).toBe(true)
    const { rows } = await easel.db.pool.query('SELECT k::text AS everything FROM api_keys k')
    const random = key?.slice('easel_'.length, -6) ?? ''
    expect(rows.filter(({ everything }) => everything.includes(random))).toEqual([])
  })

  it('refuses options that make no sense', async () => {
    const { username } = await givenUser(easel.db)
    expect(await easel.error(`key create ${username} --concurrency 2`)).toBe(
      '--concurrency is for developer keys: give --developer too.',
    )
    expect(await easel.error(`key create ${username} --developer --concurrency 0`)).toBe(
      '--concurrency must be a whole number from 1 to 1000, not "0".',
    )
    expect(await easel.error('key create nobody')).toBe('No user "nobody": "easel user list" shows all.')
  })
})

describe('key list', () => {
  it('shows what tells keys apart, and no key', async () => {
    const user = await givenUser(easel.db)
    const { id, key } = await easel.json(`key create ${user.username} --name ci --developer --concurrency 2`)
    const keys = await easel.json(`key list ${user.username}`)
    expect(keys).toEqual([
      expect.objectContaining({ id: user.keyId, kind: 'personal', name: '', concurrency: null }),
      {
        id,
        kind: 'developer',
        name: 'ci',
        hint: `easel_…${key.slice(-4)}`,
        concurrency: 2,
        created_at: expect.any(String),
        last_used_at: null,
        revoked_at: null,
      },
    ])
    const text = await easel.text(`key list ${user.username}`)
    expect(text).toMatch(/^id +kind +name +key +at once +created +last used +revoked\n/)
    expect(text).not.toContain(key)
  })

  it('says when there is none', async () => {
    await easel.json('user create keyless')
    expect(await easel.text('key list keyless')).toBe('keyless has no keys.')
  })
})

describe('key revoke', () => {
  it('ends a key at once and for good, and may be repeated', async () => {
    const user = await givenUser(easel.db)
    const first = await easel.json(`key revoke ${user.keyId}`)
    expect(first).toEqual({ id: user.keyId, revoked_at: expect.any(String) })
    expect(await callerOf(user.key)).toBeUndefined()
    expect(await easel.json(`key revoke ${user.keyId}`)).toEqual(first)
    expect(await easel.text(`key revoke ${user.keyId}`)).toBe(`Key ${user.keyId} is revoked.`)
    expect(await easel.json(`key list ${user.username}`)).toMatchObject([{ revoked_at: first.revoked_at }])
  })

  it('refuses an ID that is no key', async () => {
    for (const id of ['nonsense', '00000000-0000-4000-8000-000000000000']) {
      expect(await easel.error(`key revoke ${id}`)).toBe(
        `No key has the ID "${id}": "easel key list USERNAME" shows them.`,
      )
    }
  })
})
