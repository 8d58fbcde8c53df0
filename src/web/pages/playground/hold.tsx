import type { Hold } from '../../../core/generations/follow/hold.js'
import { Moment } from '../../parts/text.js'

/** Why a generation does not start for now, and when it fails if that stays so. */
export interface Held {
  readonly hold: Hold
  readonly deadline: Date
}

const REASONS: Readonly<Record<Hold, string>> = {
  all_paused: 'The operator has paused drawing for now.',
  model_paused: 'The operator has paused this model for now.',
  backends_paused: 'The operator has paused the GPU servers that draw with this model.',
  no_backend: 'No GPU server is running at the moment.',
  no_model: 'No GPU server that is running has this model at the moment.',
}

/** For who waits. */
export const HoldNotice = ({ of: { hold, deadline } }: { of: Held }) => (
  <p class="hint held">
    {REASONS[hold]} Your image keeps its place and is drawn once that has changed. If it can’t be drawn by{' '}
    <Moment at={deadline} /> at the latest, it fails and you get your credits back.
  </p>
)

/** Before anything is submitted: of the chosen model, looked at again now and then. */
export const HoldAhead = ({ of: hold }: { of: Hold | undefined }) => (
  <div
    id="hold"
    role="status"
    hx-get="/playground/hold"
    hx-trigger="every 15s, change from:#create"
    hx-include="#create [name=model_version_id]:checked"
    hx-sync="replace"
  >
    <HoldWarning of={hold} />
  </div>
)

export const HoldWarning = ({ of: hold }: { of: Hold | undefined }) =>
  hold ? (
    <p class="hint small">
      {REASONS[hold]} You can generate all the same: your image waits, and is drawn once that has changed.
    </p>
  ) : null
