import type { Logger } from 'pino'
import type { ImageStore } from '../core/images/ports.js'
import { webhookDispatcher } from '../core/webhooks/dispatcher.js'
import { newEndpointId } from '../core/webhooks/webhook.js'
import { listenTo } from '../db/notifications.js'
import { webhookDeliveryStore, webhookSubjectStore } from '../db/webhooks/deliveries.js'
import { webhookEndpointStore } from '../db/webhooks/endpoints.js'
import { webhookPayload } from '../http/server/webhook-payload.js'
import { webhookSender } from '../outbound/webhook-sender.js'
import type { ResolveHost } from '../outbound/webhook-targets.js'
import { addressPolicy, webhookTargets } from '../outbound/webhook-targets.js'
import { startWebhookWorker, webhookJobs } from '../queue/queues.js'
import type { Config } from './config.js'
import type { Foundation, ProcessOptions } from './foundation.js'

/** How long webhooks that are being sent may take when the server leaves; another process sends the rest. */
const WEBHOOKS_MS = 5000
const WEBHOOK_JOBS_MS = 1000

/** Wires the webhooks of one server: the ports of its routes, and the sending of due deliveries. */
export function startWebhooks(
  config: Config,
  log: Logger,
  foundation: Foundation,
  images: ImageStore,
  { resolveHost, tracing, metrics }: ProcessOptions & { readonly resolveHost?: ResolveHost },
) {
  const { db, logErrors: complain, onNotificationsLost, openProducerConnection, openWorkerConnection } = foundation
  const { allowHttp, allowedNetworks } = config.webhooks
  const target = { allowHttp, policy: addressPolicy(allowedNetworks) }
  const onError = complain('webhooks are sent late')
  const subjects = webhookSubjectStore(db)
  const store = webhookDeliveryStore(db)
  const deliveries = metrics?.deliveries(store) ?? store
  const sender = webhookSender({ ...target, resolveHost })
  const jobs = webhookJobs(openProducerConnection(), onError)
  const dispatcher = webhookDispatcher({
    deliveries,
    payloadOf: async (delivery) => {
      const { generationId: id } = delivery
      return webhookPayload(delivery, id === null ? undefined : await subjects.find(id), images.url)
    },
    sender: tracing?.sender(sender) ?? sender,
    jobs,
    log,
  })
  // Postgres notifies every server of an end, and one of them gets the job. If it can't be enqueued, this server sends.
  const enqueueOrSend = async (seq: number) => {
    if (!(await jobs.enqueue({ seq, attempts: 0 }, 0))) await dispatcher.sendDue()
  }
  const missed = onNotificationsLost('due webhooks are noticed late')
  const notices = listenTo(config.databaseListenUrl, 'webhook_due', (seq) => void enqueueOrSend(Number(seq)), missed)
  const worker = startWebhookWorker({ connection: openWorkerConnection(), onJob: () => dispatcher.sendDue(), onError })
  dispatcher.start()

  return {
    ports: {
      endpoints: webhookEndpointStore(db, newEndpointId, (id) => deliveries.cancelPending(id)),
      targets: webhookTargets(target),
    },
    async stop() {
      await Promise.all([notices.close(), worker.close(WEBHOOK_JOBS_MS), dispatcher.stop(WEBHOOKS_MS)])
      await jobs.close()
    },
  }
}
