/** The ports that the routes call. */
import type { LedgerStore } from '../../core/accounts/ledger.js'
import type { UsageStore } from '../../core/accounts/usage.js'
import type { ModelStore, ModelVersion } from '../../core/catalog/model-version.js'
import type { GalleryStore } from '../../core/gallery/gallery.js'
import type { CancelPorts } from '../../core/generations/cancel.js'
import type { DurationEstimates } from '../../core/generations/follow/eta.js'
import type { Following, GenerationWatch } from '../../core/generations/follow/follow.js'
import type { PollPorts } from '../../core/generations/follow/poll.js'
import type { HistoryStore } from '../../core/generations/history.js'
import type { ServableNow } from '../../core/generations/servable.js'
import type { CheckPorts } from '../../core/generations/submit/check-prompt.js'
import type { SubmitPorts } from '../../core/generations/submit/ports.js'
import type { UnansweredStore } from '../../core/generations/submit/repeats.js'
import type { ImageFiles, ImageStore } from '../../core/images/ports.js'
import type { ImageRemovals } from '../../core/images/takedown.js'
import type { EndpointPorts } from '../../core/webhooks/endpoints.js'

interface SharedPorts extends SubmitPorts, PollPorts, CancelPorts {
  readonly estimates: DurationEstimates
  readonly models: ModelStore
  readonly images: Pick<ImageStore, 'url' | 'thumbnailUrl' | 'remove'>
  readonly files: ImageFiles
  readonly webhooks: EndpointPorts
}

export interface PersonalApiPorts extends SharedPorts, CheckPorts {
  /** Of a version's picture; null: it has none of its own. */
  readonly coverUrl: (model: ModelVersion) => string | null
  readonly following: Following
  readonly history: HistoryStore
  readonly gallery: GalleryStore
  readonly ledger: LedgerStore
  readonly usage: UsageStore
  readonly removals: ImageRemovals
}

export interface CreateImageApiPorts extends SharedPorts {
  readonly abilities: ServableNow
  readonly watch: GenerationWatch
  readonly unanswered: UnansweredStore
}
