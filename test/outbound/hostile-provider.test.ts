import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { SignInFailed } from '../../src/core/accounts/identity.js'
import { identityProvider } from '../../src/outbound/identity-provider.js'
import { CALLBACK, CLIENT } from '../support/oidc-server.js'
import { startSwitchableServer } from '../support/switchable-server.js'

const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })

type Fields = Readonly<Record<string, unknown>>

interface Malice {
  /** What its discovery document, ID token (its header, its claims) and userinfo say instead; undefined: nothing. */
  readonly discovery?: Fields
  readonly header?: Fields
  readonly claims?: Fields
  readonly userInfo?: Fields
  readonly key?: KeyObject
  /** How it answers at a path. */
  readonly at?: Readonly<Record<string, (response: ServerResponse, usual: string) => void>>
}

/** What comes of a sign-in at a provider that answers by itself, since a real one would not answer so. */
async function signInAt({ discovery, header, claims, userInfo, key = own.privateKey, at = {} }: Malice) {
  let nonce: string | undefined
  const server = await startSwitchableServer(async (request, response) => {
    const path = request.url ?? ''
    const usual = JSON.stringify(answerTo(path))
    response.setHeader('content-type', 'application/json')
    if (at[path]) at[path](response, usual)
    else response.end(usual)
  })
  onTestFinished(server.refuse)
  const issuer = server.url
  const paths = { authorization_endpoint: '/authorize', token_endpoint: '/token', userinfo_endpoint: '/me' }
  const answerTo = (path: string): object => {
    if (path === '/jwks') return { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'own' }] }
    if (path === '/me') return { sub: 'somebody', ...userInfo }
    if (path === '/token') return { access_token: 'access', token_type: 'Bearer', id_token: idToken() }
    const places = Object.entries(paths).map(([name, it]) => [name, issuer + it])
    const facts = { issuer, jwks_uri: `${issuer}/jwks`, id_token_signing_alg_values_supported: ['RS256'] }
    return { ...facts, ...Object.fromEntries(places), ...discovery }
  }
  const idToken = () => {
    const now = Math.floor(Date.now() / 1000)
    const head = { alg: 'RS256', kid: 'own', ...header }
    const said = { iss: issuer, aud: CLIENT.id, sub: 'somebody', iat: now, exp: now + 300, nonce, ...claims }
    const text = [head, said].map((it) => Buffer.from(JSON.stringify(it)).toString('base64url')).join('.')
    return `${text}.${signatureOf(text, head.alg, key)}`
  }
  const provider = identityProvider({
    issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    redirectUri: CALLBACK,
    operators: { group: 'admins', claim: 'groups' },
  })
  try {
    const { checks } = await provider.begin()
    nonce = checks.nonce
    const { identity, profile, isOperator } = await provider.end(`code=code&state=${checks.state}`, checks)
    return { subject: identity.subject, ...(await profile()), isOperator: await isOperator() }
  } catch (error) {
    expect(error).toBeInstanceOf(SignInFailed)
    return (error as SignInFailed).why
  }
}

function signatureOf(text: string, alg: string, key: KeyObject): string {
  if (alg === 'none') return ''
  if (alg === 'HS256')
    return createHmac('sha256', own.publicKey.export({ type: 'spki', format: 'pem' }))
      .update(text)
      .digest('base64url')
  return sign('sha256', Buffer.from(text), key).toString('base64url')
}

it('is believed while it is honest', async () => {
  expect(await signInAt({})).toMatchObject({ subject: 'somebody' })
})

const AN_HOUR_AGO = Math.floor(Date.now() / 1000) - 3600

it.each<[string, Malice]>([
  ['by another key', { key: other.privateKey }],
  ['by a key that is not among its keys', { header: { kid: 'other' } }],
])('an ID token that is signed %s is refused', async (_what, malice) => {
  expect(await signInAt(malice)).toBe('refused')
})

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
  ['one of another sign-in', { nonce: 'another' }],
  ['one without a nonce', { nonce: undefined }],
  // Userinfo is not asked about a complete one.
  ['one that names nobody', { sub: '', email: 'ann@mail.test', email_verified: true, name: 'Ann' }],
  ['one without a subject', { sub: undefined }],
])('an ID token that is %s is refused', async (_what, claims) => {
  expect(await signInAt({ claims })).toBe('refused')
})

it('userinfo about somebody else is refused', async () => {
  const email = 'other@mail.test'
  expect(await signInAt({ userInfo: { sub: 'other', email, email_verified: true } })).toBe('refused')
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
