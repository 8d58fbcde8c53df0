import type { PaymentProvider } from './payment-provider.js'
import type { PaymentEvents } from './ports.js'

export type Received = 'stored' | 'repeated' | 'refused'

/** Takes in what was posted to the service, believing only who signed it. */
export interface PaymentReceiver {
  /** `refused`: forged, changed on the way, or too old. */
  receive(body: Buffer, signature: string): Promise<Received>
}

export const paymentReceiver = (provider: Pick<PaymentProvider, 'event'>, events: PaymentEvents): PaymentReceiver => ({
  async receive(body, signature) {
    const event = provider.event(body, signature)
    return event ? events.store(event) : 'refused'
  },
})
