import type { Hold } from '../../../core/generations/follow/hold.js'
import { Moment } from '../../parts/text.js'
import { useTexts } from '../../texts/texts.js'

/** Why a generation does not start for now, and when it fails if that stays so. */
export interface Held {
  readonly hold: Hold
  readonly deadline: Date
}

/** For who waits. */
export const HoldNotice = ({ of: { hold, deadline } }: { of: Held }) => {
  const words = useTexts().playground.hold
  return (
    <p class="hint held">
      {words.reasons[hold]} {words.waits(<Moment at={deadline} />)}
    </p>
  )
}

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

export const HoldWarning = ({ of: hold }: { of: Hold | undefined }) => {
  const words = useTexts().playground.hold
  return hold ? (
    <p class="hint small">
      {words.reasons[hold]} {words.ahead}
    </p>
  ) : null
}
