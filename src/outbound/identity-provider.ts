import type { Configuration, ServerMetadata } from 'openid-client'
import type { IdentityProvider, Profile } from '../core/accounts/identity.js'
import { emailAddressIn } from '../lib/email-address.js'
import { limitedFetch } from '../lib/limited-fetch.js'
import { isStorable } from '../lib/text.js'
import { showSecret, waysAt } from './client-secret.js'
import { checkProvider } from './identity-provider-check.js'
import {
  browserFailure,
  discoveryFailure,
  refusesClient,
  signInFailure,
  unusable,
  userInfoFailure,
} from './sign-in-failures.js'

interface ProviderOptions {
  /** As the provider writes it, or the address of its discovery document. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
  /** Whose group they are in, and the claim with somebody's groups. */
  readonly operators?: { readonly group: string; readonly claim: string } | undefined
  /** Tells the operator what nobody who signs in is told. */
  readonly warn?: (message: string) => void
}

export interface CheckedProvider extends IdentityProvider {
  /** Asks the provider whether the settings here and there fit together; a sentence for each that does not. */
  check(): Promise<readonly string[]>
}

type Claims = Readonly<Record<string, unknown>>

const TIMEOUT_SECONDS = 8
/** How long the discovery document is believed, of which the addresses may change. */
const KEPT_MS = 10 * 60_000
/** Far above any document, set of keys or token. */
const fetchLimited = limitedFetch(1024 * 1024)
/** OpenID Connect allows subjects of so many characters. */
const MAX_SUBJECT_LENGTH = 255
/** So many of somebody's groups are looked at. */
const MAX_GROUPS = 500

/** Loaded by the check at the start, or by the first who signs in so. */
const load = () => import('openid-client')

/** OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function identityProvider(options: ProviderOptions): CheckedProvider {
  const { issuer, clientId, clientSecret, redirectUri, operators, warn } = options
  const { host } = new URL(issuer)
  /** The provider's discovery document, with each way to show it our secret. */
  const discovered = new Map<number, { readonly at: number; readonly config: Promise<Configuration> }>()
  /** The way that the provider took last. */
  let taken = 0
  let saidThatNone = false

  const configuration = (way: number) => {
    // Not at the start: a provider that is away must not keep the server from serving.
    const kept = discovered.get(way)
    if (kept && Date.now() - kept.at < KEPT_MS) return kept.config
    const config = discover(way).catch((error) => {
      // A failure is not kept.
      discovered.delete(way)
      throw discoveryFailure(error)
    })
    discovered.set(way, { at: Date.now(), config })
    return config
  }

  async function discover(way: number): Promise<Configuration> {
    const client = await load()
    return client.discovery(new URL(issuer), clientId, undefined, showSecret(client, clientSecret, way), {
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

  /** Asks with the way that worked last, and with the others if the provider refuses the client. */
  async function asked<Answer>(ask: (config: Configuration) => Promise<Answer>): Promise<Answer> {
    const first = taken
    const config = await configuration(first)
    try {
      return await ask(config)
    } catch (error) {
      if (!refusesClient(error)) throw error
      const { length } = waysAt(config.serverMetadata())
      for (let way = 0; way < length; way++) {
        if (way === first % length) continue
        try {
          const answer = await ask(await configuration(way))
          taken = way
          return answer
        } catch (later) {
          if (refusesClient(later)) continue
          // It speaks of the code, and so has accepted the client.
          taken = way
          throw later
        }
      }
      throw error
    }
  }

  // Some providers tell groups only to who asks for a scope of this name; others refuse a scope that they do not know.
  const scopesAt = (supported: unknown) =>
    operators && Array.isArray(supported) && supported.includes(operators.claim)
      ? `openid email profile ${operators.claim}`
      : 'openid email profile'

  const failed = (error: unknown): never => {
    const failure = signInFailure(error, redirectUri)
    // The provider may have changed its keys, algorithms or addresses since: the next sign-in reads them anew.
    if (failure.why === 'setup') discovered.clear()
    throw failure
  }

  async function begin(again = false) {
    const config = await configuration(taken)
    const client = await load()
    const verifier = client.randomPKCECodeVerifier()
    const checks = { state: client.randomState(), nonce: client.randomNonce(), verifier }
    const parameters = {
      redirect_uri: redirectUri,
      scope: scopesAt(config.serverMetadata().scopes_supported),
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(again && { prompt: choosesAccount(config.serverMetadata()) ? 'select_account' : 'login' }),
    }
    const { require_pushed_authorization_requests: mustPush } = config.serverMetadata()
    const url = await (mustPush
      ? asked((config) => client.buildAuthorizationUrlWithPAR(config, parameters))
      : Promise.resolve().then(() => client.buildAuthorizationUrl(config, parameters))
    ).catch(failed)
    return { url: url.href, checks }
  }

  return {
    host,
    begin,
    check: () =>
      checkProvider({ redirectUri, fetch: fetchLimited, configuration: () => configuration(taken), asked, begin }),

    async signOutUrl(idToken, backTo) {
      const config = await configuration(taken)
      const parameters = {
        ...(idToken && { id_token_hint: idToken }),
        ...(backTo && { post_logout_redirect_uri: backTo }),
      }
      return (await load()).buildEndSessionUrl(config, parameters).href
    },

    async end(query, { state, nonce, verifier }) {
      const answered = new URLSearchParams(query)
      const isOne = (name: string) => answered.getAll(name).length === 1
      if (!(isOne('state') && (isOne('code') || isOne('error')))) throw browserFailure('it brought no answer back')
      const { authorizationCodeGrant, fetchUserInfo } = await load()
      const expected = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const answer = new URL(`${redirectUri}?${query}`)
      const { config, tokens } = await asked(async (config) => ({
        config,
        tokens: await authorizationCodeGrant(config, answer, expected),
      })).catch(failed)
      const claims = tokens.claims()
      if (!claims) throw unusable('there is no ID token')
      const { sub: subject } = claims
      const { issuer, userinfo_endpoint, end_session_endpoint } = config.serverMetadata()
      if (subject === '' || subject.length > MAX_SUBJECT_LENGTH || ![subject, issuer].every(isStorable))
        throw unusable('the ID token has no "sub" that can be kept')
      let inquiry: Promise<Claims> | undefined
      const userInfo = async (): Promise<Claims> => {
        if (userinfo_endpoint === undefined) return {}
        inquiry ??= fetchUserInfo(config, tokens.access_token, subject).catch((error) => {
          throw userInfoFailure(error, redirectUri)
        })
        return inquiry
      }
      return {
        identity: { issuer, subject },
        idToken: end_session_endpoint === undefined ? undefined : tokens.id_token,
        profile: () => profileOf(claims, userInfo),
        async isOperator() {
          if (!operators) return undefined
          const { group, claim } = operators
          const groups = claimAt(claims, claim) ?? claimAt(await userInfo(), claim)
          if (groups !== undefined && groups !== null) return isAmong(group, groups)
          if (!saidThatNone) warn?.(noGroups(claim))
          saidThatNone = true
          // Entra so says that they are in more groups than it names.
          const isTooMany = (claims._claim_names as Claims | undefined)?.[claim] !== undefined
          return isTooMany ? undefined : false
        },
      }
    },
  }
}

/** Whether it lets people choose among their accounts: Google takes nothing else for that, and some refuse it. */
const choosesAccount = ({ issuer, prompt_values_supported: prompts }: ServerMetadata): boolean =>
  Array.isArray(prompts)
    ? prompts.includes('select_account')
    : ['accounts.google.com', 'login.microsoftonline.com'].includes(new URL(issuer).host)

/** Many providers tell some of it at their userinfo endpoint only. */
async function profileOf(claims: Claims, userInfo: () => Promise<Claims>): Promise<Profile> {
  const isComplete = claims.email !== undefined && verification(claims) !== undefined && nameIn(claims) !== undefined
  const more = isComplete ? {} : await userInfo()
  // From one answer: each may speak of another address.
  const isSaid = claims.email !== undefined && verification(claims) !== undefined
  const { email: given, ...flags } = isSaid || more.email === undefined ? claims : more
  const email = single(given)
  const name = nameIn(claims) ?? nameIn(more)
  if (typeof email !== 'string' || email === '') return { name, lacks: 'address' }
  if (!verification(flags)) return { name, lacks: 'verification' }
  // ASCII: Postgres writes some other letters like ASCII ones in lower case, so the address could be somebody else's.
  const address = emailAddressIn(email)
  return address ? { name, email: address } : { name, lacks: 'address' }
}

/**
 * Whether the provider has verified the address; undefined: it does not say. Some write the flag as text, and Entra has
 * one of its own, which says that the address is of a domain that its tenant has shown to own.
 */
function verification({ email_verified, xms_edov }: Claims): boolean | undefined {
  const flag = single(email_verified ?? xms_edov)
  return flag === undefined || flag === null ? undefined : [true, 'true', 1, '1'].includes(flag as string)
}

const nameIn = ({ preferred_username, name }: Claims): string | undefined =>
  [preferred_username, name].map(single).find((it): it is string => typeof it === 'string' && it !== '')

/** Some providers write every attribute of a directory as a list. */
const single = (claim: unknown): unknown => (Array.isArray(claim) && claim.length === 1 ? claim[0] : claim)

const noGroups = (claim: string) =>
  `the identity provider named no groups (claim ${JSON.stringify(claim)}) of who signed in, so it makes them no operator: if it should, add the claim there or correct OIDC_GROUPS_CLAIM`

/** A claim of this name, else what is at this path of names with dots between them, as in `realm_access.roles`. */
const claimAt = (claims: Claims, name: string): unknown =>
  claims[name] ?? name.split('.').reduce<unknown>((within, part) => (within as Claims | undefined)?.[part], claims)

/** @param groups may be anything: some providers write a list, others a text where there is one, Zitadel an object of objects by name */
function isAmong(group: string, groups: unknown): boolean {
  if (Array.isArray(groups)) return groups.slice(0, MAX_GROUPS).includes(group)
  if (typeof groups !== 'object' || groups === null) return groups === group
  return Object.hasOwn(groups, group) && typeof (groups as Claims)[group] === 'object'
}
