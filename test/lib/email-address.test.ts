import { expect, it } from 'vitest'
import { emailAddressIn } from '../../src/lib/email-address.js'

it.each([
  ['alice@example.com', 'alice@example.com'],
  ['Alice.B+easel@Example.co.uk', 'Alice.B+easel@Example.co.uk'],
  ["o'connor&sons=x/y@mail.example", "o'connor&sons=x/y@mail.example"],
  ['info@räucher.example', 'info@xn--rucher-bua.example'],
  ['kola@пример.рф', 'kola@xn--e1afmkfd.xn--p1ai'],
  ['a@test.test0.xn--p1ai', 'a@test.test0.xn--p1ai'],
])('%s is taken as %s', (text, address) => {
  expect(emailAddressIn(text)).toBe(address)
})

it.each([
  ...['', '@', 'alice', 'alice@', '@example.com', 'alice@example', 'alice@example.', 'alice@.com', 'a b@example.com'],
  ...['Alice <alice@example.com>', 'a@example.com, b@example.com', 'a@b@example.com', 'jörg@example.com', 'a@-x.com'],
  ...['a@exa\nmple.com', 'a\n@example.com', 'a@example.com\n', '\u212Aate@mail.test', `${'a'.repeat(65)}@example.com`],
  ...['a@räucher.example/b', 'a@räucher.example:25', 'a@%61räucher.example', 'a@b.example#ü'],
  ...[`a@${'b'.repeat(64)}.com`, `a@${'b.'.repeat(127)}com`, 'a@ex ample.com', 'a@[192.0.2.1]', '"a"@example.com'],
])('%j is none', (text) => {
  expect(emailAddressIn(text)).toBeUndefined()
})

it('is not looked for in a long text', () => {
  expect(emailAddressIn(`a@${'ä'.repeat(1_000_000)} `)).toBeUndefined()
})
