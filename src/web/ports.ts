/** The ports that the pages call: the same as those of the interfaces, and what signing in needs. */
import type { AccountMails, UnsentMailStore } from '../account/account-mails.js'
import type { Administration } from '../account/administration.js'
import type { IdentityProvider, IdentityStore } from '../account/identity.js'
import type { OperatorActions, Recorded } from '../account/operator-actions.js'
import type { OwnKeyStore } from '../account/own-keys.js'
import type { RefusedPromptLog } from '../account/refused-prompt-log.js'
import type { CredentialStore, SessionStore } from '../account/session.js'
import type { CancelStore } from '../generation/cancel.js'
import type { PublishedImages } from '../generation/library/published-image.js'
import type { RemovedImages } from '../generation/library/removed-images.js'
import type { SpendingStore } from '../generation/library/spending.js'
import type { ImageRemovals } from '../generation/library/takedown.js'
import type { CatalogChanges } from '../generation/oversight/catalog.js'
import type { Oversight } from '../generation/oversight/overview.js'
import type { PauseStore } from '../generation/oversight/pauses.js'
import type { AuditResults } from '../generation/repair/audit-result.js'
import type { EventCounter } from '../http/authentication.js'
import type { PersonalApiPorts } from '../http/ports.js'

/** What operators change, within a transaction. */
export interface OperatorStores {
  readonly administration: Administration
  readonly sessions: SessionStore
  readonly cancels: CancelStore
  readonly removals: ImageRemovals
  readonly refusedPromptLog: RefusedPromptLog
}

export interface WebsitePorts extends PersonalApiPorts {
  readonly sessions: SessionStore
  readonly credentials: CredentialStore
  readonly identities: IdentityStore
  readonly mails: AccountMails
  readonly unsentMails: Pick<UnsentMailStore, 'list'>
  readonly publishedImages: PublishedImages
  readonly operatorActions: OperatorActions
  readonly recorded: Recorded<OperatorStores>
  readonly oversight: Oversight
  readonly pauses: PauseStore
  readonly catalog: CatalogChanges
  readonly administration: Administration
  readonly refusedPromptLog: RefusedPromptLog
  readonly removedImages: RemovedImages
  readonly auditResults: AuditResults
  readonly ownKeys: OwnKeyStore
  readonly spending: SpendingStore
  /** Counts the tries to sign in and to change a password, and what is sent by forms. */
  readonly guesses: EventCounter
}

export interface WebsiteOptions {
  readonly ports: WebsitePorts
  /** The website's origin, and that of the Personal Access API. */
  readonly baseUrl: string
  /** The origin of Create Image. */
  readonly apiBaseUrl: string
  /** Of each interface; the pages count towards neither. */
  readonly rateLimit: { readonly max: number; readonly windowSeconds: number }
  /** What keys begin with, before the underscore. */
  readonly keyPrefix: string
  /** Whether people may make an account. */
  readonly signUpIsOpen: boolean
  /** Where there is one; `secret` signs what a browser keeps while it is there, and every server knows it. */
  readonly provider?: (IdentityProvider & { readonly secret: string }) | undefined
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}
