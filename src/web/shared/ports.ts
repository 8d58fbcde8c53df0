/** The ports that the pages call: the same as those of the interfaces, and what signing in needs. */
import type { AccountMails, UnsentMailStore } from '../../core/accounts/account-mails.js'
import type { OwnKeyStore } from '../../core/accounts/api-key.js'
import type { IdentityProvider, IdentityStore } from '../../core/accounts/identity.js'
import type { SpendingStore } from '../../core/accounts/ledger.js'
import type { MailChoices } from '../../core/accounts/notices.js'
import type { AccountPurges } from '../../core/accounts/own-deletion.js'
import type { CurrentPeriods } from '../../core/accounts/plan.js'
import type { SavedSettingsStore } from '../../core/accounts/saved-settings.js'
import type { CredentialStore, SessionStore } from '../../core/accounts/session.js'
import type { RequirePrices } from '../../core/billing/checked-prices.js'
import type { Shop } from '../../core/billing/shop.js'
import type { CoverStore, EncodeCover } from '../../core/catalog/cover.js'
import type { AccountExports } from '../../core/gallery/account-export.js'
import type { ImageDeletions } from '../../core/gallery/deletion.js'
import type { FolderStore } from '../../core/gallery/folders.js'
import type { RetentionOf } from '../../core/generations/retention.js'
import type { OwnRules } from '../../core/generations/submit/ports.js'
import type { ImageLinks } from '../../core/images/image-links.js'
import type { PublishedImages } from '../../core/images/ports.js'
import type { ImagePrivacy } from '../../core/images/privacy.js'
import type { ReportStore } from '../../core/images/reports.js'
import type { RemovedImages } from '../../core/images/takedown.js'
import type { Administration } from '../../core/operator/administration.js'
import type { CatalogChanges, PreparedImport } from '../../core/operator/catalog.js'
import type { OperatorFigures } from '../../core/operator/figures.js'
import type { RecentImages } from '../../core/operator/images.js'
import type { OperatorActions, Recorded } from '../../core/operator/operator-actions.js'
import type { AuditResults, Oversight } from '../../core/operator/overview.js'
import type { PauseStore } from '../../core/operator/pauses.js'
import type { OperatorPayments } from '../../core/operator/payments.js'
import type { OperatorPlans } from '../../core/operator/plans.js'
import type { RefusedPromptLog } from '../../core/operator/refused-prompts.js'
import type { WorkflowModels } from '../../core/operator/workflow-models.js'
import type { UpNextStore } from '../../core/up-next/up-next.js'
import type { EventCounter } from '../../http/shared/authentication.js'
import type { PersonalApiPorts } from '../../http/shared/ports.js'
import type { Language } from '../texts/texts.js'
import type { Asset } from './assets.js'

export interface WebsitePorts extends PersonalApiPorts {
  readonly ownRules: OwnRules
  readonly sessions: SessionStore
  readonly credentials: CredentialStore
  readonly identities: IdentityStore
  readonly purges: AccountPurges
  readonly mails: AccountMails
  /** Undefined: no mail server is set, so no notices are sent. */
  readonly mailChoices: MailChoices | undefined
  readonly unsentMails: Pick<UnsentMailStore, 'list'>
  readonly publishedImages: PublishedImages
  readonly reports: ReportStore
  readonly folders: FolderStore
  readonly exports: AccountExports
  readonly retentionOf: RetentionOf
  readonly deletions: ImageDeletions
  readonly upNext: UpNextStore
  readonly savedSettings: SavedSettingsStore
  readonly privacy: ImagePrivacy
  readonly links: ImageLinks
  readonly operatorActions: OperatorActions
  readonly recorded: Recorded<Administration>
  readonly oversight: Oversight
  readonly pauses: PauseStore
  readonly catalog: CatalogChanges
  readonly covers: CoverStore
  readonly encodeCover: EncodeCover
  readonly workflows: WorkflowModels
  /** Reads entries of an import, and asks the backends about them. @throws invalid_request */
  readonly prepareModels: (entries: readonly unknown[]) => Promise<PreparedImport>
  readonly plans: OperatorPlans
  readonly requirePrices: RequirePrices
  readonly payments: OperatorPayments
  readonly figures: OperatorFigures
  readonly administration: Administration
  readonly refusedPromptLog: RefusedPromptLog
  readonly removedImages: RemovedImages
  readonly recentImages: RecentImages
  readonly auditResults: AuditResults
  readonly ownKeys: OwnKeyStore
  readonly spending: SpendingStore
  readonly currentPeriods: CurrentPeriods
  /** Counts the tries to sign in and to change a password, reports of visitors, and what is sent by forms. */
  readonly guesses: EventCounter
}

interface SignInProvider extends IdentityProvider {
  /** Signs what a browser keeps while it is there; every server knows it. */
  readonly secret: string
  /** Whether who signs in there gets an account. */
  readonly makesAccounts: boolean
  /** Who signs out here is led to sign out there, too. */
  readonly signsOutThere: boolean
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
  /** Where something is sold. */
  readonly shop?: Shop | undefined
  /** Of the provider's pages, to which forms lead. */
  readonly paymentOrigins: readonly string[]
  /** In which people may read the site, the usual one first. */
  readonly languages: readonly Language[]
  /** Whether people may make an account. */
  readonly signUpIsOpen: boolean
  /** Whether people may have a password, and sign in with it. */
  readonly takesPasswords: boolean
  /** Whether there is a mail server; else mails wait for the operator. */
  readonly sendsMail: boolean
  /** Where there is one. */
  readonly provider?: SignInProvider | undefined
  /** What the installation has of its own, such as its mark. */
  readonly assets: readonly Asset[]
  /** Aborts when this server must stop waiting. */
  readonly leaving: AbortSignal
}
