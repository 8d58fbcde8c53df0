import type { Logger } from 'pino'
import { customerLoop } from '../core/billing/customer-loop.js'
import { missedPurchases } from '../core/billing/missed-purchases.js'
import { paymentLoop } from '../core/billing/payment-loop.js'
import type { PaymentProvider } from '../core/billing/payment-provider.js'
import { paymentReceiver } from '../core/billing/receive.js'
import { customerChanges } from '../db/billing/customer-changes.js'
import { paymentEventStore } from '../db/billing/payment-events.js'
import { paymentFaultStore } from '../db/billing/payment-faults.js'
import { paymentQueue } from '../db/billing/payment-queue.js'
import { listenTo, PAYMENT_DUE } from '../db/notifications.js'
import type { BillingOptions } from '../http/billing/billing-routes.js'
import type { Config } from './config.js'
import type { Foundation, ProcessOptions } from './foundation.js'

/** How long what is being asked may take when the server leaves; another process asks for the rest. */
const ANSWERS_MS = 5000

export interface Payment {
  readonly provider: PaymentProvider
  readonly graceDays: number
}

const faultOfEndpoint = (url: string, its: string) => ({
  key: 'endpoint',
  sentence: `At a start, the webhook endpoint ${url} ${its} on the pages of the payment provider. What no event tells of, such as money that went back for a plan, may never be known here.`,
})

/** Wires payment in one server: what its route needs, and the loop that works off events. */
export function startBilling(
  { provider, graceDays }: Payment,
  config: Config,
  log: Logger,
  { db, onNotificationsLost }: Foundation,
  { metrics }: ProcessOptions,
): { readonly routes: BillingOptions; stop(): Promise<void> } {
  const [faults, queue] = [paymentFaultStore(db), paymentQueue(db, { graceDays })]
  const receiver = paymentReceiver(provider, paymentEventStore(db), faults)
  const loop = paymentLoop({ queue, provider, log })
  const purchases = missedPurchases({ provider, queue, faults, log })
  const missed = onNotificationsLost('payment events are worked off late')
  const notices = listenTo(config.databaseListenUrl, PAYMENT_DUE, () => void loop.workOffDue(), missed)
  const customers = customerLoop(customerChanges(db), provider, log)
  loop.start()
  customers.start()
  purchases.start()
  const endpoint = `${config.baseUrl}/billing/${provider.name}`
  void provider
    .endpointProblem(endpoint)
    .then((its) => (its === undefined ? undefined : faults.note(faultOfEndpoint(endpoint, its))))
    .catch((err) => log.warn({ err }, 'the payment provider could not be asked where it sends events'))
  return {
    routes: { provider: provider.name, receiver: metrics?.payments(receiver) ?? receiver },
    async stop() {
      purchases.stop()
      await Promise.all([notices.close(), loop.stop(ANSWERS_MS), customers.stop(ANSWERS_MS)])
    },
  }
}
