/** The ports that the pages call: the same as those of the interfaces, and what signing in needs. */
import type { OwnKeyStore } from '../account/own-keys.js'
import type { CredentialStore, SessionStore } from '../account/session.js'
import type { PublishedImages } from '../generation/library/history.js'
import type { SpendingStore } from '../generation/library/spending.js'
import type { EventCounter } from '../http/authentication.js'
import type { PersonalApiPorts } from '../http/ports.js'

export interface WebsitePorts extends PersonalApiPorts {
  readonly sessions: SessionStore
  readonly credentials: CredentialStore
  readonly publishedImages: PublishedImages
  readonly ownKeys: OwnKeyStore
  readonly spending: SpendingStore
  /** Counts the tries to sign in, and to change a password. */
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
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}
