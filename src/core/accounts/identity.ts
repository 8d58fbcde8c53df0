/** Signing in through an identity provider, and whose account that is. */
import { usernameFrom } from './username.js'

/** Somebody, as an identity provider knows them. */
export interface Identity {
  readonly issuer: string
  /** Never changes and is never given to somebody else, unlike what is in the profile. */
  readonly subject: string
}

export interface Profile {
  /** Only if the provider says that it is verified. */
  readonly email?: string
  /** Why there is no address: the provider told none that can be used, or does not say that it is verified. */
  readonly lacks?: 'address' | 'verification'
  /** What a new account may be called. */
  readonly name: string | undefined
}

export interface IdentityStore {
  find(identity: Identity): Promise<string | undefined>
  /** Links it to the account that has its address, unless that account has another identity of this issuer. */
  linkByEmail(identity: Identity, email: string): Promise<string | undefined>
  /**
   * Notes the address that the provider names now. The account gets it if it still has the one that the provider named before,
   * unless another account has it; links that were sent to the old one end.
   */
  followEmail(identity: Identity, email: string): Promise<void>
  /** Makes an account, with the address unless another account has it. Undefined: the name, or one that reads like it, is taken. */
  register(identity: Identity, username: string, email: string | undefined): Promise<string | undefined>
}

export interface IdentityProvider {
  /** How people know it. */
  readonly host: string
  /**
   * Where to send the browser, and what it must keep until it comes back.
   * @param again the provider is to ask who it is, not to take who signed in there last. @throws SignInFailed
   */
  begin(again?: boolean): Promise<{ readonly url: string; readonly checks: SignInChecks }>
  /**
   * Where a browser signs out at the provider; only where `end` gave an ID token.
   * @param idToken of who signs out; empty: it was not kept
   * @param backTo where the provider sends it then, if that address is registered there. @throws SignInFailed
   */
  signOutUrl(idToken: string, backTo: string | undefined): Promise<string>
  /** Reads what the provider sent back with the browser. @throws SignInFailed */
  end(query: string, checks: SignInChecks): Promise<IdentifiedPerson>
}

/** Who signed in at the provider. What is a function may ask it. @throws SignInFailed */
interface IdentifiedPerson {
  readonly identity: Identity
  /** For signing out at the provider; undefined: it has no page for that. */
  readonly idToken: string | undefined
  profile(): Promise<Profile>
  /** Whether they are in the group of operators; undefined: there is none. */
  isOperator(): Promise<boolean | undefined>
}

interface SignInChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/**
 * Nobody was signed in: the provider refused, or somebody else's answer came back; it is away; or it, or its settings here,
 * are wrong. The message is for the operator.
 */
export class SignInFailed extends Error {
  readonly why: 'refused' | 'away' | 'setup'

  constructor(why: SignInFailed['why'], message: string, cause: unknown) {
    super(message, { cause })
    this.why = why
  }
}

const NAMES_TRIED = 20

/**
 * The account of an identity, or why there is none. Every address of an account was set by an operator, or with an
 * operator's key, or confirmed by mail, and the provider vouches for the identity's: so the same address is the same
 * person. But once an account has an identity of this issuer, no other one gets in by its address: providers give
 * addresses of people who left to others.
 * @throws SignInFailed
 */
export async function accountOfIdentity(
  identities: IdentityStore,
  { identity, profile }: Pick<IdentifiedPerson, 'identity' | 'profile'>,
  { makesAccounts, siteName }: { readonly makesAccounts: boolean; readonly siteName: string },
): Promise<{ readonly accountId: string } | { readonly lacks: 'address' | 'verification' | 'account' }> {
  const known = await identities.find(identity)
  if (known) {
    // Who is known gets in, also while the provider does not tell more of them.
    const { email } = await profile().catch(() => ({ email: undefined }))
    if (email) await identities.followEmail(identity, email)
    return { accountId: known }
  }
  const { email, name, lacks = 'account' } = await profile()
  const linked = email && (await identities.linkByEmail(identity, email))
  if (linked) return { accountId: linked }
  if (!makesAccounts) return { lacks }
  const username = usernameFrom([name, email], siteName)
  for (let n = 1; n <= NAMES_TRIED; n++) {
    const suffix = n === 1 ? '' : n < NAMES_TRIED ? `-${n}` : `-${Date.now()}`
    const accountId = await identities.register(identity, username.slice(0, 64 - suffix.length) + suffix, email)
    if (accountId) return { accountId }
  }
  return { lacks: 'account' }
}
