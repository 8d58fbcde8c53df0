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

export const paymentReceiver = (
  provider: Pick<PaymentProvider, 'mayBeSigned' | 'event'>,
  events: PaymentEvents,
  faults: PaymentFaults,
): PaymentReceiver => ({
  mayBeSigned: (signature) => provider.mayBeSigned(signature),

  async receive(body, signature) {
    const event = provider.event(body, signature)
    if (!event) return 'refused'
    if (event.problem) await faults.note({ key: `event ${event.id}`, sentence: sentenceOf(event.type, event.problem) })
    const stored = await events.store(event)
    return event.problem && stored === 'stored' ? 'unusable' : stored
  },
})

const sentenceOf = (type: string, problem: string) =>
  `An event of the payment provider ("${type}") was signed, but could not be used: ${problem} Look at it on the provider's pages.`
