/** Signing in through an identity provider, and whose account that is. */

/** Somebody, as an identity provider knows them. */
export interface Identity {
  readonly issuer: string
  /** Never changes and is never given to somebody else, unlike everything below. */
  readonly subject: string
  /** Only if the provider says that it is verified. */
  readonly email: string | undefined
  /** What a new account may be called. */
  readonly name: string | undefined
}

export interface IdentityStore {
  find(identity: Identity): Promise<string | undefined>
  /** Links it to the account that has its address, unless that account has another identity of this issuer. */
  linkByEmail(identity: Identity, email: string): Promise<string | undefined>
  /** Makes an account, with the address unless another account has it. Undefined: the name is taken. */
  register(identity: Identity, username: string): Promise<string | undefined>
}

export interface IdentityProvider {
  /** How people know it. */
  readonly host: string
  /** Where to send the browser, and what it must keep until it comes back. @throws unavailable */
  begin(): Promise<{ readonly url: string; readonly checks: SignInChecks }>
  /** Reads what the provider sent back with the browser. @throws SignInRefused, unavailable */
  end(query: string, checks: SignInChecks): Promise<Identity>
}

interface SignInChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The provider did not sign somebody in, or somebody else's answer came back. */
export class SignInRefused extends Error {}

const NAMES_TRIED = 20

/**
 * The account of an identity. Every address of an account was set by the operator or confirmed by mail, and the provider
 * vouches for the identity's: so the same address is the same person. But once an account has an identity of this issuer,
 * no other one gets in by its address: providers give addresses of people who left to others.
 */
export async function accountOfIdentity(
  identities: IdentityStore,
  identity: Identity,
  signUpIsOpen: boolean,
): Promise<string | undefined> {
  const { email } = identity
  const known = (await identities.find(identity)) ?? (email && (await identities.linkByEmail(identity, email)))
  if (known || !signUpIsOpen) return known || undefined
  const name = usernameFrom(identity)
  for (let n = 1; n <= NAMES_TRIED; n++) {
    const suffix = n === 1 ? '' : n < NAMES_TRIED ? `-${n}` : `-${Date.now()}`
    const accountId = await identities.register(identity, name.slice(0, 64 - suffix.length) + suffix)
    if (accountId) return accountId
  }
  return undefined
}

/** Without an @: a name must not look like somebody's address. */
function usernameFrom({ name, email }: Identity): string {
  const wanted = (name || email || '').replace(/@.*$/s, '').normalize('NFKD')
  const username = wanted.replace(/[^A-Za-z0-9._-]+/g, '').replace(/^[._-]+/, '')
  return username.slice(0, 64) || 'user'
}
