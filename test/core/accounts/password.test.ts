import { expect, it } from 'vitest'
import { hashPassword, isPassword } from '../../../src/core/accounts/password.js'

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

it('a check of a password is refused while twenty others wait, and done again afterwards', async () => {
  // At the least cost, which what is stored names.
  const stored = ['scrypt', 2, 1, 1, '', Buffer.alloc(32).toString('base64')].join('$')
  const tries = await Promise.allSettled(Array.from({ length: 25 }, () => isPassword('x', stored)))
  const refused = tries.filter((it) => it.status === 'rejected')
  expect(refused.map(({ reason }) => reason.code)).toEqual(Array(5).fill('unavailable'))
  expect(await isPassword('x', stored)).toBe(false)
})
