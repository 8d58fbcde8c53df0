import { expect, it } from 'vitest'
import { hashPassword, isPassword } from '../../../src/core/accounts/password.js'
import { networksOf } from '../../../src/http/shared/networks.js'

it('a password is the right one however a keyboard writes its letters, and nothing else is', async () => {
  const stored = await hashPassword('Café au lait'.normalize('NFD'))
  expect(await isPassword('Café au lait'.normalize('NFC'), stored)).toBe(true)
  expect(await isPassword('Cafe au lait', stored)).toBe(false)
  expect(await isPassword('', null)).toBe(false)
})

it('a hash is dear to compute and differs each time', async () => {
  const [one, other] = [await hashPassword('Café au lait'), await hashPassword('Café au lait')]
  for (const stored of [one, other]) expect(stored).toMatch(/^scrypt\$32768\$8\$3\$/)
  expect(one).not.toBe(other)
})

/** At the least cost, which what is stored names. */
const CHEAP = ['scrypt', 2, 1, 1, '', Buffer.alloc(32).toString('base64')].join('$')

const codesOf = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map((it) => (it.status === 'rejected' ? it.reason.code : 'done'))

it('a check of a password is refused while 240 others of the same network wait, and done again afterwards', async () => {
  const networks = networksOf('192.0.2.1')
  const tries = await Promise.allSettled(Array.from({ length: 246 }, () => isPassword('x', CHEAP, { networks })))
  expect(codesOf(tries).filter((it) => it !== 'done')).toEqual(Array(5).fill('unavailable'))
  expect(await isPassword('x', CHEAP, { networks })).toBe(false)
})

it.each<[string, (n: number) => string]>([
  ['eleven addresses', (n) => `198.51.${n % 11}.7`],
  ['addresses all over', (n) => `${1 + (n % 200)}.7.7.7`],
  ['a customer’s IPv6 network', (n) => `2001:db8:7:${n.toString(16)}::1`],
  ['a provider’s IPv6 network', (n) => `2001:db8:${n.toString(16)}::1`],
])(
  'tries of %s that fill the line keep out nobody of another network, and nobody who is signed in',
  async (_what, from) => {
    const flood = Array.from({ length: 300 }, (_, n) => isPassword('x', CHEAP, { networks: networksOf(from(n)) }))
    const others = [
      isPassword('x', CHEAP, { networks: networksOf('203.0.113.5') }),
      isPassword('x', CHEAP, { networks: networksOf('2a02:8100::5') }),
      isPassword('x', CHEAP, { accountId: 'ann' }),
      isPassword('x', CHEAP),
      hashPassword('a few good words', { accountId: 'bob' }),
    ]
    const settled = Promise.allSettled(flood)
    expect(codesOf(await Promise.allSettled(others))).toEqual(Array(5).fill('done'))
    expect(codesOf(await settled).filter((it) => it === 'unavailable').length).toBeGreaterThan(0)
  },
)

it('an account that asks again and again keeps no other account, and no stranger, out', async () => {
  const flood = Array.from({ length: 300 }, () => isPassword('x', CHEAP, { accountId: 'eve' }))
  const settled = Promise.allSettled(flood)
  const others = [isPassword('x', CHEAP, { accountId: 'ann' }), isPassword('x', CHEAP, { networks: ['a', 'b', 'c'] })]
  expect(codesOf(await Promise.allSettled(others))).toEqual(['done', 'done'])
  await settled
})
