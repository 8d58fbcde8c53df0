/** An identity provider that answers by itself, since a real one would not answer so. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { identityProvider } from '../../src/outbound/identity-provider.js'
import { CALLBACK, CLIENT } from './oidc-server.js'
import { startSwitchableServer } from './switchable-server.js'

const own = generateKeyPairSync('rsa', { modulusLength: 2048 })

type Fields = Readonly<Record<string, unknown>>
type Answer = (response: ServerResponse, usual: string, request: IncomingMessage & { form: URLSearchParams }) => void

export interface Malice {
  /** What its discovery document, ID token (its header, its claims) and userinfo say instead; undefined: nothing. */
  readonly discovery?: Fields
  readonly header?: Fields
  readonly claims?: Fields
  readonly userInfo?: Fields
  readonly key?: KeyObject
  /** How it answers at a path. */
  readonly at?: Readonly<Record<string, Answer>>
  readonly secret?: string
  readonly warn?: (message: string) => void
}

/** How it answers with a status, in JSON unless another type is said. */
export const answering =
  (status: number, body: unknown = '', headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))

/** Starts it, with an Easel that signs people in there. */
export async function givenAnsweringProvider({
  discovery,
  header,
  claims,
  userInfo,
  key = own.privateKey,
  at = {},
  ...options
}: Malice) {
  let nonce: string | undefined
  const server = await startSwitchableServer(async (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const usual = JSON.stringify(answerTo(path))
    response.setHeader('content-type', 'application/json')
    const answer = at[path]
    const form = new URLSearchParams(answer && (await text(request)))
    if (answer) answer(response, usual, Object.assign(request, { form }))
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
    clientSecret: options.secret ?? CLIENT.secret,
    redirectUri: CALLBACK,
    operators: { group: 'admins', claim: 'groups' },
    ...(options.warn && { warn: options.warn }),
  })
  /** Signs somebody in. `back`: the query with which the browser comes back, after its state. */
  const signIn = async (back = 'code=code') => {
    const { checks } = await provider.begin()
    nonce = checks.nonce
    const { identity, profile, isOperator } = await provider.end(`${back}&state=${checks.state}`, checks)
    return { subject: identity.subject, ...(await profile()), isOperator: await isOperator() }
  }
  return { issuer, provider, signIn }
}

function signatureOf(text: string, alg: string, key: KeyObject): string {
  if (alg === 'none') return ''
  if (alg === 'HS256')
    return createHmac('sha256', own.publicKey.export({ type: 'spki', format: 'pem' }))
      .update(text)
      .digest('base64url')
  return sign('sha256', Buffer.from(text), key).toString('base64url')
}
