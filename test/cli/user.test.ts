import { describe, expect, it } from 'vitest'
import { hashApiKey } from '../../src/core/accounts/api-key.js'
import { accountStore } from '../../src/db/accounts/accounts.js'
import { creditsOf, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const ledgerOf = async (username: string) => {
  const { rows } = await easel.db.pool.query(
    `SELECT l.kind, l.delta, l.balance FROM credit_ledger l JOIN users u ON u.id = l.user_id WHERE u.username = $1`,
    [username],
  )
  return rows
}

describe('user create', () => {
  it('begins with 0 credits and no subscription', async () => {
    expect(await easel.json('user create plain')).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      username: 'plain',
      credits: 0,
      subscription: null,
    })
    expect(await ledgerOf('plain')).toEqual([])
  })

  it('says what an account without a subscription lacks', async () => {
    const { stdout } = await easel.run(['user', 'create', 'bare'])
    expect(stdout).toContain(
      'Without a subscription bare cannot make images: "easel subscription set bare --plan NAME" begins one.',
    )
    expect((await easel.run(['user', 'create', 'dressed', '--plan', 'Pro'])).stdout).not.toContain('Without')
  })

  it('gives names that people cannot give themselves, but not those of wiped accounts', async () => {
    expect(await easel.json('user create support')).toMatchObject({ username: 'support' })
    expect(await easel.error('user create Deleted-0123456789abcdef')).toBe(
      '"Deleted-0123456789abcdef" is how a wiped account is called: choose another username.',
    )
  })

  it('enters the first credits into the ledger', async () => {
    expect(await easel.json('user create rich --credits 250')).toMatchObject({ credits: 250 })
    expect(await ledgerOf('rich')).toEqual([{ kind: 'grant', delta: 250, balance: 250 }])
  })

  it('begins an active subscription, for a year unless told otherwise', async () => {
    const { subscription } = await easel.json(['user', 'create', 'pro', '--plan', 'Pro Plan'])
    expect(subscription).toEqual({ status: 'active', plan: 'Pro Plan', endDate: expect.any(String) })
    const days = (Date.parse(subscription.endDate) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(364.9)
    expect(days).toBeLessThan(366.1)
    expect(await easel.json('user create soon --plan Pro --until 2091-05-06')).toMatchObject({
      subscription: { status: 'active', endDate: '2091-05-06T23:59:59.999Z' },
    })
  })

  it('takes times with and without an offset', async () => {
    const until = async (name: string, text: string) =>
      (await easel.json(`user create ${name} --plan Pro --until ${text}`)).subscription.endDate
    expect(await until('utc', '2091-05-06T07:08:09')).toBe('2091-05-06T07:08:09.000Z')
    expect(await until('offset', '2091-05-06T07:08+02:00')).toBe('2091-05-06T05:08:00.000Z')
  })

  it('refuses an end that is over; today ends tonight', async () => {
    const day = (at: number) => new Date(at).toISOString().slice(0, 10)
    await easel.json('user create ending --plan Pro')
    for (const over of ['2020-01-01', day(Date.now() - 86_400_000), new Date(Date.now() - 1000).toISOString()]) {
      const refusal = `--until ${over} is over: give a later date.`
      expect(await easel.error(`user create late --plan Pro --until ${over}`)).toBe(refusal)
      expect(await easel.error(`subscription set ending --until ${over}`)).toBe(refusal)
    }
    expect(await easel.json(`user create tonight --plan Pro --until ${day(Date.now())}`)).toMatchObject({
      subscription: { status: 'active' },
    })
  })

  it('shows a subscription whose end has passed as expired, and says so when it is changed', async () => {
    await easel.json('user create over --plan Pro')
    await easel.db.pool.query(`UPDATE subscriptions SET end_date = '2020-01-01' WHERE user_id =
      (SELECT id FROM users WHERE username = 'over')`)
    expect(await easel.json('user show over')).toMatchObject({ subscription: { status: 'expired' } })
    expect((await easel.run('subscription set over --status active')).stderr).toBe(
      'warning: This subscription ended on 2020-01-01, so nothing can be generated with it: give --until, too.\n',
    )
  })

  it('refuses a name that exists in any case, and leaves nothing behind', async () => {
    await easel.json('user create Twice')
    expect(await easel.error('user create tWICE --credits 5 --plan Pro')).toBe('User "tWICE" already exists.')
    expect(await ledgerOf('tWICE')).toEqual([])
  })

  it('refuses what is no name, number or date', async () => {
    expect(await easel.error(['user', 'create', 'two words'])).toBe(
      '"two words" can\'t be a username: use 1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit.',
    )
    expect(await easel.error('user create x --credits -1')).toMatch(
      /^--credits must be a whole number from 0 .*"-1"\.$/,
    )
    expect(await easel.error('user create x --credits 1.5')).toMatch(/^--credits must be a whole number/)
    expect(await easel.error('user create x --credits 9007199254740992')).toMatch(/^--credits must be a whole number/)
    for (const date of ['tomorrow', '2027-02-30', '2027-13-01', '1']) {
      expect(await easel.error(`user create x --plan Pro --until ${date}`)).toBe(
        `--until must be an ISO date like 2027-01-31 or 2027-01-31T12:00:00Z, not "${date}".`,
      )
    }
    expect(await easel.error(['user', 'create', 'x', '--plan', ' '])).toBe(
      '--plan must be one line of 1 to 100 characters.',
    )
    expect(await easel.error('user create x --until 2027-01-31')).toBe(
      '--until is the end of a subscription: give --plan too.',
    )
    expect(await easel.error('user show x')).toBe('No user "x": "easel user list" shows all.')
  })
})

describe('user show and list', () => {
  it('finds a user whatever the case of the name', async () => {
    await easel.json('user create CamelCase --credits 3 --plan Pro --until 2091-01-01')
    expect(await easel.json('user show camelcase')).toEqual({
      id: expect.any(String),
      username: 'CamelCase',
      credits: 3,
      subscription: { status: 'active', plan: 'Pro', endDate: '2091-01-01T23:59:59.999Z' },
      email: null,
      role: 'subscriber',
      created_at: expect.any(String),
      deleted_at: null,
      active_jobs: [],
    })
  })

  it('says that a user is deleted, until the name is taken again', async () => {
    const { id } = await easel.json('user create phoenix')
    await easel.json('user delete phoenix')
    expect(await easel.json('user show phoenix')).toMatchObject({ id, deleted_at: expect.any(String) })
    const again = await easel.json('user create phoenix')
    expect(again.id).not.toBe(id)
    expect(await easel.json('user show phoenix')).toMatchObject({ id: again.id, deleted_at: null })
    const named = (await easel.json('user list')).filter(({ username }: { username: string }) => username === 'phoenix')
    expect(named).toMatchObject([
      { id: again.id, deleted_at: null },
      { id, deleted_at: expect.any(String) },
    ])
  })

  it('lists by name in aligned columns', async () => {
    await easel.json('user create aaa --credits 7')
    const lines = (await easel.text('user list')).split('\n')
    expect(lines[0]).toMatch(/^username +credits +plan +status +until +email +role +created +deleted$/)
    expect(lines[1]).toMatch(/^aaa +7 +- +- +- +- +subscriber +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +-$/)
    expect(lines[1]?.indexOf('7')).toBe((lines[0]?.indexOf('credits') ?? 0) + 'credits'.length - 1)
  })

  it('shows one fact a line', async () => {
    await easel.json('user create facts --credits 12')
    expect(await easel.text('user show facts')).toMatch(/^username {5}facts\nid {11}[0-9a-f-]{36}\ncredits {6}12\n/)
  })
})

describe('subscription set', () => {
  it('begins one, changes what is given and keeps the rest', async () => {
    await easel.json('user create sub')
    expect(await easel.json('subscription set SUB --plan Basic --until 2091-01-01')).toEqual({
      username: 'sub',
      subscription: { status: 'active', plan: 'Basic', endDate: '2091-01-01T23:59:59.999Z' },
    })
    expect(await easel.json('subscription set sub --status canceled')).toMatchObject({
      subscription: { status: 'canceled', plan: 'Basic', endDate: '2091-01-01T23:59:59.999Z' },
    })
    expect(await easel.json('subscription set sub --plan Pro')).toMatchObject({
      subscription: { status: 'canceled', plan: 'Pro' },
    })
    expect(await easel.json('subscription set sub --until 2092-01-01')).toMatchObject({
      subscription: { status: 'canceled', plan: 'Pro', endDate: '2092-01-01T23:59:59.999Z' },
    })
    expect(await easel.text('subscription set sub --status active')).toBe(
      'username  sub\nplan      Pro\nstatus    active\nuntil     2092-01-01T23:59:59Z',
    )
  })

  it('begins with any status, one year long unless told otherwise', async () => {
    await easel.json('user create due')
    const { subscription } = await easel.json('subscription set due --plan Pro --status past_due')
    expect(subscription.status).toBe('past_due')
    expect(Date.parse(subscription.endDate)).toBeGreaterThan(Date.now() + 364 * 86_400_000)
  })

  it('takes one away', async () => {
    await easel.json('user create quits --plan Pro')
    expect(await easel.json('subscription set quits --none')).toEqual({ username: 'quits', subscription: null })
    expect(await easel.json('user show quits')).toMatchObject({ subscription: null })
    expect(await easel.text('subscription set quits --none')).toBe('quits has no subscription.')
  })

  it('refuses what makes no sense', async () => {
    await easel.json('user create muddled')
    expect(await easel.error('subscription set muddled')).toBe(
      'Nothing to set: give --plan, --status, --until or --none.',
    )
    expect(await easel.error('subscription set muddled --none --plan Pro')).toBe(
      '--none takes the subscription away: give it alone.',
    )
    expect(await easel.error('subscription set muddled --status canceled')).toBe(
      'User "muddled" has no subscription yet: give --plan to begin one.',
    )
    expect(await easel.error('subscription set muddled --plan Pro --status Active')).toBe(
      '--status must be lowercase letters and underscores, like active or past_due, not "Active".',
    )
    expect(await easel.error('subscription set nobody --none')).toBe('No user "nobody": "easel user list" shows all.')
  })
})

describe('user delete', () => {
  it('keeps the user’s credits, subscription, ledger and keys', async () => {
    const user = await givenUser(easel.db, { credits: 9 })
    expect(await easel.json(`user delete ${user.username.toUpperCase()}`)).toEqual({
      id: user.id,
      username: user.username,
      deleted_at: expect.any(String),
      canceled_jobs: [],
      purged: null,
    })
    expect(await creditsOf(easel.db, user)).toBe(9)
    // Not revoked: the account endpoint still tells whose the key was.
    expect(await accountStore(easel.db).findCaller(hashApiKey(user.key))).toMatchObject({
      account: { id: user.id, deleted: true, subscription: { status: 'active' } },
    })
  })

  it('makes other commands say that the user was deleted, not that there is none', async () => {
    const { username } = await givenUser(easel.db)
    await easel.json(`user delete ${username}`)
    expect(await easel.error(`user delete ${username}`)).toBe(
      `User "${username}" is already deleted; --purge wipes prompts and images.`,
    )
    for (const command of ['credits history', 'key list', 'key create', 'usage', 'jobs list --user']) {
      expect(await easel.error(`${command} ${username}`)).toBe(`User "${username}" was deleted.`)
    }
    expect(await easel.error(`credits grant ${username} 5`)).toBe(`User "${username}" was deleted.`)
    expect(await easel.error(`subscription set ${username} --none`)).toBe(`User "${username}" was deleted.`)
    expect(await easel.error('user delete nobody')).toBe('No user "nobody": "easel user list" shows all.')
  })
})
