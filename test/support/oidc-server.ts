/** A real identity provider, which asks nobody for a password. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export const CLIENT = { id: 'easel', secret: 'secret:with/signs' }
export const CALLBACK = 'http://easel.test/sign-in/oidc/callback'
export const SIGNED_OUT = 'http://easel.test/signed-out'

type Claims = Readonly<Record<string, unknown>>

export interface Person extends Claims {
  readonly sub: string
}

interface Options {
  readonly port?: number
  /** What the issuer has after its host, such as `/realms/easel` or `/application/o/easel/`. */
  readonly path?: string
  /** What its discovery document says instead. */
  readonly discovery?: Claims
  readonly secret?: string
  /** Browsers may bring nothing but what was pushed (PAR). */
  readonly mustPush?: boolean
}

export interface OidcServer {
  readonly issuer: string
  readonly port: number
  /**
   * Who signs in next; nobody: they refuse. `idToken`: what the ID token says of them; the rest is only at userinfo. Of
   * their `groups` it speaks if it is asked for the scope of this name.
   */
  person: Person | undefined
  idToken: Claims
  /** How often userinfo was asked, and whether it is broken. */
  userInfos: number
  userInfoFails: boolean
  close(): Promise<void>
}

const SCOPED = [
  'email',
  'email_verified',
  'xms_edov',
  'preferred_username',
  'name',
  'roles',
  'realm_access',
  'resource_access',
  'https://mail.test/roles',
]

export async function startOidc({
  port = 0,
  path = '',
  discovery,
  secret = CLIENT.secret,
  mustPush = false,
}: Options = {}): Promise<OidcServer> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  const { port: listens } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${listens}${path}`
  const base = path.replace(/\/$/, '')
  const people = new Map<string, Person>()
  const self: OidcServer = {
    ...{ issuer, port: listens, person: undefined, idToken: {}, userInfos: 0, userInfoFails: false },
    close() {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: secret,
        redirect_uris: [CALLBACK],
        post_logout_redirect_uris: [SIGNED_OUT],
      },
    ],
    claims: { email: SCOPED, groups: ['groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['test'] },
    features: {
      devInteractions: { enabled: false },
      pushedAuthorizationRequests: { enabled: mustPush, requirePushedAuthorizationRequests: mustPush },
    },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async (use: string) => (use === 'id_token' ? { sub, ...self.idToken } : people.get(sub)),
    }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `${base}/interaction/${uid}` },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
  })
  const answer = provider.callback()
  server.on('request', async (request: IncomingMessage & { originalUrl?: string }, response) => {
    request.originalUrl = request.url ?? ''
    request.url = request.originalUrl.slice(base.length)
    if (!request.originalUrl.startsWith(`${base}/`)) return response.writeHead(404).end()
    if (request.url === '/.well-known/openid-configuration' && discovery) {
      const { end } = response
      response.end = ((body: Buffer) => {
        const changed = JSON.stringify({ ...JSON.parse(String(body)), ...discovery })
        return end.call(response.setHeader('content-length', Buffer.byteLength(changed)), changed, 'utf8')
      }) as typeof end
    }
    if (request.url === '/me') {
      self.userInfos++
      if (self.userInfoFails) return response.writeHead(500).end()
    }
    if (!request.url.startsWith('/interaction/')) return answer(request, response)
    const { prompt, params } = await provider.interactionDetails(request, response)
    const { person } = self
    if (!person) return provider.interactionFinished(request, response, { error: 'access_denied' })
    if (prompt.name === 'login') {
      people.set(person.sub, person)
      return provider.interactionFinished(request, response, { login: { accountId: person.sub } })
    }
    const grant = new provider.Grant({ accountId: person.sub, clientId: params.client_id })
    grant.addOIDCScope('openid email profile groups')
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  })
  return self
}

/** Goes to the provider as a browser does, and resolves to where it sends the browser back. */
export async function wayThrough(issuer: string, begin: string): Promise<string> {
  const { origin } = new URL(issuer)
  const jar = new Map<string, string>()
  let at = begin
  for (let hops = 0; at.startsWith(origin) && hops < 10; hops++) {
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      jar.set(name, value)
    }
    at = new URL(answer.headers.get('location') ?? '', at).href
  }
  return at
}
