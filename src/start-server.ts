import { setTimeout as after } from 'node:timers/promises'
import type { Logger } from 'pino'
import { accountMails, keepMails } from './account/account-mails.js'
import { auditResults } from './audit/periodic-audit.js'
import type { Config } from './config.js'
import { accountStore } from './db/account-store.js'
import { administration } from './db/administration-store.js'
import { backendAbilities } from './db/backend-store.js'
import { ledgerStore } from './db/credit-store.js'
import { isDatabaseReady } from './db/database-checks.js'
import { durationEstimates } from './db/duration-estimates.js'
import { cancelStore } from './db/failure-store.js'
import { generationWatch, pollStore } from './db/generation-views.js'
import { historyStore } from './db/history-store.js'
import { idempotencyStore } from './db/idempotency-store.js'
import { identityStore } from './db/identity-store.js'
import { imageRemovals, publishedImages } from './db/image-records.js'
import { modelStore, operatorModelStore } from './db/model-store.js'
import { listenTo } from './db/notices.js'
import { operatorActionStore } from './db/operator-action-store.js'
import { oversight } from './db/oversight-store.js'
import { ownKeyStore } from './db/own-key-store.js'
import { pauseStore } from './db/pause-store.js'
import { queuePositions } from './db/queue-positions.js'
import { refusedPromptLog, refusedPromptNotes } from './db/refused-prompt-store.js'
import { removedImageList } from './db/removed-image-list.js'
import { credentialStore, sessionStore } from './db/session-store.js'
import { spendingStore } from './db/spending-store.js'
import { submissionStore } from './db/submission-store.js'
import { unsentMailStore } from './db/unsent-mail-store.js'
import { webhookDeliveryStore, webhookSubjectStore } from './db/webhook-delivery-store.js'
import { webhookEndpointStore } from './db/webhook-endpoint-store.js'
import { listenForHealth } from './entry.js'
import { createFollowing } from './generation/follow/follow.js'
import type { ImageStore } from './generation/shared-ports.js'
import type { SlotLimits } from './http/admission.js'
import { buildApp } from './http/app.js'
import type { StreamTimes } from './http/server-sent-events.js'
import { webhookPayload } from './http/webhook-payload.js'
import { forViewing } from './images/for-viewing.js'
import { openImageStore } from './images/open-image-store.js'
import { withInfotext } from './images/png-text.js'
import { occasionally } from './log.js'
import { agentDoor } from './mcp/agent-door.js'
import { createModerator } from './moderation/create-moderator.js'
import { identityProvider } from './outbound/identity-provider.js'
import { smtpMail } from './outbound/smtp-mail.js'
import { type ResolveHost, webhookSender } from './outbound/webhook-sender.js'
import { addressPolicy, webhookTargets } from './outbound/webhook-targets.js'
import { startWebhookWorker, webhookJobs } from './queue/webhook-jobs.js'
import { website } from './web/website.js'
import { webhookDispatcher } from './webhooks/dispatcher.js'
import { newEndpointId } from './webhooks/webhook.js'
import { type Foundation, openFoundation, type TestOptions } from './wiring.js'

const MAX_CONNECTIONS = 20
const CREATE_IMAGE_TIMEOUT_SECONDS = 120
/** How long clients that wait for Create Image are still served after SIGTERM; the notice is part of this time. */
const WAITERS_MS = 25_000
/** How long webhooks that are being sent may take when the server leaves; another process sends the rest. */
const WEBHOOKS_MS = 5000
const WEBHOOK_JOBS_MS = 1000
/** The same for mails; what takes longer is lost, and asked for again. */
const MAILS_MS = 5000
const FORGET_EVERY_MS = 3_600_000

export interface ServerOptions extends TestOptions {
  readonly createImageTimeoutSeconds?: number
  readonly waitersMs?: number
  /** How long /ready answers 503 before the port closes; everything else is served meanwhile. */
  readonly noticeMs?: number
  readonly slots?: SlotLimits
  readonly maxWaiting?: number
  readonly streamTimes?: StreamTimes
  /** Replaces the DNS for the hosts of webhooks. */
  readonly resolveHost?: ResolveHost
}

/** Wires the HTTP server and listens. It ends in this order: new work, waiting clients, background work, stores. */
export async function startServer(config: Config, log: Logger, options: ServerOptions = {}) {
  const moderator = createModerator({ ...config.moderation, logger: log })
  const images = await openImageStore(config, (err) => log.error({ err }, 'images can not be stored yet'))
  const foundation = await openFoundation(config, log, { maxConnections: MAX_CONNECTIONS, ...options })
  const { db, lock, queue, progress, previews, counter } = foundation
  const missed = foundation.missesNotices('waiting for generations is disturbed')
  const watch = generationWatch(db, config.databaseListenUrl, missed)
  const positions = queuePositions(db)
  const draining = new AbortController()
  const leaving = new AbortController()
  const webhooks = startWebhooks(config, log, foundation, images, options.resolveHost)
  const ports = {
    webhooks: webhooks.ports,
    models: modelStore(db),
    abilities: backendAbilities(db),
    moderator,
    refusedPrompts: refusedPromptNotes(
      db,
      occasionally((_times, err: unknown) => log.warn({ err }, 'refused prompts are not recorded')),
    ),
    lock,
    submissions: submissionStore(db),
    idempotency: idempotencyStore(db),
    queue,
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
  const authentication = { accounts: accountStore(db), guesses: counter, keyPrefix: config.keyPrefix }
  const limit = { counter, ...config.rateLimit }
  const ready = async () => !draining.signal.aborted && (await isDatabaseReady(db))
  const published = publishedImages(db)
  const signingIn = startSigningIn(config, log, foundation)
  const websitePorts = {
    ...ports,
    ...signingIn.ports,
    publishedImages: published,
    operatorActions: operatorActionStore(db),
    oversight: oversight(db),
    pauses: pauseStore(db),
    catalog: operatorModelStore(db),
    administration: administration(db),
    refusedPromptLog: refusedPromptLog(db),
    removedImages: removedImageList(db),
    auditResults: auditResults(db.pool),
    ownKeys: ownKeyStore(db),
    spending: spendingStore(db),
    guesses: counter,
  }
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
    publishedImages: published,
    website: website({
      ...config,
      ports: websitePorts,
      provider: signingIn.provider,
      leaving: leaving.signal,
    }),
    agents: agentDoor({
      ports: { ...ports, forViewing },
      authentication,
      limit,
      baseUrl: config.baseUrl,
      timeoutSeconds: options.createImageTimeoutSeconds ?? CREATE_IMAGE_TIMEOUT_SECONDS,
      leaving: leaving.signal,
    }),
    ready,
    moderationIsSilent: moderator.isSilent,
    draining: { begun: draining.signal, leaving: leaving.signal },
    slots: options.slots,
  })
  const reconciler = foundation.startReconciler(images)
  const takedowns = foundation.startTakedowns(images)
  const audit = foundation.startAudit()
  let closeHealthPort: (() => Promise<void>) | undefined
  const stop = async () => {
    draining.abort()
    const auditEnded = audit.stop()
    const waitersEnd = setTimeout(() => leaving.abort(), options.waitersMs ?? WAITERS_MS)
    // No client uses this server if its port was taken.
    if (app.server.listening && options.noticeMs) await after(options.noticeMs)
    // Later webhooks are sent by other servers, or by this one after its restart.
    await Promise.all([app.close(), webhooks.stop()])
    await signingIn.stop()
    clearTimeout(waitersEnd)
    takedowns.stop()
    await Promise.all([reconciler.stop(), auditEnded])
    await watch.close()
    await foundation.close()
    await closeHealthPort?.()
  }
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    closeHealthPort = await listenForHealth(config, ready)
    log.info({ url, mode: config.redisUrl ? 'redis' : 'one machine' }, 'server listening')
    return { stop, url }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Wires the webhooks of one server: the ports of its routes, and the sending of due deliveries. */
function startWebhooks(config: Config, log: Logger, foundation: Foundation, images: ImageStore, dns?: ResolveHost) {
  const { db, complain, missesNotices, openProducerConnection, openWorkerConnection } = foundation
  const { allowHttp, allowedNetworks } = config.webhooks
  const target = { allowHttp, policy: addressPolicy(allowedNetworks) }
  const onError = complain('webhooks are sent late')
  const subjects = webhookSubjectStore(db)
  const deliveries = webhookDeliveryStore(db)
  const jobs = webhookJobs(openProducerConnection(), onError)
  const dispatcher = webhookDispatcher({
    deliveries,
    payloadOf: async (delivery) => {
      const { generationId: id } = delivery
      return webhookPayload(delivery, id === null ? undefined : await subjects.find(id), images.url)
    },
    sender: webhookSender({ ...target, resolveHost: dns }),
    jobs,
    log,
  })
  // Postgres notifies every server of an end, and one of them gets the job. If it can't be enqueued, this server sends.
  const enqueueOrSend = async (seq: number) => {
    if (!(await jobs.enqueue({ seq, attempts: 0 }, 0))) await dispatcher.sendDue()
  }
  const missed = missesNotices('due webhooks are noticed late')
  const notices = listenTo(config.databaseListenUrl, 'webhook_due', (seq) => void enqueueOrSend(Number(seq)), missed)
  const worker = startWebhookWorker({ connection: openWorkerConnection(), onJob: () => dispatcher.sendDue(), onError })
  dispatcher.start()

  return {
    ports: {
      endpoints: webhookEndpointStore(db, newEndpointId, (id) => deliveries.endWaiting(id)),
      targets: webhookTargets(target),
    },
    async stop() {
      await Promise.all([notices.close(), worker.close(WEBHOOK_JOBS_MS), dispatcher.stop(WEBHOOKS_MS)])
      await jobs.close()
    },
  }
}

/** Wires how people sign in to the website, and the mails that this takes. */
function startSigningIn({ baseUrl, mail, oidc }: Config, log: Logger, { db, counter }: Foundation) {
  const credentials = credentialStore(db)
  const unsentMails = unsentMailStore(db)
  if (mail.smtpUrl === undefined) log.warn('SMTP_URL is not set: mails go to this log and to /operator/mails')
  const send = mail.smtpUrl === undefined ? keepMails(unsentMails, log) : smtpMail(mail.smtpUrl, mail.from)
  const mails = accountMails({ credentials, send, counter, log }, baseUrl)
  const forget = () =>
    credentials.forgetExpired().catch((err) => log.warn({ err }, 'expired links are forgotten an hour later'))
  const forgetting = setInterval(forget, FORGET_EVERY_MS).unref()
  void forget()
  const redirectUri = `${baseUrl}/sign-in/oidc/callback`
  return {
    ports: { credentials, unsentMails, mails, sessions: sessionStore(db), identities: identityStore(db) },
    provider: oidc && { ...identityProvider({ ...oidc, redirectUri }), secret: oidc.clientSecret },
    async stop() {
      clearInterval(forgetting)
      await Promise.race([mails.settled(), after(MAILS_MS, undefined, { ref: false })])
    },
  }
}
