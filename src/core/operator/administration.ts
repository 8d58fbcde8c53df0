import type { DeleteAccountPorts } from '../accounts/delete-account.js'
import type { CredentialStore, SessionStore } from '../accounts/session.js'
import type { ImageRemovals } from '../images/takedown.js'
import type { AccountStores } from './accounts.js'
import type { CatalogChanges } from './catalog.js'
import type { CreditStores } from './credits.js'
import type { GenerationRecord } from './generation-story.js'
import type { CancelStores } from './generations.js'
import type { ImageReportLog } from './image-reports.js'
import type { KeyStores } from './keys.js'
import type { PackStores } from './packs.js'
import type { PauseStore } from './pauses.js'
import type { PaymentStores } from './payments.js'
import type { PlanStores } from './plans.js'
import type { RefusedPromptLog } from './refused-prompts.js'
import type { SubscriptionStores } from './subscriptions.js'

export interface ActiveGeneration {
  readonly id: string
  readonly status: string
  readonly modelName: string
  readonly batchSize: number
  readonly cost: number
  readonly createdAt: Date
}

/** What operators see and change of any account. */
export type Administration = AccountStores &
  SubscriptionStores &
  CreditStores &
  KeyStores &
  PlanStores &
  PackStores &
  PaymentStores &
  CancelStores & {
    readonly generations: {
      /** All that is kept of it, also where its account is deleted. */
      find(id: string): Promise<GenerationRecord | undefined>
      /** The newest of those that have not ended. */
      listActive(accountId: string, limit: number): Promise<readonly ActiveGeneration[]>
    }
    readonly endpoints: DeleteAccountPorts['endpoints'] & {
      /** Of the account's webhook_urls. Resolves to until when the old secret signs, too; undefined if there is none. */
      rotateSecret(accountId: string, secret: string, oldForHours: number): Promise<Date | undefined>
    }
    readonly sessions: SessionStore
    readonly credentials: CredentialStore
    readonly removals: ImageRemovals
    readonly refusedPromptLog: RefusedPromptLog
    readonly imageReports: ImageReportLog
    readonly catalog: CatalogChanges
    readonly pauses: PauseStore
  }
