import { occasionally } from '../log.js'
import type { PaymentProvider } from './payment-provider.js'
import type { PaymentEvents, PaymentFaults } from './ports.js'

/** `unusable`: signed, but nothing that can be acted on; it is kept for operators, and need not come again. */
export type Received = 'stored' | 'repeated' | 'unusable' | 'refused'

/** Takes in what was posted to the service, believing only who signed it. */
export interface PaymentReceiver {
  /** Whether it is worth to read the body: false when the signature alone shows that it is forged or too old. */
  mayBeSigned(signature: string): boolean
  /** `refused`: forged, changed on the way, or too old. */
  receive(body: Buffer, signature: string): Promise<Received>
}

const REFUSED = {
  key: 'refused events',
  sentence:
    'Events were refused, as they are not signed with the secret of the webhook endpoint (STRIPE_WEBHOOK_SECRET), were changed on the way, or are more than five minutes old. If the pages of the payment provider say that this service answers events with 400, set the secret of that endpoint, and look at the clock of the servers; else somebody else has posted them, and nothing is to be done.',
}

export function paymentReceiver(
  provider: Pick<PaymentProvider, 'mayBeSigned' | 'event'>,
  events: PaymentEvents,
  faults: PaymentFaults,
): PaymentReceiver {
  // Anybody can post what is refused: so not each of them is a write. That there was one is in the log, too.
  const noteRefused = occasionally(() => void faults.note(REFUSED).catch(() => undefined))
  return {
    mayBeSigned(signature) {
      const may = provider.mayBeSigned(signature)
      if (!may && signature !== '') noteRefused()
      return may
    },

    async receive(body, signature) {
      const event = provider.event(body, signature)
      if (!event) {
        noteRefused()
        return 'refused'
      }
      if (event.problem)
        await faults.note({ key: `event ${event.id}`, sentence: sentenceOf(event.type, event.problem) })
      const stored = await events.store(event)
      return event.problem && stored === 'stored' ? 'unusable' : stored
    },
  }
}

const sentenceOf = (type: string, problem: string) =>
  `An event of the payment provider ("${type}") was signed, but could not be used: ${problem} Look at it on the provider's pages.`
