import { describe, expect, it } from 'vitest'
import { hashToken } from '../../src/core/accounts/session.js'
import { credentialStore } from '../../src/db/accounts/sessions.js'
import { useEasel } from './easel.js'

const easel = useEasel()

describe('user create --email --operator', () => {
  it('sets the address and the role, which user show and user list tell', async () => {
    await easel.json('user create boss --email Boss@easel.test --operator')
    expect(await easel.json('user show boss')).toMatchObject({ email: 'Boss@easel.test', role: 'operator' })
    const boss = (await easel.json('user list')).find(({ username }: { username: string }) => username === 'boss')
    expect(boss).toMatchObject({ email: 'Boss@easel.test', role: 'operator' })
  })

  it('refuses what is no address, and one that another user has', async () => {
    await easel.json('user create first --email one@easel.test')
    expect(await easel.error('user create second --email ONE@easel.test')).toBe(
      'Another user has the address ONE@easel.test: "easel user list" shows who.',
    )
    expect(await easel.error('user create second --email nonsense')).toBe(
      '"nonsense" is not an email address: write it like alice@example.com.',
    )
    expect(await easel.error('user show second')).toMatch(/^No user/)
  })
})

describe('user email and role', () => {
  it('change what is there, and make links void that went to the address before', async () => {
    await easel.json('user create carol --email old@easel.test')
    const { url } = await easel.json('user sign-in-link carol')
    expect(await easel.json('user email carol new@easel.test')).toEqual({ username: 'carol', email: 'new@easel.test' })
    const { spendLink } = credentialStore(easel.db)
    expect(await spendLink(hashToken(new URL(url).searchParams.get('token') as string))).toBeUndefined()
    expect(await easel.json('user email carol --none')).toEqual({ username: 'carol', email: null })
    expect(await easel.error('user email carol')).toBe('Give an address, or --none.')
    expect(await easel.json('user role carol operator')).toEqual({ username: 'carol', role: 'operator' })
    expect(await easel.error('user role carol king')).toBe('The role must be one of operator, subscriber, not "king".')
    expect(await easel.text('user role carol subscriber')).toBe('username  carol\nrole      subscriber')
  })
})

it('whoever gives access to an account is recorded, with the reason', async () => {
  await easel.json('user create frank')
  await easel.json('user role frank operator --reason night-shift')
  await easel.json('user email frank frank@easel.test')
  await easel.json('user sign-in-link frank --reason lost-password')
  await easel.run('user password frank', {}, 'a few good words')
  const { rows } = await easel.db.pool.query(
    `SELECT action, reason FROM operator_actions WHERE target = 'frank' AND (actor = $1 OR actor LIKE 'command line (%')
      ORDER BY id`,
    [easel.actor],
  )
  expect(rows).toEqual([
    { action: 'created user', reason: '' },
    { action: 'made an operator', reason: 'night-shift' },
    { action: 'changed the email address', reason: '' },
    { action: 'made a sign-in link', reason: 'lost-password' },
    { action: 'set the password', reason: '' },
  ])
})

describe('user sign-in-link', () => {
  it('makes a link of the site that signs in once, for 15 minutes', async () => {
    const { id } = await easel.json('user create dave')
    const link = await easel.json('user sign-in-link DAVE')
    expect(link).toEqual({ url: expect.any(String), expires_at: expect.any(String) })
    expect(link.url).toMatch(/^https:\/\/easel\.test\/sign-in\/link\?token=[\w-]{43}$/)
    const minutes = (Date.parse(link.expires_at) - Date.now()) / 60_000
    expect(minutes).toBeGreaterThan(14)
    expect(minutes).toBeLessThan(16)
    const { spendLink } = credentialStore(easel.db)
    const hash = hashToken(new URL(link.url).searchParams.get('token') as string)
    expect(await spendLink(hash)).toBe(id)
    expect(await spendLink(hash)).toBeUndefined()
    expect(await easel.error('user sign-in-link nobody')).toMatch(/^No user "nobody"/)
    expect((await easel.run('user sign-in-link dave')).stdout).toMatch(
      /\nWorks once, and ends in 15 minutes, at 20\S+Z\.\n$/,
    )
  })

  it.each([
    ['1m', 1, '1 minute'],
    ['90m', 90, '90 minutes'],
    ['2h', 120, '2 hours'],
    ['24h', 1440, '1 day'],
    ['7d', 10_080, '7 days'],
    ['30d', 43_200, '30 days'],
  ])('makes one that lasts as long as --valid %s says', async (valid, minutes, words) => {
    const name = `valid-${valid}`
    await easel.json(`user create ${name}`)
    const { expires_at } = await easel.json(`user sign-in-link ${name} --valid ${valid}`)
    const left = (Date.parse(expires_at) - Date.now()) / 60_000
    expect(left).toBeGreaterThan(minutes - 1)
    expect(left).toBeLessThan(minutes + 1)
    expect((await easel.run(`user sign-in-link ${name} --valid ${valid}`)).stdout).toContain(`ends in ${words}, at `)
  })

  it('refuses what is no time, and too long a time', async () => {
    await easel.json('user create valid-not')
    for (const valid of ['0m', '31d', '43201m', '15', 'h', '1.5h', '1w', '99999d'])
      expect(await easel.error(`user sign-in-link valid-not --valid ${valid}`)).toBe(
        `--valid must be a time from 1m to 30d, like 90m, 12h or 7d, not "${valid}".`,
      )
  })
})
