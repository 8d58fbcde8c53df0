import type { ClientAuth, Configuration } from 'openid-client'
import { z } from 'zod'
import type { IdentityProvider, Profile } from '../core/accounts/identity.js'
import { limitedFetch } from '../lib/limited-fetch.js'
import { isStorable } from '../lib/text.js'
import { providerFailures } from './provider-failures.js'

interface ProviderOptions {
  /** As the provider writes it, or the address of its discovery document. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
}

type Claims = Readonly<Record<string, unknown>>

const TIMEOUT_SECONDS = 8
/** Far above any document, set of keys or token. */
const fetchLimited = limitedFetch(1024 * 1024)
/** OpenID Connect allows subjects of so many characters. */
const MAX_SUBJECT_LENGTH = 255

/** Loaded by the first who signs in so. */
const load = () => import('openid-client')

/** OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function identityProvider({ issuer, clientId, clientSecret, redirectUri }: ProviderOptions): IdentityProvider {
  const { host } = new URL(issuer)
  const failures = providerFailures(host)
  let discovered: Promise<Configuration> | undefined
  const configuration = () => {
    // Not at the start: a provider that is away must not keep the server from serving. A failure is not kept.
    discovered ??= discover().catch((error) => {
      discovered = undefined
      throw failures.discovering(error)
    })
    return discovered
  }
  async function discover(): Promise<Configuration> {
    const client = await load()
    const { ClientSecretBasic, ClientSecretPost } = client
    const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)]
    const authentication: ClientAuth = (server, ...rest) => {
      // Basic is what a provider takes that does not say.
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
    }
    return client.discovery(new URL(issuer), clientId, undefined, authentication, {
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: (url, options) => fetchLimited(url, options as RequestInit),
      execute: [
        // Else a token would count that none of the provider's keys has signed.
        client.enableNonRepudiationChecks,
        // The configuration has seen to it that only localhost does without https.
        ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
      ],
    })
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
      const { authorizationCodeGrant, fetchUserInfo } = await load()
      const expected = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const answer = new URL(`${redirectUri}?${query}`)
      const tokens = await authorizationCodeGrant(config, answer, expected).catch(failures.signingIn)
      const claims = tokens.claims()
      if (!claims) return failures.signingIn(new Error('no ID token'))
      const { sub: subject } = claims
      const { issuer, userinfo_endpoint } = config.serverMetadata()
      if (subject === '' || subject.length > MAX_SUBJECT_LENGTH || ![subject, issuer].every(isStorable))
        return failures.signingIn(new Error('the ID token has no "sub" that can be kept'))
      const userInfo = async (): Promise<Claims> =>
        userinfo_endpoint === undefined
          ? {}
          : fetchUserInfo(config, tokens.access_token, subject).catch(failures.signingIn)
      return { identity: { issuer, subject }, profile: async () => profileOf(claims, userInfo) }
    },
  }
}

/** Many providers tell some of it at their userinfo endpoint only. */
async function profileOf(claims: Claims, userInfo: () => Promise<Claims>): Promise<Profile> {
  const isComplete = claims.email !== undefined && verification(claims) !== undefined && nameIn(claims) !== undefined
  const more = isComplete ? {} : await userInfo()
  // From one answer: each may speak of another address.
  const isSaid = claims.email !== undefined && verification(claims) !== undefined
  const { email, ...flags } = isSaid || more.email === undefined ? claims : more
  const name = nameIn(claims) ?? nameIn(more)
  if (typeof email !== 'string' || email === '') return { name, lacks: 'address' }
  if (!verification(flags)) return { name, lacks: 'verification' }
  // ASCII: Postgres writes some other letters like ASCII ones in lower case, so the address could be somebody else's.
  return emailAddress.safeParse(email).success ? { name, email } : { name, lacks: 'address' }
}

const emailAddress = z.email().max(254)

/**
 * Whether the provider has verified the address; undefined: it does not say. Some write the flag as text, and Entra has
 * one of its own, which says that the address is of a domain that its tenant has shown to own.
 */
function verification({ email_verified, xms_edov }: Claims): boolean | undefined {
  const flag = email_verified ?? xms_edov
  return flag === undefined || flag === null ? undefined : [true, 'true', 1, '1'].includes(flag as string)
}

const nameIn = ({ preferred_username, name }: Claims): string | undefined =>
  [preferred_username, name].find((it): it is string => typeof it === 'string' && it !== '')
