/** What openid-client throws: a sentence for the operator's log, and one for who wanted to sign in. */
import { SignInFailed } from '../core/accounts/identity.js'

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

/** @param host how people know the provider */
export function providerFailures(host: string) {
  const doesNotAnswer = (cause: unknown) =>
    new SignInFailed(503, `${host} does not answer. Sign in another way, or try again in a moment.`, {
      message: 'the identity provider does not answer: check OIDC_ISSUER and that it runs',
      cause,
    })
  const isSetUpWrong = (message: string, cause: unknown) =>
    new SignInFailed(
      503,
      `Signing in with ${host} is not set up correctly. Sign in another way, or ask the operator.`,
      {
        message,
        cause,
      },
    )
  const refused = (reason: string, cause: unknown) =>
    new SignInFailed(401, `${host} did not sign you in. Begin again, or sign in another way.`, {
      message: `somebody was not signed in by the identity provider: ${reason}`,
      cause,
    })

  return {
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
