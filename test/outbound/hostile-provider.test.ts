import { generateKeyPairSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { SignInFailed } from '../../src/core/accounts/identity.js'
import { givenAnsweringProvider, type Malice } from '../support/answering-provider.js'
import { CLIENT } from '../support/oidc-server.js'

const other = generateKeyPairSync('rsa', { modulusLength: 2048 })

type Fields = Readonly<Record<string, unknown>>

/** What comes of a sign-in there. */
async function signInAt(malice: Malice) {
  const { signIn } = await givenAnsweringProvider(malice)
  return signIn().catch((error) => {
    expect(error).toBeInstanceOf(SignInFailed)
    return (error as SignInFailed).why
  })
}

it('is believed while it is honest', async () => {
  expect(await signInAt({})).toMatchObject({ subject: 'somebody' })
})

const AN_HOUR_AGO = Math.floor(Date.now() / 1000) - 3600

it.each<[string, Malice]>([
  ['by another key', { key: other.privateKey }],
  ['by a key that is not among its keys', { header: { kid: 'other' } }],
])(
  'an ID token that is signed %s is not believed, and is said to be a fault of its settings',
  async (_what, malice) => {
    expect(await signInAt(malice)).toBe('setup')
  },
)

// HS256: with its public key as the secret.
it.each(['none', 'HS256'])(
  'an ID token by %s is not believed, and is said to be a fault of its settings',
  async (alg) => {
    expect(await signInAt({ header: { alg } })).toBe('setup')
    expect(await signInAt({ header: { alg }, discovery: { id_token_signing_alg_values_supported: [alg] } })).toBe(
      'setup',
    )
  },
)

it.each<[string, Fields]>([
  ['an expired one', { exp: AN_HOUR_AGO }],
  ['one for later', { nbf: AN_HOUR_AGO + 7200 }],
  ['one for another client', { aud: 'another' }],
  ['one for others, too', { aud: [CLIENT.id, 'another'] }],
  ['one without a nonce', { nonce: undefined }],
  // Userinfo is not asked about a complete one.
  ['one that names nobody', { sub: '', email: 'ann@mail.test', email_verified: true, name: 'Ann' }],
  ['one without a subject', { sub: undefined }],
])('an ID token that is %s is not believed, and is said to be a fault of its settings', async (_what, claims) => {
  expect(await signInAt({ claims })).toBe('setup')
})

it('an ID token of another sign-in is refused', async () => {
  expect(await signInAt({ claims: { nonce: 'another' } })).toBe('refused')
})

it('userinfo about somebody else is not believed, and is said to be a fault of its settings', async () => {
  const email = 'other@mail.test'
  expect(await signInAt({ userInfo: { sub: 'other', email, email_verified: true } })).toBe('setup')
})

it.each([
  'ann',
  'ann@mail',
  'ann@mail.test,eve@mail.test',
  '<ann@mail.test>',
  '"ann@mail.test"@mail.test',
  `${'a'.repeat(250)}@mail.test`,
])('%s is no address', async (email) => {
  expect(await signInAt({ claims: { email, email_verified: true } })).toMatchObject({ lacks: 'address' })
})

it.each<[string, unknown]>([
  ['a number', 7],
  ['a flag', true],
  ['an object', { admins: true, 0: 'admins', length: 1, includes: 'admins' }],
  ['lists in a list', [['admins']]],
  ['objects in a list', [{ name: 'admins' }, null, 7, { toString: 'admins' }]],
  ['the name with a NUL', ['admins\0', '\0admins']],
  ['a letter that looks alike', ['аdmins']],
  ['the name in another normal form', ['admins\u0301']],
  ['a long text', 'admins '.repeat(10_000)],
  ['a long list', [...Array(20_000).fill('staff'), 'admins']],
])('groups that are %s make nobody an operator', async (_what, groups) => {
  expect(await signInAt({ claims: { groups } })).toMatchObject({ subject: 'somebody', isOperator: false })
  expect(await signInAt({ userInfo: { groups } })).toMatchObject({ subject: 'somebody', isOperator: false })
})

/** It does not answer, or is set up wrongly. */
const ITS_FAULT = /^(away|setup)$/

const TWO_MEGABYTES = ' '.repeat(2 * 1024 * 1024)

it.each(['/.well-known/openid-configuration', '/token', '/me', '/jwks'])(
  '%s may answer too much, nothing that can be read, elsewhere, or half: then the fault is said to be the provider’s',
  async (path) => {
    const answered = (answer: NonNullable<Malice['at']>[string]) => signInAt({ at: { [path]: answer } })
    expect(await answered((response, usual) => response.end(TWO_MEGABYTES + usual))).toMatch(ITS_FAULT)
    const zipped = (usual: string) => gzipSync(TWO_MEGABYTES + usual)
    expect(await answered((it, usual) => it.setHeader('content-encoding', 'gzip').end(zipped(usual)))).toMatch(
      ITS_FAULT,
    )
    expect(await answered((response) => response.end('<script>'))).toMatch(ITS_FAULT)
    expect(await answered((response) => response.writeHead(307, { location: '/elsewhere' }).end())).toMatch(ITS_FAULT)
    expect(await answered((response) => response.write('{', () => response.destroy()))).toMatch(ITS_FAULT)
  },
)
