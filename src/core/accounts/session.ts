import { hash, randomBytes } from 'node:crypto'
import type { Caller, Role } from './account.js'

export const SESSION_DAYS = 30
export const LINK_MINUTES = 15
/** For a link that confirms an address: mail may be slow, and it opens no account. */
export const CONFIRMATION_MINUTES = 60
/** Those of operators last longer, but not for good: whoever finds one that lies about signs in. */
export const LINK_DAYS = 30

/** Who is signed in to the website. As a caller they use the account's own website key. */
export interface SignedIn {
  readonly sessionId: string
  readonly caller: Caller
  readonly role: Role
  readonly email: string | null
  /** A BCP 47 tag; null: as the browser says. */
  readonly language: string | null
  /** What the account makes on the website is private from the start. */
  readonly newImagesPrivate: boolean
}

export interface Session {
  readonly id: string
  /** What the browser calls itself. */
  readonly userAgent: string | null
  readonly createdAt: Date
  readonly seenAt: Date
}

export interface SessionStore {
  /** Begins a session of SESSION_DAYS. False if the account was deleted. */
  begin(accountId: string, tokenHash: Buffer, userAgent: string | undefined): Promise<boolean>
  /** Reads it at each request: one that was ended is refused immediately, on every replica. */
  find(tokenHash: Buffer): Promise<SignedIn | undefined>
  /** The account's, the one seen last first. */
  list(accountId: string): Promise<Session[]>
  end(accountId: string, sessionId: string): Promise<void>
  /** @param language a BCP 47 tag; null: as the browser says */
  setLanguage(accountId: string, language: string | null): Promise<void>
  /** Also the links that would begin one. */
  endAll(accountId: string): Promise<void>
}

export interface CredentialStore {
  /** By name or e-mail address, ignoring case; not a deleted account. */
  find(nameOrEmail: string): Promise<Credentials | undefined>
  /** Makes an account with 0 credits and no subscription. Undefined: another one has the name, or one that reads like it. */
  register(username: string, passwordHash: string): Promise<string | undefined>
  /** Ends the account's other sessions and links: `except` is the session that goes on. */
  setPassword(accountId: string, passwordHash: string, except: string | undefined): Promise<void>
  /** A link that signs in or, with `email`, confirms that address; resolves to its end. `minutes`: else LINK_MINUTES. */
  addLink(accountId: string, tokenHash: Buffer, email?: string, minutes?: number): Promise<Date>
  /** The name of the account that the link would sign in to; undefined: it is over. */
  findLink(tokenHash: Buffer): Promise<string | undefined>
  /** The account that the link signs in to; each works once. */
  spendLink(tokenHash: Buffer): Promise<string | undefined>
  /** The address that the account gets once its link is used: the one asked for last. */
  pendingEmail(accountId: string): Promise<{ readonly email: string; readonly expiresAt: Date } | undefined>
  /** Ends the links that would confirm an address. */
  cancelEmail(accountId: string): Promise<void>
  /**
   * Gives an account the address that its link was sent to, and ends all its other links. `taken`: another account has
   * it; `over`: this link no longer works.
   */
  confirmEmail(accountId: string, tokenHash: Buffer): Promise<'confirmed' | 'taken' | 'over'>
  /** Links and unsent mails that nobody can use any more. */
  forgetExpired(): Promise<void>
}

interface Credentials {
  readonly accountId: string
  readonly username: string
  readonly email: string | null
  /** A BCP 47 tag; null: as the browser says. */
  readonly language: string | null
  readonly passwordHash: string | null
}

/** What a browser or a link holds: 256 random bits, of which only the hash is stored. */
export const newToken = (): string => randomBytes(32).toString('base64url')
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** A new link that signs in to the account, and until when. */
export async function newSignInLink(
  credentials: Pick<CredentialStore, 'addLink'>,
  accountId: string,
  baseUrl: string,
  minutes?: number,
): Promise<{ readonly url: string; readonly expiresAt: Date }> {
  const token = newToken()
  const expiresAt = await credentials.addLink(accountId, hashToken(token), undefined, minutes)
  return { url: `${baseUrl}/sign-in/link?token=${token}`, expiresAt }
}
