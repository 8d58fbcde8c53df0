import { expect, it, onTestFinished } from 'vitest'
import { SignInFailed } from '../../src/core/accounts/identity.js'
import { identityProvider } from '../../src/outbound/identity-provider.js'
import { answering, givenAnsweringProvider, type Malice } from '../support/answering-provider.js'
import { CALLBACK, CLIENT, startOidc, wayThrough } from '../support/oidc-server.js'

/** Whose fault a sign-in is said to be, and what the operator's log is told. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('somebody was signed in'),
    (error) => {
      expect(error).toBeInstanceOf(SignInFailed)
      const { why, message } = error as SignInFailed
      return { why, message }
    },
  )

/** The sentences of the check at the start. */
const problemsAt = async (malice: Malice) => (await givenAnsweringProvider(malice)).provider.check()

const WRONG_SECRET = 'OIDC_CLIENT_SECRET is wrong or has expired'
const FLOW = 'allow OIDC_CLIENT_ID the authorization code flow there'
const REGISTER = `register ${CALLBACK} there as a redirect URI`

it.each<[string, Malice['at'], string]>([
  ['a wrong secret', { '/token': answering(401, { error: 'invalid_client', error_description: 'no' }) }, WRONG_SECRET],
  ['a wrong secret with status 400', { '/token': answering(400, { error: 'invalid_client' }) }, WRONG_SECRET],
  [
    'an expired secret of Entra',
    {
      '/token': answering(401, {
        error: 'invalid_client',
        error_description: 'AADSTS7000222: The provided client secret keys are expired.',
      }),
    },
    'AADSTS7000222',
  ],
  [
    'a wrong secret of Auth0',
    { '/token': answering(401, { error: 'access_denied', error_description: 'Unauthorized' }) },
    WRONG_SECRET,
  ],
  [
    'a wrong secret, said in a header alone',
    { '/token': answering(401, '', { 'www-authenticate': 'Basic realm="id"' }) },
    WRONG_SECRET,
  ],
  [
    'a wrong secret, said in a header with a code',
    { '/token': answering(401, '', { 'www-authenticate': 'Basic realm="id", error="invalid_client"' }) },
    WRONG_SECRET,
  ],
  ['a wrong secret under 200', { '/token': answering(200, { ok: false, error: 'bad_client_secret' }) }, WRONG_SECRET],
  ['a client that may not do this', { '/token': answering(400, { error: 'unauthorized_client' }) }, FLOW],
  ['a grant that is not allowed', { '/token': answering(400, { error: 'unsupported_grant_type' }) }, FLOW],
  [
    'another address to go back to',
    { '/token': answering(400, { error: 'invalid_grant', error_description: 'redirect_uri mismatch' }) },
    REGISTER,
  ],
  [
    'a scope that is not allowed',
    { '/token': answering(400, { error: 'invalid_scope' }) },
    'allow OIDC_CLIENT_ID the scopes',
  ],
  [
    'something that is missing',
    { '/token': answering(400, { error: 'invalid_request', error_description: 'DPoP' }) },
    '"DPoP"',
  ],
  [
    'a page of what stands before it',
    { '/token': answering(403, '<p>blocked', { 'content-type': 'text/html' }) },
    '403, text/html at http',
  ],
  ['no such page', { '/token': answering(404, 'no', { 'content-type': 'text/plain' }) }, '404, text/plain'],
  [
    'a page instead of a token',
    { '/token': answering(200, '<p>hello', { 'content-type': 'text/html' }) },
    '200, text/html',
  ],
  ['no ID token', { '/token': answering(200, { access_token: 'a', token_type: 'bearer' }) }, '"id_token"'],
  ['no keys at its address', { '/jwks': answering(404) }, '404'],
  ['an empty list of keys', { '/jwks': answering(200, { keys: [] }) }, 'no applicable keys found'],
  [
    'a refusal of userinfo',
    { '/me': answering(401, '', { 'www-authenticate': 'Bearer error="invalid_token"' }) },
    'userinfo refuses the access token',
  ],
  [
    'a refusal of userinfo for its scope',
    { '/me': answering(403, '', { 'www-authenticate': 'Bearer error="insufficient_scope"' }) },
    'insufficient_scope',
  ],
  ['a refusal of userinfo without a word', { '/me': answering(403, '') }, '403'],
])('%s is said to be a fault of the setup, with what to correct', async (_what, at = {}, told) => {
  const { signIn } = await givenAnsweringProvider({ at })
  const { why, message } = await failureOf(signIn())
  expect(message).toContain(told)
  expect(why).toBe('setup')
})

const AN_HOUR_AGO = Math.floor(Date.now() / 1000) - 3600

it.each<[string, Malice, string]>([
  ['a clock that is late', { claims: { exp: AN_HOUR_AGO } }, 'set the clock of this machine'],
  ['a clock that is early', { claims: { nbf: AN_HOUR_AGO + 7200 } }, 'set the clock of this machine'],
  ['an ID token for another client', { claims: { aud: 'another' } }, 'correct OIDC_CLIENT_ID'],
  ['a key that is not published', { header: { kid: 'rotated' } }, 'no key that the identity provider publishes'],
  [
    'an encrypted ID token',
    { at: { '/token': answering(200, { access_token: 'a', token_type: 'bearer', id_token: 'a.b.c.d.e' }) } },
    'choose no key for encryption for OIDC_CLIENT_ID',
  ],
  ['an ID token without a time', { claims: { iat: undefined } }, '"iat"'],
  ['a subject that is a number', { claims: { sub: 7 } }, '"sub"'],
])('%s is said to be a fault of the setup, with what to correct', async (_what, malice, told) => {
  const { signIn } = await givenAnsweringProvider(malice)
  const { why, message } = await failureOf(signIn())
  expect(message).toContain(told)
  expect(why).toBe('setup')
})

it.each<[number, string]>([
  [500, 'text/html'],
  [502, 'text/html'],
  [503, 'application/json'],
  [429, 'application/json'],
])('a token endpoint, userinfo or keys that answer %i (%s) are said to be away', async (status, type) => {
  for (const path of ['/token', '/me', '/jwks']) {
    const { signIn } = await givenAnsweringProvider({
      at: { [path]: answering(status, '{}', { 'content-type': type }) },
    })
    const { why, message } = await failureOf(signIn())
    expect(message).toContain(`the identity provider does not answer (${status}`)
    expect(why).toBe('away')
  }
})

it.each<[string, string, 'setup' | 'away' | 'refused']>([
  ['unauthorized_client', FLOW, 'setup'],
  ['unsupported_response_type', FLOW, 'setup'],
  ['invalid_scope', 'the scopes', 'setup'],
  ['invalid_request', 'compare the settings', 'setup'],
  ['invalid_request&error_description=redirect_uri%20is%20not%20registered', REGISTER, 'setup'],
  ['invalid_request&error_description=PKCE%20is%20required', '"PKCE is required"', 'setup'],
  ['invalid_client', WRONG_SECRET, 'setup'],
  ['invalid_resource', 'compare the settings', 'setup'],
  ['a_code_of_its_own', '"a_code_of_its_own"', 'setup'],
  ['server_error', 'does not answer', 'away'],
  ['temporarily_unavailable', 'does not answer', 'away'],
  ['access_denied', 'somebody was not signed in', 'refused'],
  ['login_required', 'somebody was not signed in', 'refused'],
  ['consent_required', 'somebody was not signed in', 'refused'],
  ['interaction_required', 'somebody was not signed in', 'refused'],
  ['account_selection_required', 'somebody was not signed in', 'refused'],
  ['user_cancelled_login', 'somebody was not signed in', 'refused'],
])('a browser that comes back with the error %s: %s', async (error, told, expected) => {
  const { signIn } = await givenAnsweringProvider({})
  const { why, message } = await failureOf(signIn(`error=${error}`))
  expect(message).toContain(told)
  expect(why).toBe(expected)
})

it.each<[string, string]>([
  ['nothing', 'x=1'],
  ['two codes', 'code=a&code=b'],
  ['another state', 'code=a&state=b'],
])('a browser that brings back %s is refused', async (_what, back) => {
  const { signIn } = await givenAnsweringProvider({})
  expect((await failureOf(signIn(back))).why).toBe('refused')
})

it('a code that the provider does not know is the fault of who brings it', async () => {
  const { signIn } = await givenAnsweringProvider({ at: { '/token': answering(400, { error: 'invalid_grant' }) } })
  expect((await failureOf(signIn())).why).toBe('refused')
})

it('no secret stands in what the operator is told', async () => {
  const { signIn, provider } = await givenAnsweringProvider({
    secret: 'a-secret-of-ours',
    at: { '/token': answering(401, { error: 'invalid_client' }) },
  })
  const told = [(await failureOf(signIn())).message, ...(await provider.check())]
  expect(told.join()).not.toContain('a-secret-of-ours')
})

/** A provider that compares what Basic holds as it is. */
const takingPlainBasic =
  (secret: string): NonNullable<Malice['at']>[string] =>
  (response, usual, { headers }) => {
    const isRight = headers.authorization === `Basic ${Buffer.from(`${CLIENT.id}:${secret}`).toString('base64')}`
    if (isRight) response.end(usual)
    else response.writeHead(401).end('{"error":"invalid_client"}')
  }

/** One that takes the secret in the body alone. */
const takingPost =
  (secret: string): NonNullable<Malice['at']>[string] =>
  (response, usual, { form }) =>
    form.get('client_secret') === secret
      ? response.end(usual)
      : response.writeHead(401).end('{"error":"invalid_client"}')

it.each(['a+b/c=', '100%', 'a:b', 'with-a_dash.and~more', 'two words', 'ünï'])(
  'a secret like "%s" is shown as the provider takes it: in the body, or as it is in the header',
  async (secret) => {
    for (const take of [takingPlainBasic, takingPost]) {
      const { signIn, provider } = await givenAnsweringProvider({ secret, at: { '/token': take(secret) } })
      expect(await provider.check()).toEqual([])
      expect(await signIn()).toMatchObject({ subject: 'somebody' })
    }
  },
)

it('a secret is shown encoded in the header to a provider that takes it so alone', async () => {
  const secret = 'a+b/c=:%'
  const oidc = await startOidc({ secret })
  onTestFinished(() => oidc.close())
  const provider = identityProvider({
    issuer: oidc.issuer,
    clientId: CLIENT.id,
    clientSecret: secret,
    redirectUri: CALLBACK,
  })
  expect(await provider.check()).toEqual([])
})

it('asks the next time in the way that was taken', async () => {
  let asked = 0
  const take = takingPost('a+b')
  const { signIn } = await givenAnsweringProvider({
    secret: 'a+b',
    at: {
      '/token': (...given) => {
        asked++
        take(...given)
      },
    },
  })
  await signIn()
  expect(asked).toBe(2)
  await signIn()
  expect(asked).toBe(3)
})

it('takes a secret for signing where the provider takes no other', async () => {
  const { signIn } = await givenAnsweringProvider({
    discovery: { token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_jwt'] },
    at: {
      '/token': (response, usual, { form }) =>
        form.has('client_assertion') ? response.end(usual) : response.writeHead(401).end('{"error":"invalid_client"}'),
    },
  })
  expect(await signIn()).toMatchObject({ subject: 'somebody' })
})

it('pushes what it asks for where the provider demands it', async () => {
  const oidc = await startOidc({ mustPush: true })
  onTestFinished(() => oidc.close())
  const right = { issuer: oidc.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, redirectUri: CALLBACK }
  const provider = identityProvider(right)
  oidc.person = { sub: 'somebody' }
  const { url, checks } = await provider.begin()
  expect(new URL(url).searchParams.has('state')).toBe(false)
  const back = await wayThrough(oidc.issuer, url)
  expect((await provider.end(back.split('?')[1] ?? '', checks)).identity.subject).toBe('somebody')
  const { why, message } = await failureOf(identityProvider({ ...right, clientSecret: 'expired' }).begin())
  expect([why, message]).toEqual(['setup', expect.stringContaining(WRONG_SECRET)])
})

it.each<[string, unknown, unknown, object]>([
  ['in lists', ['ann@mail.test'], [true], { email: 'ann@mail.test', name: 'Ann' }],
  ['as text', 'ann@mail.test', 'true', { email: 'ann@mail.test', name: 'Ann' }],
  ['in a list of several', ['ann@mail.test', 'eve@mail.test'], true, { lacks: 'address' }],
])('an address and its flag may come %s', async (_what, email, email_verified, expected) => {
  const { signIn } = await givenAnsweringProvider({ claims: { email, email_verified, preferred_username: ['Ann'] } })
  expect(await signIn()).toMatchObject(expected)
})

it('says once that the claim with the groups is missing', async () => {
  const warned: string[] = []
  const { signIn } = await givenAnsweringProvider({ warn: (message) => warned.push(message) })
  expect(await signIn()).toMatchObject({ isOperator: false })
  await signIn()
  expect(warned).toEqual([expect.stringContaining('named no groups (claim "groups")')])
})

it('takes nobody’s role who is in more groups than Entra names', async () => {
  const { signIn } = await givenAnsweringProvider({ claims: { _claim_names: { groups: 'src1' } } })
  expect((await signIn()).isOperator).toBeUndefined()
})

it('finds nothing at the start where all is right, and shows the provider no code of anybody', async () => {
  const codes: unknown[] = []
  const at: Malice['at'] = {
    '/token': (response, _usual, { form }) => {
      codes.push(form.get('code'))
      response.writeHead(400).end('{"error":"invalid_grant"}')
    },
  }
  expect(await problemsAt({ at })).toEqual([])
  expect(codes).toEqual(['easel-checks-its-settings'])
})

it.each<[string, Malice, string]>([
  ['a wrong secret', { at: { '/token': answering(401, { error: 'invalid_client' }) } }, WRONG_SECRET],
  ['an address that is not registered', { at: { '/authorize': answering(400, 'Invalid redirect_uri') } }, REGISTER],
  ['a client that does not exist', { at: { '/authorize': answering(404) } }, 'see that OIDC_CLIENT_ID is right'],
  [
    'a scope that is not allowed',
    { at: { '/authorize': answering(302, '', { location: `${CALLBACK}?error=invalid_scope` }) } },
    'the scopes',
  ],
  [
    'another flow',
    { at: { '/authorize': answering(303, '', { location: `${CALLBACK}?error=unauthorized_client` }) } },
    FLOW,
  ],
  ['no keys', { at: { '/jwks': answering(500) } }, 'keys cannot be read'],
  ['an empty list of keys', { at: { '/jwks': answering(200, { keys: [] }) } }, 'there are none'],
  [
    'signing by HS256 alone',
    { discovery: { id_token_signing_alg_values_supported: ['HS256'] } },
    'give it a signing key',
  ],
  [
    'no way for a secret',
    { discovery: { token_endpoint_auth_methods_supported: ['private_key_jwt'] } },
    'takes no client secret, but private_key_jwt',
  ],
  [
    'a token endpoint that is away',
    { at: { '/token': answering(502, '', { 'content-type': 'text/html' }) } },
    'does not answer (502',
  ],
  [
    'another clock',
    {
      at: {
        '/jwks': (response, usual) =>
          response.setHeader('date', new Date(Date.now() - 600_000).toUTCString()).end(usual),
      },
    },
    's behind that of this machine',
  ],
  ['no address of a page to sign in', { discovery: { authorization_endpoint: undefined } }, 'authorization_endpoint'],
  ['another issuer', { discovery: { issuer: 'https://other.example' } }, 'OIDC_ISSUER must be "https://other.example"'],
])('says at the start of %s', async (_what, malice, told) => {
  expect((await problemsAt(malice)).join('\n')).toContain(told)
})

it.each<[string, Malice]>([
  [
    'that wants to look at a code first',
    { at: { '/token': answering(400, { error: 'invalid_request', error_description: 'malformed code' }) } },
  ],
  ['whose page redirects to its own', { at: { '/authorize': answering(302, '', { location: '/login' }) } }],
  [
    'that asks for somebody to sign in',
    { at: { '/authorize': answering(302, '', { location: `${CALLBACK}?error=login_required` }) } },
  ],
  ['that keeps machines off its page', { at: { '/authorize': answering(403, 'no robots') } }],
])('says nothing at the start of a provider %s', async (_what, malice) => {
  expect(await problemsAt(malice)).toEqual([])
})

it('says of a real provider at the start that the secret, or the address to go back to, is another', async () => {
  const oidc = await startOidc()
  onTestFinished(() => oidc.close())
  const right = { issuer: oidc.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, redirectUri: CALLBACK }
  const checked = (changed: Partial<typeof right>) => identityProvider({ ...right, ...changed }).check()
  expect(await checked({})).toEqual([])
  expect((await checked({ clientSecret: 'expired' })).join()).toContain(WRONG_SECRET)
  expect((await checked({ clientId: 'nobody' })).join()).toContain('OIDC_CLIENT_ID')
  const elsewhere = 'http://other.test/sign-in/oidc/callback'
  expect((await checked({ redirectUri: elsewhere })).join()).toContain(`register ${elsewhere} there`)
  await oidc.close()
  expect((await checked({})).join()).toMatch(/^the identity provider does not answer \(.+\): check OIDC_ISSUER/)
})

it('is over once the provider is set up otherwise, without a restart', async () => {
  const discovery = { id_token_signing_alg_values_supported: ['ES256'] }
  const { signIn } = await givenAnsweringProvider({ discovery })
  expect((await failureOf(signIn())).why).toBe('setup')
  discovery.id_token_signing_alg_values_supported = ['RS256']
  expect((await signIn()).subject).toBe('somebody')
})
