import { describe, expect, it, onTestFinished } from 'vitest'
import { SignInFailed } from '../../src/core/accounts/identity.js'
import { identityProvider } from '../../src/outbound/identity-provider.js'
import { CALLBACK, CLIENT, type OidcServer, startOidc, wayThrough } from '../support/oidc-server.js'
import { startSwitchableServer } from '../support/switchable-server.js'

async function givenProvider(options: Parameters<typeof startOidc>[0] = {}) {
  const oidc = await startOidc(options)
  onTestFinished(() => oidc.close())
  return oidc
}

type Operators = NonNullable<Parameters<typeof identityProvider>[0]['operators']>

const providerOf = (issuer: string, operators?: Operators) =>
  identityProvider({ issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, redirectUri: CALLBACK, operators })

/** Signs the provider's person in. `change` what comes back with the browser. */
async function signIn(
  oidc: OidcServer,
  change: (query: string) => string = (query) => query,
  issuer = oidc.issuer,
  operators?: Operators,
) {
  const provider = providerOf(issuer, operators)
  const { url, checks } = await provider.begin()
  const back = await wayThrough(oidc.issuer, url)
  return provider.end(change(back.split('?')[1] ?? ''), checks)
}

/** What the operator's log is told, and why, for the page. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('somebody was signed in'),
    (error) => {
      expect(error).toBeInstanceOf(SignInFailed)
      const { why, message } = error as SignInFailed
      return { why, message }
    },
  )

describe('the issuer', () => {
  it.each(['', '/', '/realms/easel', '/application/o/easel/', '/oauth2/default/'])(
    'may end with "%s"',
    async (path) => {
      const oidc = await givenProvider({ path })
      oidc.person = { sub: 'somebody' }
      const { identity } = await signIn(oidc)
      expect(identity).toEqual({ issuer: oidc.issuer, subject: 'somebody' })
    },
  )

  it('may be the address of a discovery document whose issuer is another one', async () => {
    const oidc = await givenProvider({ path: '/application/o/easel' })
    oidc.person = { sub: 'somebody' }
    const document = `${oidc.issuer}/.well-known/openid-configuration`
    expect((await signIn(oidc, undefined, document)).identity.issuer).toBe(oidc.issuer)
  })

  it.each([
    ['/realms/easel', '/realms/easel/'],
    ['/application/o/easel/', '/application/o/easel'],
  ])('"%s" is not "%s": both are named, and what to do', async (path, given) => {
    const oidc = await givenProvider({ path })
    const { why, message } = await failureOf(providerOf(oidc.issuer.replace(path, given)).begin())
    expect(message).toBe(`OIDC_ISSUER must be "${oidc.issuer}", exactly as the identity provider there calls itself`)
    expect(why).toBe('setup')
  })

  it('of the ID token must be that of the discovery document', async () => {
    const path = '/application/o/easel/'
    const { port, close } = await startOidc({ path })
    await close()
    const elsewhere = `http://127.0.0.1:${port}/`
    const oidc = await givenProvider({
      path,
      port,
      discovery: { issuer: elsewhere, authorization_response_iss_parameter_supported: false },
    })
    oidc.person = { sub: 'somebody' }
    const document = `${oidc.issuer}.well-known/openid-configuration`
    const withoutIssuer = (query: string) => query.replace(/&?iss=[^&]*/, '')
    const { why, message } = await failureOf(signIn(oidc, withoutIssuer, document))
    expect([why, message]).toEqual([
      'setup',
      `the identity provider signs as "${oidc.issuer}", which is not the issuer in its discovery document: correct its settings`,
    ])
  })

  it('of the answer must be the same, too', async () => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'somebody' }
    const { why, message } = await failureOf(
      signIn(oidc, (query) => query.replace(/iss=[^&]*/, 'iss=https://evil.example')),
    )
    expect([why, message]).toEqual([
      'refused',
      'somebody was not signed in by the identity provider: the answer is from the issuer "https://evil.example", not from OIDC_ISSUER',
    ])
  })

  it.each([
    ['a page of something else', 200, 'text/html', '<p>hello', 'OAUTH_RESPONSE_IS_NOT_JSON'],
    ['no such page', 404, 'text/plain', 'no', '404'],
    ['a redirect', 301, 'text/plain', '', '301'],
    ['a document without an issuer', 200, 'application/json', '{}', 'OAUTH_INVALID_RESPONSE'],
    ['an issuer that is no URL', 200, 'application/json', '{"issuer":"easel"}', 'ERR_INVALID_URL'],
  ])('that leads to %s is said to be none', async (_what, status, type, body, reason) => {
    const server = await startSwitchableServer(
      async (_, response) => void response.writeHead(status, { 'content-type': type }).end(body),
    )
    onTestFinished(server.refuse)
    const { why, message } = await failureOf(providerOf(server.url).begin())
    expect(message).toContain(`OIDC_ISSUER is no OpenID Connect issuer (${reason}): `)
    expect(why).toBe('setup')
  })

  it.each([500, 503, 429])('that answers %i is said to be away', async (status) => {
    const server = await startSwitchableServer(async (_, response) => void response.writeHead(status).end())
    onTestFinished(server.refuse)
    const { why, message } = await failureOf(providerOf(server.url).begin())
    expect(message).toBe(`the identity provider does not answer (${status}): check OIDC_ISSUER and that it runs`)
    expect(why).toBe('away')
  })
})

describe('the subject', () => {
  it.each([
    ['a NUL', 'some\0body'],
    ['a lone surrogate', 'some\ud800body'],
    ['more characters than a subject may have', 'x'.repeat(256)],
  ])('with %s cannot be kept, and is said to be the provider’s fault', async (_what, sub) => {
    const oidc = await givenProvider()
    oidc.person = { sub }
    const { why, message } = await failureOf(signIn(oidc))
    expect([why, message]).toEqual([
      'setup',
      'what the identity provider answers cannot be used (the ID token has no "sub" that can be kept): correct its settings',
    ])
  })
})

describe('the address', () => {
  const email = 'ann@mail.test'
  const other = 'other@mail.test'
  const preferred_username = 'ann'
  const cases: [string, object, object, object, number][] = [
    [
      'is the ID token’s if it is complete there',
      { email, email_verified: true, preferred_username },
      { email: other },
      { email },
      0,
    ],
    ['is asked for at userinfo', {}, { email, email_verified: true }, { email }, 1],
    [
      'is asked for there if the ID token says nothing of its being verified',
      { email },
      { email, email_verified: true },
      { email },
      1,
    ],
    ['is that which is verified', { email }, { email: other, email_verified: true }, { email: other }, 1],
    ['is not verified by a flag of another answer', { email }, { email_verified: true }, { lacks: 'verification' }, 1],
    ['is not verified by a flag of the ID token', { email_verified: true }, { email }, { lacks: 'verification' }, 1],
    [
      'is not asked for again if it is said to be unverified',
      { email, email_verified: false, preferred_username },
      { email, email_verified: true },
      { lacks: 'verification' },
      0,
    ],
    ['is unverified if nothing says that it is', { email }, { email }, { lacks: 'verification' }, 1],
    ['may have a flag in words', { email, email_verified: 'true', preferred_username }, {}, { email }, 0],
    [
      'may be unverified in words',
      { email, email_verified: 'false', preferred_username },
      {},
      { lacks: 'verification' },
      0,
    ],
    ['may have the flag of Entra', { email, xms_edov: true, preferred_username }, {}, { email }, 0],
    ['may have the flag of Entra as a number', { email, xms_edov: '1', preferred_username }, {}, { email }, 0],
    [
      'is not verified by Entra’s flag against the standard one',
      { email, email_verified: false, xms_edov: true, preferred_username },
      {},
      { lacks: 'verification' },
      0,
    ],
    ['may be missing', {}, {}, { lacks: 'address' }, 1],
    ['must be text', { email: 7, email_verified: true, preferred_username }, {}, { lacks: 'address' }, 0],
    [
      'must be ASCII',
      { email: '\u212Aate@mail.test', email_verified: true, preferred_username },
      {},
      { lacks: 'address' },
      0,
    ],
    [
      'must have no NUL',
      { email: 'a\0@mail.test', email_verified: true, preferred_username },
      {},
      { lacks: 'address' },
      0,
    ],
  ]
  it.each(cases)('%s', async (_what, idToken, userInfo, expected, asked) => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann', ...userInfo }
    oidc.idToken = idToken as never
    const { name: _, ...profile } = await (await signIn(oidc)).profile()
    expect(profile).toEqual(expected)
    expect(oidc.userInfos).toBe(asked)
  })
})

it.each([
  [undefined, 'login'],
  [['none', 'login', 'select_account'], 'select_account'],
  [['none', 'login'], 'login'],
])(
  'a provider that takes the prompts %j is asked for "%s" where somebody is to say who they are',
  async (prompts, prompt) => {
    const oidc = await givenProvider({ discovery: { prompt_values_supported: prompts } })
    const promptOf = async (again?: boolean) =>
      new URL((await providerOf(oidc.issuer).begin(again)).url).searchParams.get('prompt')
    expect([await promptOf(true), await promptOf()]).toEqual([prompt, null])
  },
)

describe('the group of operators', () => {
  const inGroups = { group: 'admins', claim: 'groups' }
  const many = (before: number) => [...Array.from({ length: before }, (_, n) => `group ${n}`), 'admins']
  const isOperatorIn = async (oidc: OidcServer, operators?: Operators) =>
    (await signIn(oidc, undefined, undefined, operators)).isOperator()

  it.each<[string, object, object, boolean, number]>([
    ['is among those of the ID token', { groups: ['staff', 'admins'] }, {}, true, 0],
    ['may be the only one, as text', { groups: 'admins' }, {}, true, 0],
    ['is looked for at userinfo if the ID token names none', {}, { groups: ['admins'] }, true, 1],
    ['is looked for there if the ID token says null', { groups: null }, { groups: 'admins' }, true, 1],
    ['is not looked for there if the ID token names others', { groups: ['staff'] }, { groups: ['admins'] }, false, 0],
    ['is not there if neither names any', {}, {}, false, 1],
    ['is not a part of a name', { groups: ['admins2', ' admins', 'the admins'] }, {}, false, 0],
    ['is not the name in another case', { groups: ['Admins'] }, {}, false, 0],
    ['is not a part of a text', { groups: 'staff,admins' }, {}, false, 0],
    ['is in another claim', { roles: ['admins'] }, {}, false, 1],
    ['is the last one that is looked at', { groups: many(499) }, {}, true, 0],
    ['comes after all that are looked at', { groups: many(500) }, {}, false, 0],
  ])('%s', async (_what, idToken, userInfo, expected, asked) => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann', ...userInfo }
    oidc.idToken = idToken as never
    expect(await isOperatorIn(oidc, inGroups)).toBe(expected)
    expect(oidc.userInfos).toBe(asked)
  })

  it('is looked for in the claim that the operator names', async () => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann', roles: ['admins'] }
    expect(await isOperatorIn(oidc, { group: 'admins', claim: 'roles' })).toBe(true)
  })

  it.each<[string, string, object, boolean]>([
    ['within another claim', 'realm_access.roles', { realm_access: { roles: ['admins'] } }, true],
    ['within two', 'resource_access.easel.roles', { resource_access: { easel: { roles: ['staff'] } } }, false],
    ['in a claim with dots in its name', 'https://mail.test/roles', { 'https://mail.test/roles': ['admins'] }, true],
    ['among the names of an object', 'roles', { roles: { admins: { '1': 'mail.test' }, staff: {} } }, true],
    ['not where there is nothing of the path', 'realm_access.roles', { realm_access: 'none' }, false],
  ])('is looked for %s (%s)', async (_what, claim, idToken, expected) => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann' }
    oidc.idToken = idToken as never
    expect(await isOperatorIn(oidc, { group: 'admins', claim })).toBe(expected)
  })

  it('is not looked for if there is none', async () => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann', groups: ['admins', 'undefined'] }
    expect(await isOperatorIn(oidc)).toBeUndefined()
    expect(oidc.userInfos).toBe(0)
  })

  it('costs no second question at userinfo', async () => {
    const oidc = await givenProvider()
    oidc.person = { sub: 'ann', groups: ['admins'] }
    const { profile, isOperator } = await signIn(oidc, undefined, undefined, inGroups)
    await profile()
    expect([await isOperator(), oidc.userInfos]).toEqual([true, 1])
  })

  it('is asked for by a scope where the provider has one of the claim’s name', async () => {
    const scopeAt = async (options: Parameters<typeof startOidc>[0], operators?: Operators) => {
      const { url } = await providerOf((await givenProvider(options)).issuer, operators).begin()
      return new URL(url).searchParams.get('scope')
    }
    expect(await scopeAt({}, inGroups)).toBe('openid email profile groups')
    expect(await scopeAt({}, { group: 'admins', claim: 'roles' })).toBe('openid email profile')
    expect(await scopeAt({})).toBe('openid email profile')
    for (const scopes_supported of [undefined, ['openid'], 'groups', 7])
      expect(await scopeAt({ discovery: { scopes_supported } }, inGroups)).toBe('openid email profile')
  })
})
