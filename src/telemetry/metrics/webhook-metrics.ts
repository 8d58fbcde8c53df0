import type { DeliveryStore } from '../../core/webhooks/ports.js'
import type { Meters } from './meters.js'

const RESULTS = ['delivered', 'retried', 'given_up']

/** The tries to deliver webhooks. */
export function webhookMetrics({ counter }: Meters) {
  const tries = counter('webhook_tries_total', 'Tries to deliver a webhook, by result.', ['result'], RESULTS)

  return (deliveries: DeliveryStore): DeliveryStore => ({
    ...deliveries,
    async delivered(...given) {
      await deliveries.delivered(...given)
      tries.inc({ result: 'delivered' })
    },
    async failed(delivery, outcome) {
      const failed = await deliveries.failed(delivery, outcome)
      tries.inc({ result: outcome.retryInSeconds === undefined ? 'given_up' : 'retried' })
      return failed
    },
  })
}
