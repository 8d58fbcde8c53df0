import { expect, it } from 'vitest'
import { hashPassword, isPassword } from '../../src/account/password.js'

it('a password is the right one however a keyboard writes its letters, and nothing else is', async () => {
  const stored = await hashPassword('Café au lait'.normalize('NFD'))
  expect(await isPassword('Café au lait'.normalize('NFC'), stored)).toBe(true)
  expect(await isPassword('Cafe au lait', stored)).toBe(false)
  expect(await isPassword('', null)).toBe(false)
  expect(await hashPassword('Café au lait')).not.toBe(await hashPassword('Café au lait'))
})

it('a flood of tries is refused in part, so that it holds nobody up for long', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 25 }, () => isPassword('x', null)))
  const refused = tries.filter((it) => it.status === 'rejected')
  expect(refused.map(({ reason }) => reason.code)).toEqual(Array(5).fill('unavailable'))
  expect(await isPassword('x', null)).toBe(false)
})
