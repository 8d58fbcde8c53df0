/** The ports that the pages call: the same as those of the interfaces, and what signing in needs. */
import type { AccountMails, UnsentMailStore } from '../account/account-mails.js'
import type { IdentityProvider, IdentityStore } from '../account/identity.js'
import type { CredentialStore, SessionStore } from '../account/session.js'
import type { PublishedImages } from '../generation/library/history.js'
import type { EventCounter } from '../http/authentication.js'
import type { PersonalApiPorts } from '../http/ports.js'

export interface WebsitePorts extends PersonalApiPorts {
  readonly sessions: SessionStore
  readonly credentials: CredentialStore
  readonly identities: IdentityStore
  readonly mails: AccountMails
  readonly unsentMails: Pick<UnsentMailStore, 'list'>
  readonly publishedImages: PublishedImages
  /** Counts the tries to sign in. */
  readonly guesses: EventCounter
}

export interface WebsiteOptions {
  readonly ports: WebsitePorts
  /** The website's origin, and that of the Personal Access API. */
  readonly baseUrl: string
  /** The origin of Create Image. */
  readonly apiBaseUrl: string
  /** What keys begin with, before the underscore. */
  readonly keyPrefix: string
  /** Whether people may make an account. */
  readonly signUpIsOpen: boolean
  /** Where there is one; `secret` signs what a browser keeps while it is there, and every server knows it. */
  readonly provider?: (IdentityProvider & { readonly secret: string }) | undefined
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}
