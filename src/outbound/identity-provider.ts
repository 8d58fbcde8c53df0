import type { ClientAuth, Configuration } from 'openid-client'
import { type Identity, type IdentityProvider, SignInRefused } from '../account/identity.js'
import { AppError } from '../errors.js'

interface ProviderOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
}

const TIMEOUT_SECONDS = 8
/** Codes of openid-client that speak of the provider's server and not of who wanted to sign in. */
const FAULTS = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON']

/** Loaded by the first who signs in so. */
const load = () => import('openid-client')

/** OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function identityProvider({ issuer, clientId, clientSecret, redirectUri }: ProviderOptions): IdentityProvider {
  const { host } = new URL(issuer)
  const unavailable = (cause: unknown) =>
    new AppError(
      'unavailable',
      `${host} does not answer. Sign in another way, or try again in a moment.`,
      {},
      { cause },
    )
  let discovered: Promise<Configuration> | undefined
  const configuration = () => {
    // Not at the start: a provider that is away must not keep the server from serving. A failure is not kept.
    discovered ??= discover().catch((error) => {
      discovered = undefined
      throw unavailable(error)
    })
    return discovered
  }
  async function discover(): Promise<Configuration> {
    const { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, discovery } = await load()
    const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)]
    const authentication: ClientAuth = (server, ...rest) => {
      // Basic is what a provider takes that does not say.
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
    }
    // The configuration has seen to it that only localhost does without https.
    const execute = issuer.startsWith('http:') ? [allowInsecureRequests] : []
    return discovery(new URL(issuer), clientId, undefined, authentication, { timeout: TIMEOUT_SECONDS, execute })
  }

  return {
    host,

    async begin() {
      const config = await configuration()
      const client = await load()
      const verifier = client.randomPKCECodeVerifier()
      const checks = { state: client.randomState(), nonce: client.randomNonce(), verifier }
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, checks }
    },

    async end(query, { state, nonce, verifier }) {
      const config = await configuration()
      const { authorizationCodeGrant, ClientError, fetchUserInfo } = await load()
      const expected = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      try {
        const tokens = await authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), expected)
        const claims = tokens.claims()
        if (!claims) throw new SignInRefused('no ID token')
        const { userinfo_endpoint, issuer } = config.serverMetadata()
        // Many providers tell the address there only.
        const more =
          claims.email === undefined && userinfo_endpoint !== undefined
            ? await fetchUserInfo(config, tokens.access_token, claims.sub)
            : {}
        return identityOf(issuer, claims.sub, { ...more, ...claims })
      } catch (error) {
        if (error instanceof SignInRefused) throw error
        const { message, code } = error as Error & { readonly code?: string }
        const isFault = error instanceof ClientError && (code === undefined || FAULTS.includes(code))
        if (isFault || (error instanceof TypeError && message === 'fetch failed')) throw unavailable(error)
        throw new SignInRefused(code ?? message, { cause: error })
      }
    },
  }
}

function identityOf(issuer: string, subject: string, claims: Readonly<Record<string, unknown>>): Identity {
  const { email, email_verified, preferred_username, name } = claims
  // ASCII: Postgres writes some other letters like ASCII ones in lower case, so the address could be somebody else's.
  const isUsable = email_verified === true && typeof email === 'string' && /^[!-~]{3,254}$/.test(email)
  const called = [preferred_username, name].find((it) => typeof it === 'string' && it !== '')
  return { issuer, subject, email: isUsable ? email : undefined, name: called as string | undefined }
}
