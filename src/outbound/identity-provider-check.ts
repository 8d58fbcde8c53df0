/** Whether our settings and the identity provider's fit together, found out without anybody who signs in. */
import type { Configuration, ServerMetadata } from 'openid-client'
import { SignInFailed } from '../core/accounts/identity.js'
import { reasonOf } from '../lib/causes.js'
import { waysAt } from './client-secret.js'
import { authorizationFailure, namesClient, signInFailure } from './sign-in-failures.js'

interface Checked {
  readonly redirectUri: string
  readonly fetch: typeof fetch
  configuration(): Promise<Configuration>
  /** Asks with each way to show the secret. */
  asked<Answer>(ask: (config: Configuration) => Promise<Answer>): Promise<Answer>
  begin(): Promise<{ readonly url: string }>
}

const TIMEOUT_MS = 8000
/** Of no sign-in. A provider that refuses nothing but this has accepted the client and its secret. */
const MADE_UP_CODE = 'easel-checks-its-settings'
/** An ID token may be so much too old or too new. */
const TOLERATED_SECONDS = 30

/** A sentence for each thing that keeps people from signing in. */
export async function checkProvider(checked: Checked): Promise<readonly string[]> {
  const server = await checked.configuration().then((config) => config.serverMetadata(), messageOf)
  if (typeof server === 'string') return [server]
  const found = await Promise.all([
    documentProblems(server),
    keyProblems(checked, server),
    beginProblems(checked),
    secretProblems(checked),
  ])
  return [...new Set(found.flat())]
}

function documentProblems(server: ServerMetadata): string[] {
  const { token_endpoint_auth_methods_supported: methods, id_token_signing_alg_values_supported: algorithms } = server
  const problems: string[] = []
  if (waysAt(server).length === 0)
    problems.push(
      `the identity provider takes no client secret, but ${String(methods)}: allow OIDC_CLIENT_ID there to use client_secret_basic or client_secret_post`,
    )
  if (Array.isArray(algorithms) && !algorithms.some((it) => /^(RS|PS|ES|Ed|ML)/.test(String(it))))
    problems.push(
      `the identity provider signs ID tokens by ${algorithms.join(', ')}, not with a key that it publishes: give it a signing key, such as one for RS256`,
    )
  return problems
}

async function keyProblems({ fetch }: Checked, { jwks_uri }: ServerMetadata): Promise<string[]> {
  const problem = (reason: string) => [
    `the identity provider's keys cannot be read at ${jwks_uri} (${reason}), so no ID token is believed: correct its settings`,
  ]
  if (jwks_uri === undefined) return problem('the discovery document has no jwks_uri')
  try {
    const answer = await fetch(jwks_uri, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' })
    if (answer.status !== 200) return problem(`it answers ${answer.status}`)
    const { keys } = (await answer.json()) as { readonly keys?: unknown }
    if (!Array.isArray(keys) || keys.length === 0) return problem('there are none')
    return clockProblems(answer)
  } catch (error) {
    return problem(reasonOf(error))
  }
}

/** Goes to the provider as a browser does. Its page for signing in tells nothing; a refusal does. */
async function beginProblems({ begin, fetch, redirectUri }: Checked): Promise<string[]> {
  try {
    const { url } = await begin()
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' })
    await answer.body?.cancel()
    if ([400, 404].includes(answer.status))
      return [
        `the identity provider answers ${answer.status} to browsers that begin to sign in: register ${redirectUri} there as a redirect URI of OIDC_CLIENT_ID, and see that OIDC_CLIENT_ID is right`,
      ]
    const back = answer.headers.get('location') ?? ''
    if (!back.startsWith(redirectUri)) return []
    const { searchParams } = new URL(back)
    const [error, description = ''] = [searchParams.get('error'), searchParams.get('error_description') ?? undefined]
    const failure = error && authorizationFailure({ error, description }, undefined, redirectUri)
    return failure && failure.why !== 'refused' ? [failure.message] : []
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Some providers look at the code first: then this finds nothing. */
async function secretProblems({ asked, redirectUri }: Checked): Promise<string[]> {
  const { genericGrantRequest, randomPKCECodeVerifier } = await import('openid-client')
  const parameters = { code: MADE_UP_CODE, redirect_uri: redirectUri, code_verifier: randomPKCECodeVerifier() }
  try {
    await asked((config) => genericGrantRequest(config, 'authorization_code', parameters))
  } catch (error) {
    const failure = signInFailure(error, redirectUri)
    if (failure.why === 'away' || (failure.why === 'setup' && namesClient(error))) return [failure.message]
  }
  return []
}

/** By the Date of an answer that no cache has kept. */
function clockProblems({ headers }: Response): string[] {
  const seconds = Math.round((Date.parse(headers.get('date') ?? '') - Date.now()) / 1000)
  if (Number.isNaN(seconds) || headers.has('age') || Math.abs(seconds) <= TOLERATED_SECONDS) return []
  const is = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'}`
  return [
    `the identity provider's clock is ${is} that of this machine, so its ID tokens are not valid here: set both clocks`,
  ]
}

const messageOf = (error: unknown): string =>
  error instanceof SignInFailed ? error.message : `the identity provider cannot be checked (${reasonOf(error)})`
