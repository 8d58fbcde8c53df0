import type { ClientAuth, Configuration } from 'openid-client'
import { z } from 'zod'
import { type IdentityProvider, type Profile, SignInFailed } from '../core/accounts/identity.js'
import { limitedFetch } from '../lib/limited-fetch.js'
import { isStorable } from '../lib/text.js'

interface ProviderOptions {
  /** As the provider writes it, or the address of its discovery document. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
  /** Whose group they are in, and the claim with somebody's groups. */
  readonly operators?: { readonly group: string; readonly claim: string } | undefined
}

type Claims = Readonly<Record<string, unknown>>

const TIMEOUT_SECONDS = 8
/** Far above any document, set of keys or token. */
const fetchLimited = limitedFetch(1024 * 1024)
/** OpenID Connect allows subjects of so many characters. */
const MAX_SUBJECT_LENGTH = 255
/** So many of somebody's groups are looked at. */
const MAX_GROUPS = 500

/** Loaded by the first who signs in so. */
const load = () => import('openid-client')

/** OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function identityProvider(options: ProviderOptions): IdentityProvider {
  const { issuer, clientId, clientSecret, redirectUri, operators } = options
  const { host } = new URL(issuer)
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

  // Some providers tell groups only to who asks for a scope of this name; others refuse a scope that they do not know.
  const scopesAt = (supported: unknown) =>
    operators && Array.isArray(supported) && supported.includes(operators.claim)
      ? `openid email profile ${operators.claim}`
      : 'openid email profile'

  return {
    host,

    async begin() {
      const config = await configuration()
      const client = await load()
      const verifier = client.randomPKCECodeVerifier()
      const checks = { state: client.randomState(), nonce: client.randomNonce(), verifier }
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: scopesAt(config.serverMetadata().scopes_supported),
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
      let asked: Promise<Claims> | undefined
      const userInfo = async (): Promise<Claims> => {
        if (userinfo_endpoint === undefined) return {}
        asked ??= fetchUserInfo(config, tokens.access_token, subject).catch(failures.signingIn)
        return asked
      }
      return {
        identity: { issuer, subject },
        profile: () => profileOf(claims, userInfo),
        async isOperator() {
          if (!operators) return undefined
          const { group, claim } = operators
          return isAmong(group, claims[claim] ?? (await userInfo())[claim])
        },
      }
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

/** @param groups may be anything: some providers write a list, others a text where there is one */
const isAmong = (group: string, groups: unknown): boolean =>
  Array.isArray(groups) ? groups.slice(0, MAX_GROUPS).includes(group) : groups === group

/** Codes that speak of the provider's server and not of who wanted to sign in. */
const FAULTS = [
  ...['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_PARSE_ERROR'],
  ...['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'],
]

interface Thrown {
  readonly name?: string
  readonly message?: string
  readonly code?: string
  readonly cause?: unknown
}

const doesNotAnswer = (cause: unknown) =>
  new SignInFailed('away', 'the identity provider does not answer: check OIDC_ISSUER and that it runs', cause)
const isSetUpWrong = (message: string, cause: unknown) => new SignInFailed('setup', message, cause)
const refused = (reason: string, cause: unknown) =>
  new SignInFailed('refused', `somebody was not signed in by the identity provider: ${reason}`, cause)

const failures = {
  /** Of reading the provider's discovery document. */
  discovering(error: unknown): SignInFailed {
    const other = otherIssuer(error)
    if (other !== undefined)
      return isSetUpWrong(`OIDC_ISSUER must be ${other}, exactly as the identity provider there calls itself`, error)
    const { code, cause } = error as Thrown
    const status = cause instanceof Response && cause.status !== 200 ? cause.status : undefined
    const isAway = code === undefined || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT'
    if (isAway || status === 429 || (status ?? 0) >= 500) return doesNotAnswer(error)
    return isSetUpWrong(
      `OIDC_ISSUER is no OpenID Connect issuer (${status ?? code}): OIDC_ISSUER/.well-known/openid-configuration must be the provider's discovery document`,
      error,
    )
  },

  /** Of everything after that. */
  signingIn(error: unknown): never {
    const { name, message = '', code } = error as Thrown
    const other = otherIssuer(error)
    if (other !== undefined && code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED')
      throw isSetUpWrong(
        `the identity provider signs as ${other}, which is not the issuer in its discovery document: correct its settings`,
        error,
      )
    const algorithm = refusedAlgorithm(error)
    if (algorithm !== undefined)
      throw isSetUpWrong(
        `the identity provider signs ID tokens by ${algorithm}, not with a key that it publishes: give it a signing key, such as one for RS256`,
        error,
      )
    // Somebody may try to pass one provider's answer off as another's.
    if (other !== undefined) throw refused(`the answer is from the issuer ${other}, not from OIDC_ISSUER`, error)
    const isFault = name === 'ClientError' && (code === undefined || FAULTS.includes(code))
    throw isFault || message === 'fetch failed' ? doesNotAnswer(error) : refused(code ?? message, error)
  },
}

/** The issuer that was found in place of the expected one, quoted; undefined: the error is about something else. */
function otherIssuer(thrown: unknown): string | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { attribute, body, claim, claims, parameters } = (error.cause ?? {}) as {
      readonly attribute?: string
      readonly body?: { readonly issuer?: unknown }
      readonly claim?: string
      readonly claims?: { readonly iss?: unknown }
      readonly parameters?: URLSearchParams
    }
    if (attribute === 'issuer') return quoted(body?.issuer)
    if (claim === 'iss') return quoted(claims?.iss)
    if (parameters?.has('iss') && error.message.includes('"iss"')) return quoted(parameters.get('iss'))
  }
  return undefined
}

/** By which the ID token is signed, quoted; undefined: the error is about something else. */
function refusedAlgorithm(thrown: unknown): string | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { header, alg = header?.alg } = (error.cause ?? {}) as {
      readonly header?: { readonly alg?: unknown }
      readonly alg?: unknown
    }
    if (alg !== undefined && /\balg(orithm)?\b/.test(error.message)) return quoted(alg)
  }
  return undefined
}

const quoted = (text: unknown): string => JSON.stringify(String(text).slice(0, 300))
