/** The ports that the routes call. */

import type { LedgerStore } from '../account/ledger.js'
import type { ModelStore } from '../catalog/model-version.js'
import type { CancelPorts } from '../generation/cancel.js'
import type { Abilities } from '../generation/failure-reason.js'
import type { DurationEstimates } from '../generation/follow/eta.js'
import type { Following, GenerationWatch } from '../generation/follow/follow.js'
import type { PollPorts } from '../generation/follow/poll.js'
import type { HistoryStore } from '../generation/library/history.js'
import type { ImageFiles, ImageStore } from '../generation/library/image-store.js'
import type { ImageRemovals } from '../generation/library/takedown.js'
import type { CheckPorts } from '../generation/submit/check-prompt.js'
import type { UnansweredStore } from '../generation/submit/repeats.js'
import type { SubmitPorts } from '../generation/submit/submission.js'
import type { EndpointPorts } from '../webhooks/endpoints.js'

interface SharedPorts extends SubmitPorts, PollPorts, CancelPorts {
  readonly estimates: DurationEstimates
  readonly models: ModelStore
  readonly images: Pick<ImageStore, 'url' | 'thumbnailUrl' | 'remove'>
  readonly files: ImageFiles
  readonly webhooks: EndpointPorts
}

export interface PersonalApiPorts extends SharedPorts, CheckPorts {
  readonly following: Following
  readonly history: HistoryStore
  readonly ledger: LedgerStore
  readonly removals: ImageRemovals
}

export interface CreateImageApiPorts extends SharedPorts {
  readonly abilities: Abilities
  readonly watch: GenerationWatch
  readonly unanswered: UnansweredStore
}
