/**
 * Whose fault it is that a sign-in at the identity provider failed. It is theirs who signed in only if the provider says so of
 * them, or if the browser brought back an answer of another sign-in. All else is the provider's fault, or that of our settings.
 */
import { SignInFailed } from '../core/accounts/identity.js'
import { reasonOf } from '../lib/causes.js'

/** What the libraries throw, as far as we look at it. */
interface Thrown {
  readonly code?: string
  readonly message?: string
  readonly cause?: unknown
  readonly error?: string
  readonly error_description?: string
  readonly status?: number
}

/** What the provider wrote about a request of ours. */
interface Refusal {
  readonly error: string
  readonly description: string
}

/** So the provider speaks of the person, or the person of themselves. Some providers have codes of their own for "canceled". */
const isOfThePerson = (error: string): boolean =>
  /^(access_denied|unmet_authentication_requirements|\w+_required)$/.test(error) ||
  (/^\w+$/.test(error) && error.includes('cancel'))
/** So it speaks of itself, for the moment. */
const AWAY = /^(server_error|temporarily_unavailable|slow_down)$/
/** So it speaks of the client. Auth0 says `access_denied` of a wrong secret, and some say nothing but 401. */
const OF_THE_CLIENT = /client|credential|secret|^access_denied$|^401$/i
const REDIRECT_URI = /(redirect|callback|reply).{0,3}(ur[il]|address)/i

const isAwayStatus = (status: number | undefined) => status === 429 || (status ?? 0) >= 500

const away = (reason: string, cause: unknown) =>
  new SignInFailed(
    'away',
    `the identity provider does not answer (${reason}): check OIDC_ISSUER and that it runs`,
    cause,
  )
const setup = (message: string, cause: unknown) => new SignInFailed('setup', message, cause)
const refused = (reason: string, cause: unknown) =>
  new SignInFailed('refused', `somebody was not signed in by the identity provider: ${reason}`, cause)

/** Of reading the provider's discovery document. */
export function discoveryFailure(error: unknown): SignInFailed {
  const other = otherIssuer(error)
  if (other !== undefined)
    return setup(`OIDC_ISSUER must be ${other}, exactly as the identity provider there calls itself`, error)
  const { code, cause } = error as Thrown
  const answer = cause instanceof Response ? cause : undefined
  const status = answer && answer.status !== 200 ? answer.status : undefined
  if (isAwayStatus(status)) return away(String(status), error)
  if (answer === undefined && isNoAnswer(code)) return away(reasonOf(error), error)
  return setup(
    `OIDC_ISSUER is no OpenID Connect issuer (${status ?? code}): OIDC_ISSUER/.well-known/openid-configuration must be the provider's discovery document`,
    error,
  )
}

/** Of what the browser brought back, before the provider is asked. */
export const browserFailure = (reason: string) => refused(`the browser: ${reason}`, undefined)

/** Of what the provider says, although all was done as it should be. */
export const unusable = (reason: string, cause?: unknown) =>
  setup(`what the identity provider answers cannot be used (${reason}): correct its settings`, cause)

/**
 * Of beginning a sign-in, of the token endpoint and of the ID token.
 * @param redirectUri where the provider sends browsers back to, for the sentence
 */
export function signInFailure(error: unknown, redirectUri: string): SignInFailed {
  if (error instanceof SignInFailed) return error
  const { code, cause } = error as Thrown
  const refusal = refusalIn(error)
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' && refusal) return authorizationFailure(refusal, error, redirectUri)
  if (isOfTheBrowser(error)) {
    const other = otherIssuer(error)
    // Somebody may try to pass one provider's answer off as another's.
    return refused(other ? `the answer is from the issuer ${other}, not from OIDC_ISSUER` : reasonOf(error), error)
  }
  if (refusal) return tokenFailure(refusal, error, redirectUri)
  if (cause instanceof Response) return answeredOtherwise(cause, error)
  if (isNoAnswer(code)) return away(reasonOf(error), error)
  return idTokenFailure(error)
}

/** Of userinfo. */
export function userInfoFailure(error: unknown, redirectUri: string): SignInFailed {
  const refusal = refusalIn(error)
  if (!refusal || isAwayStatus((error as Thrown).status)) return signInFailure(error, redirectUri)
  return setup(
    `userinfo refuses the access token that the identity provider has just given (${quotedRefusal(refusal)}): allow OIDC_CLIENT_ID the scopes openid, email and profile there`,
    error,
  )
}

/** Of what the provider sends a browser back with. */
export function authorizationFailure(refusal: Refusal, cause: unknown, redirectUri: string): SignInFailed {
  const said = quotedRefusal(refusal)
  if (isOfThePerson(refusal.error)) return refused(said, cause)
  if (AWAY.test(refusal.error)) return away(said, cause)
  return setup(`the identity provider begins no sign-in (${said}): ${correctionOf(refusal, redirectUri)}`, cause)
}

/** Whether the provider refused the client, and not only the code: it may take the same secret shown in another way. */
export function refusesClient(error: unknown): boolean {
  const refusal = refusalIn(error)
  return (
    refusal !== undefined && (error as Thrown).code !== 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' && !isOfTheCode(refusal)
  )
}

/** Whether the provider's words are about the client or its secret; others may be about a code that was made up. */
export function namesClient(error: unknown): boolean {
  const refusal = refusalIn(error)
  return refusal !== undefined && (OF_THE_CLIENT.test(refusal.error) || REDIRECT_URI.test(wordsOf(refusal)))
}

/** Whether it speaks of the code alone. */
const isOfTheCode = (refusal: Refusal) => refusal.error === 'invalid_grant' && !REDIRECT_URI.test(wordsOf(refusal))

function tokenFailure(refusal: Refusal, cause: unknown, redirectUri: string): SignInFailed {
  const said = quotedRefusal(refusal)
  // Who brings back a code a second time, too late, or one of somebody else.
  if (isOfTheCode(refusal)) return refused(said, cause)
  if (AWAY.test(refusal.error) || isAwayStatus((cause as Thrown).status)) return away(said, cause)
  return setup(`the identity provider gives no token (${said}): ${correctionOf(refusal, redirectUri)}`, cause)
}

/** What the operator corrects, by the provider's code and words. */
function correctionOf(refusal: Refusal, redirectUri: string): string {
  const { error } = refusal
  if (REDIRECT_URI.test(wordsOf(refusal)))
    return `register ${redirectUri} there as a redirect URI of OIDC_CLIENT_ID, or correct BASE_URL`
  if (/scope/i.test(error)) return 'allow OIDC_CLIENT_ID the scopes openid, email and profile there'
  if (/^(unsupported_|unauthorized_client$)/.test(error))
    return 'allow OIDC_CLIENT_ID the authorization code flow there, as a confidential client with a secret'
  if (OF_THE_CLIENT.test(error))
    return 'OIDC_CLIENT_SECRET is wrong or has expired, or OIDC_CLIENT_ID is wrong: make a new secret there, and set it exactly as it is shown'
  return 'compare the settings of OIDC_CLIENT_ID there with what docs/operators.md says about signing in'
}

/** A status or a type of content that was not expected. */
function answeredOtherwise(answer: Response, cause: unknown): SignInFailed {
  const type = answer.headers.get('content-type')?.split(';')[0] ?? 'no type'
  const said = `${answer.status}, ${type}${answer.url && ` at ${answer.url}`}`
  if (isAwayStatus(answer.status)) return away(said, cause)
  return setup(
    `the identity provider answers not as OpenID Connect has it (${said}): check its addresses in the discovery document, and what stands before it`,
    cause,
  )
}

function idTokenFailure(error: unknown): SignInFailed {
  const other = otherIssuer(error)
  if (other !== undefined)
    return setup(
      `the identity provider signs as ${other}, which is not the issuer in its discovery document: correct its settings`,
      error,
    )
  const algorithm = refusedAlgorithm(error)
  if (algorithm !== undefined)
    return setup(
      `the identity provider signs ID tokens by ${algorithm}, not with a key that it publishes: give it a signing key, such as one for RS256`,
      error,
    )
  const { code } = error as Thrown
  const reason = reasonOf(error)
  if (/\bJWE\b/.test(reason))
    return setup(
      'the identity provider encrypts ID tokens, which Easel does not read: choose no key for encryption for OIDC_CLIENT_ID there, only one for signing',
      error,
    )
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
    return setup(
      `the ID token is not valid now (${reason}): set the clock of this machine (it says ${new Date().toISOString()}) and that of the identity provider`,
      error,
    )
  if (code === 'OAUTH_KEY_SELECTION_FAILED' || /signature verification/.test(reason))
    return setup(
      `the ID token is signed with no key that the identity provider publishes at its jwks_uri (${reason}): correct its settings, or what caches the keys`,
      error,
    )
  const claim = claimIn(error)
  // A code of somebody else's sign-in brings their nonce.
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' && claim === 'nonce') return refused(reason, error)
  if (claim === 'aud' || claim === 'azp')
    return setup(`the ID token is for another client (${reason}): correct OIDC_CLIENT_ID, or its audience there`, error)
  return unusable(reason, error)
}

/** No answer came, or only a part of one. */
const isNoAnswer = (code: string | undefined) =>
  code === undefined || ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_PARSE_ERROR'].includes(code)

/** An error that the provider wrote, in the body or in WWW-Authenticate, or in the query of the browser. */
function refusalIn(thrown: unknown): Refusal | undefined {
  const { code, error, error_description = '', cause, status } = thrown as Thrown
  if (code === 'OAUTH_RESPONSE_BODY_ERROR' || code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return { error: String(error), description: error_description }
  if (code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE') {
    const [challenge] = cause as readonly { readonly parameters?: Readonly<Record<string, string>> }[]
    const { error, error_description = '' } = challenge?.parameters ?? {}
    return { error: error ?? String(status), description: error_description }
  }
  // Slack and GitHub write 200 over an error.
  const { error: written } = ((innermostCause(thrown) as { readonly body?: object })?.body ?? {}) as Thrown
  return typeof written === 'string' ? { error: written, description: '' } : undefined
}

/** Whether the error is about what the browser brought back. */
function isOfTheBrowser(thrown: unknown): boolean {
  const { parameters } = (innermostCause(thrown) ?? {}) as { readonly parameters?: unknown }
  return parameters instanceof URLSearchParams
}

function innermostCause(thrown: unknown): unknown {
  let cause: unknown = thrown
  while (cause instanceof Error) cause = cause.cause
  return cause
}

const claimIn = (thrown: unknown) => ((innermostCause(thrown) ?? {}) as { readonly claim?: string }).claim

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

const wordsOf = ({ error, description }: Refusal) => `${error} ${description}`

const quotedRefusal = ({ error, description }: Refusal) =>
  description === '' ? quoted(error) : `${quoted(error)}, ${quoted(description)}`

const quoted = (text: unknown): string => JSON.stringify(String(text).slice(0, 300))
