import type { Logger } from 'pino'
import type { Config } from './config.js'
import type { Database } from './db/client.js'
import { listenTo } from './db/notices.js'
import { webhookDeliveryStore, webhookSubjectStore } from './db/webhook-delivery-store.js'
import { webhookEndpointStore } from './db/webhook-endpoint-store.js'
import { webhookPayload } from './http/webhook-payload.js'
import { type ResolveHost, webhookSender } from './outbound/webhook-sender.js'
import { addressPolicy, webhookTargets } from './outbound/webhook-targets.js'
import type { QueueConnection } from './queue/job-queue.js'
import { startWebhookWorker, webhookJobs } from './queue/webhook-jobs.js'
import { webhookDispatcher } from './webhooks/dispatcher.js'
import type { EndpointPorts } from './webhooks/endpoints.js'
import { newEndpointId } from './webhooks/webhook.js'

/** How long webhooks that are being sent may take when the server leaves; another process sends the rest. */
const STOP_MS = 5000
const JOBS_CLOSE_MS = 1000

interface WebhookOptions {
  readonly db: Database
  readonly config: Config
  readonly log: Logger
  readonly imageUrl: (slug: string) => string
  /** BullMQ's two ends, a connection each. */
  readonly producer: QueueConnection
  readonly consumer: QueueConnection
  readonly onError: (error: Error) => void
  readonly missesNotices: (error: Error) => void
  readonly resolveHost?: ResolveHost | undefined
}

/** Wires the webhooks of one server: the ports of its routes, and the sending of due deliveries. */
export function startWebhooks(options: WebhookOptions): { readonly ports: EndpointPorts; stop(): Promise<void> } {
  const { db, config, log, imageUrl, resolveHost, onError } = options
  const { allowHttp, allowedNetworks } = config.webhooks
  const target = { allowHttp, policy: addressPolicy(allowedNetworks) }
  const subjects = webhookSubjectStore(db)
  const deliveries = webhookDeliveryStore(db)
  const jobs = webhookJobs(options.producer, onError)
  const dispatcher = webhookDispatcher({
    deliveries,
    payloadOf: async (delivery) => {
      const { generationId } = delivery
      return webhookPayload(delivery, generationId === null ? undefined : await subjects.find(generationId), imageUrl)
    },
    sender: webhookSender({ ...target, resolveHost }),
    jobs,
    log,
  })
  const hear = async (seq: number) => {
    if (!(await jobs.enqueue({ seq, attempts: 0 }, 0))) await dispatcher.look()
  }
  // Postgres notifies every server of an end, and one of them gets the job. If it can't be enqueued, this server sends.
  const heard = listenTo(
    config.databaseListenUrl,
    'webhook_due',
    (seq) => void hear(Number(seq)),
    options.missesNotices,
  )
  const worker = startWebhookWorker({
    connection: options.consumer,
    onJob: () => dispatcher.look(),
    onError,
  })
  dispatcher.start()

  return {
    ports: {
      endpoints: webhookEndpointStore(db, newEndpointId, (id) => deliveries.endWaiting(id)),
      targets: webhookTargets(target),
    },
    async stop() {
      await Promise.all([heard.close(), worker.close(JOBS_CLOSE_MS), dispatcher.stop(STOP_MS)])
      await jobs.close()
    },
  }
}
