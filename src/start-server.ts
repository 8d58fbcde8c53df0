import { setTimeout as after } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { AuditTimes } from './audit/periodic-audit.js'
import type { Config } from './config.js'
import { accountStore } from './db/account-store.js'
import { backendAbilities } from './db/backend-store.js'
import { ledgerStore } from './db/credit-store.js'
import { isDatabaseReady } from './db/database-checks.js'
import { durationEstimates } from './db/duration-estimates.js'
import { cancelStore } from './db/failure-store.js'
import { generationWatch, pollStore } from './db/generation-views.js'
import { historyStore } from './db/history-store.js'
import { imageRemovals, publishedImages } from './db/image-records.js'
import { modelStore } from './db/model-store.js'
import { queuePositions } from './db/queue-positions.js'
import { idempotencyStore, submissionStore } from './db/submission-store.js'
import type { Running } from './entry.js'
import { createFollowing } from './generation/follow/follow.js'
import { listenForHealth } from './health-port.js'
import { buildApp } from './http/app.js'
import type { SlotLimits } from './http/request-slots.js'
import type { StreamTimes } from './http/server-sent-events.js'
import { openImageStore } from './images/open-image-store.js'
import { withInfotext } from './images/png-text.js'
import { createModerator } from './moderation/create-moderator.js'
import type { ResolveHost } from './outbound/webhook-sender.js'
import { startWebhooks } from './start-webhooks.js'
import { openFoundation } from './wiring.js'

const MAX_CONNECTIONS = 20
const CREATE_IMAGE_TIMEOUT_SECONDS = 120
/** How long clients that wait for Create Image are still served after SIGTERM; the notice is part of this time. */
const WAITERS_MS = 25_000

export interface ServerOptions {
  /** Prefix of everything in Redis; tests give each run its own. */
  readonly namespace?: string
  readonly createImageTimeoutSeconds?: number
  readonly waitersMs?: number
  /** How long /ready answers 503 before the port closes; everything else is served meanwhile. */
  readonly noticeMs?: number
  readonly auditTimes?: AuditTimes
  readonly slots?: SlotLimits
  readonly maxWaiting?: number
  readonly streamTimes?: StreamTimes
  /** Replaces the DNS for the hosts of webhooks. */
  readonly resolveHost?: ResolveHost
}

/** Wires the HTTP server and lets it listen. It closes in this order: new work, waiting clients, background work, stores. */
export async function startServer(
  config: Config,
  log: Logger,
  options: ServerOptions = {},
): Promise<Running & { url: string }> {
  const moderator = createModerator({ ...config.moderation, logger: log })
  const images = await openImageStore(config, (err) => log.error({ err }, 'images can not be stored yet'))
  const foundation = await openFoundation(config, log, { maxConnections: MAX_CONNECTIONS, ...options })
  const { db } = foundation
  const watch = generationWatch(
    db,
    config.databaseListenUrl,
    foundation.missesNotices('waiting for generations is disturbed'),
  )
  const positions = queuePositions(db)
  const { progress, previews } = foundation

  const draining = new AbortController()
  const leaving = new AbortController()
  const webhooks = startWebhooks({
    ...{ db, config, log, imageUrl: (slug) => images.url(slug), resolveHost: options.resolveHost },
    producer: foundation.openProducerConnection(),
    consumer: foundation.openWorkerConnection(),
    onError: foundation.complain('webhooks are sent late'),
    missesNotices: foundation.missesNotices('webhooks are heard of late'),
  })
  const ports = {
    webhooks: webhooks.ports,
    models: modelStore(db),
    abilities: backendAbilities(db),
    moderator,
    lock: foundation.lock,
    submissions: submissionStore(db),
    idempotency: idempotencyStore(db),
    queue: foundation.queue,
    polls: pollStore(db),
    positions,
    progress,
    estimates: durationEstimates(db),
    following: createFollowing({ watch, positions, progress, previews }),
    cancels: cancelStore(db),
    watch,
    images,
    files: { read: images.read, withInfotext },
    history: historyStore(db),
    ledger: ledgerStore(db),
    removals: imageRemovals(db),
    generationDeadlineSeconds: config.generationDeadlineSeconds,
  }
  const authentication = { accounts: accountStore(db), guesses: foundation.counter, keyPrefix: config.keyPrefix }
  const limit = { counter: foundation.counter, ...config.rateLimit }
  const ready = async () => !draining.signal.aborted && (await isDatabaseReady(db))
  const app = await buildApp({
    log,
    trustedProxies: config.trustedProxies,
    baseUrl: config.baseUrl,
    apiBaseUrl: config.apiBaseUrl,
    storagePath: config.storagePath,
    personal: { ports, authentication, limit, leaving: leaving.signal, streamTimes: options.streamTimes },
    createImage: {
      ports,
      authentication,
      limit,
      timeoutSeconds: options.createImageTimeoutSeconds ?? CREATE_IMAGE_TIMEOUT_SECONDS,
      leaving: leaving.signal,
      maxWaiting: options.maxWaiting,
    },
    pages: { images: publishedImages(db), imageUrl: (slug) => images.url(slug), baseUrl: config.baseUrl },
    ready,
    moderationIsSilent: moderator.isSilent,
    draining: { begun: draining.signal, leaving: leaving.signal },
    slots: options.slots,
  })
  const reconciler = foundation.startReconciler(images)
  const takedowns = foundation.startTakedowns(images)
  const audit = foundation.startAudit()
  let health: Awaited<ReturnType<typeof listenForHealth>> | undefined
  const stop = async () => {
    draining.abort()
    const auditEnded = audit.stop()
    const waitersEnd = setTimeout(() => leaving.abort(), options.waitersMs ?? WAITERS_MS)
    // If the port was taken, nobody needs the notice.
    if (app.server.listening && options.noticeMs) await after(options.noticeMs)
    // Other servers send the webhooks that come from now on, or this one after its restart.
    await Promise.all([app.close(), webhooks.stop()])
    clearTimeout(waitersEnd)
    takedowns.stop()
    await Promise.all([reconciler.stop(), auditEnded])
    await watch.close()
    await foundation.close()
    await health?.stop()
  }
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    const { host, metricsPort } = config
    if (metricsPort !== undefined) health = await listenForHealth({ host, port: metricsPort }, ready)
    log.info({ url, mode: config.redisUrl ? 'redis' : 'one machine' }, 'server listening')
    return { stop, url }
  } catch (error) {
    await stop()
    throw error
  }
}
