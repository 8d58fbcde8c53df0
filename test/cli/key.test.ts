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
      'Only a developer key has a --concurrency: leave it out, or make one.',
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
        scope: null,
        concurrency: 2,
        created_at: expect.any(String),
        last_used_at: null,
        revoked_at: null,
        expires_at: null,
        monthly_limit: null,
        models: null,
        spent_this_month: 0,
      },
    ])
    const text = await easel.text(`key list ${user.username}`)
    expect(text).toMatch(/^id +kind +name +key +at once +this month +models +created +until +last used +revoked\n/)
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

describe('the limits of a key', () => {
  const one = async (username: string, id: string) =>
    (await easel.json(`key list ${username}`)).find((key: { id: string }) => key.id === id)

  it('are given with it, shown, changed and taken away', async () => {
    const { username } = await givenUser(easel.db)
    const create = `key create ${username} --until 2099-03-31 --monthly-limit 50 --model 1 --model 2`
    const { id } = await easel.json(create)
    expect(await one(username, id)).toMatchObject({
      expires_at: '2099-03-31T23:59:59.999Z',
      monthly_limit: 50,
      models: [1, 2],
      spent_this_month: 0,
    })
    expect(await easel.text(`key list ${username}`)).toMatch(/0 of 50 +1 2 /)
    await easel.json(`key change ${id} --no-until --model 3`)
    expect(await one(username, id)).toMatchObject({ expires_at: null, monthly_limit: 50, models: [3] })
    expect(await easel.json(['key', 'change', id, '--no-model', '--no-monthly-limit', '--name', 'the shop'])).toEqual({
      ...{ id, name: 'the shop', monthly_limit: null, models: null },
    })
    expect(await one(username, id)).toMatchObject({ name: 'the shop', monthly_limit: null, models: null })
  })

  it('are refused where they make no sense, and then nothing changes', async () => {
    const { username, keyId } = await givenUser(easel.db)
    const { id } = await easel.json(`key create ${username} --developer`)
    const metered = 'A developer key is metered, not charged: it can have no --monthly-limit.'
    expect(await easel.error(`key create ${username} --developer --monthly-limit 5`)).toBe(metered)
    expect(await easel.error(`key change ${id} --monthly-limit 5`)).toBe(metered)
    expect(await one(username, id)).toMatchObject({ monthly_limit: null })
    expect(await easel.error(`key change ${keyId} --until 2020-01-01`)).toBe(
      '--until 2020-01-01 is over: give a later date.',
    )
    expect(await easel.error(`key change ${keyId} --monthly-limit 0`)).toMatch(
      /^--monthly-limit must be a whole number from 1 to /,
    )
    expect(await easel.error(`key change ${keyId} --model 987654`)).toBe(
      'No model version has the ID 987654: "easel models list" shows them.',
    )
    expect(await easel.error(`key change ${keyId}`)).toBe(
      'Nothing to change: give --name, --until, --monthly-limit or --model.',
    )
    expect(await easel.error(`key change nothing --name x`)).toBe(
      'No key that works has the ID "nothing": "easel key list USERNAME" shows them.',
    )
  })
})

describe('key create --operator', () => {
  it('makes a key of its own kind, which may change all unless told otherwise, and loses that with the role', async () => {
    const { username } = await givenUser(easel.db)
    await easel.json(`user role ${username} operator`)
    const all = await easel.json(`key create ${username} --operator`)
    const reads = await easel.json(`key create ${username} --operator --scope read --name reports --until 2099-03-31`)
    expect(isWellFormedApiKey(reads.key, 'easel-operator')).toBe(true)
    expect(await callerOf(all.key)).toMatchObject({ keyKind: 'operator', operatorScope: 'all' })
    expect(await callerOf(reads.key)).toMatchObject({ operatorScope: 'read', keyName: 'reports' })
    expect((await easel.json(`key list ${username}`)).slice(1)).toMatchObject([
      { id: all.id, kind: 'operator', scope: 'all', concurrency: null },
      { id: reads.id, scope: 'read', hint: `easel-operator_…${reads.key.slice(-4)}`, expires_at: expect.any(String) },
    ])
    await easel.json(`user role ${username} subscriber`)
    expect(await callerOf(all.key)).toMatchObject({ keyKind: 'operator', operatorScope: null })
  })

  it('is for operators, and refuses what such a key cannot have', async () => {
    const { username } = await givenUser(easel.db)
    expect(await easel.error(`key create ${username} --operator`)).toBe(
      `User "${username}" is no operator: make them one before they get such a key.`,
    )
    expect(await easel.error(`key create ${username} --scope read`)).toBe(
      'Only an operator key has a --scope: leave it out, or make one.',
    )
    expect(await easel.error(`key create ${username} --operator --model 1`)).toBe(
      'An operator key generates nothing: it has no models and no limit of credits.',
    )
    expect(await easel.error(`key create ${username} --operator --scope some`)).toBe(
      '--scope must be one of read, accounts, models, all, not "some".',
    )
  })
})
