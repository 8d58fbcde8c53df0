import { setTimeout as after } from 'node:timers/promises'
import type { Logger } from 'pino'
import { coverPath } from '../core/catalog/cover.js'
import type { ModelVersion } from '../core/catalog/model-version.js'
import { serviceUnavailable } from '../core/errors.js'
import type { CancelStore } from '../core/generations/cancel.js'
import { timeLeft } from '../core/generations/follow/eta.js'
import { createFollowing } from '../core/generations/follow/follow.js'
import { hiddenImages } from '../core/images/hidden-images.js'
import { imageLinks } from '../core/images/image-links.js'
import { isOtherStore } from '../core/images/other-store.js'
import type { ImageFiles } from '../core/images/ports.js'
import { occasionally } from '../core/log.js'
import { release } from '../core/release.js'
import { accountStore } from '../db/accounts/accounts.js'
import { ledgerStore } from '../db/accounts/ledger.js'
import { usageStore } from '../db/accounts/usage.js'
import { modelStore } from '../db/catalog/models.js'
import { galleryStore } from '../db/gallery/gallery.js'
import { backendAbilities } from '../db/generations/backends.js'
import { cancelStore } from '../db/generations/end.js'
import { durationEstimates, queuePositions } from '../db/generations/estimates.js'
import { historyStore } from '../db/generations/history.js'
import { generationWatch, pollStore } from '../db/generations/poll.js'
import { submissionStore } from '../db/generations/submit/charged.js'
import { idempotencyStore } from '../db/generations/submit/idempotency.js'
import { refusedPromptNotes } from '../db/generations/submit/refused-prompts.js'
import { unansweredStore } from '../db/generations/submit/unanswered.js'
import { hiddenImageRows } from '../db/images/hidden-images.js'
import { imageSecret } from '../db/images/privacy.js'
import { publishedImages, somePublished } from '../db/images/published-images.js'
import { imageRemovals } from '../db/images/removals.js'
import { uploadRights } from '../db/images/upload-rights.js'
import { serviceState } from '../db/operator/service-state.js'
import type { AdmissionLimits } from '../http/server/admission.js'
import { buildApp } from '../http/server/app.js'
import { connectionLimits, openFileLimit } from '../http/server/connection-limits.js'
import type { StreamTimes } from '../http/shared/server-sent-events.js'
import type { AnyImageStore } from '../images/any-image-store.js'
import { webpOf, zipOf } from '../images/image-downloads.js'
import { openImageStore } from '../images/open-image-store.js'
import { withInfotext } from '../images/png-text.js'
import { s3Bucket } from '../images/s3-bucket.js'
import { scaleForModel } from '../images/scale-for-model.js'
import { storageName } from '../images/storage.js'
import { repeatedly } from '../lib/repeatedly.js'
import { mcp } from '../mcp/plugin.js'
import { createModerator } from '../moderation/create-moderator.js'
import type { ResolveHost } from '../outbound/webhook-targets.js'
import { startAccountPurges } from './account-purges.js'
import { adminPorts } from './admin-ports.js'
import type { Config } from './config.js'
import { openFoundation, type ProcessOptions } from './foundation.js'
import { openHealthPort, readiness } from './health.js'
import { allImageFiles } from './image-files.js'
import { openPayment } from './open-payment.js'
import { openSite } from './open-site.js'
import { type Payment, startBilling } from './start-billing.js'
import { startUpNext } from './start-up-next.js'
import { startWebhooks } from './start-webhooks.js'
import { startWebsite } from './start-website.js'

const MAX_CONNECTIONS = 20
const CREATE_IMAGE_TIMEOUT_SECONDS = 120
/** How long clients that wait for Create Image are still served after SIGTERM; the notice is part of this time. */
const WAITERS_MS = 25_000
const OTHER_STORE =
  'none of the images that were published is in the image store: mount its disk, or correct STORAGE_URL, since new images go there'

/** The one line of a generation that was canceled here; other ends are in the log of who ended them. */
const told = ({ cancel }: CancelStore, log: Logger): CancelStore => ({
  async cancel(...given) {
    const ended = await cancel(...given)
    if (ended) log.info({ generationId: ended.id, requestId: ended.requestId }, 'generation canceled')
    return ended
  },
})

/** A store that is away is no defect: whoever asks may come again. */
const readingFrom =
  ({ read }: AnyImageStore): ImageFiles['read'] =>
  (slug) =>
    read(slug).catch((cause) => {
      throw serviceUnavailable(5, cause)
    })

export interface ServerOptions extends ProcessOptions {
  readonly createImageTimeoutSeconds?: number
  readonly waitersMs?: number
  /** How long /ready answers 503 before the port closes; everything else is served meanwhile. */
  readonly noticeMs?: number
  /** What the notice waits for instead, in tests. */
  readonly notice?: Promise<unknown>
  readonly slots?: AdmissionLimits
  readonly maxWaiting?: number
  readonly streamTimes?: StreamTimes
  /** How often mails that are due are looked for. */
  readonly mailPollMs?: number
  /** Takes the place of the provider of the configuration. */
  readonly payment?: Payment | undefined
  /** Replaces the DNS for the hosts of webhooks. */
  readonly resolveHost?: ResolveHost
}

/** Wires the HTTP server and listens. It ends in this order: new work, waiting clients, background work, stores. */
export async function startServer(config: Config, log: Logger, options: ServerOptions = {}) {
  const { site, assets } = openSite(config)
  const moderator = createModerator({ ...config.moderation, logger: log })
  const { probeBytes } = options
  const publicImages = await openImageStore({ ...config, probeBytes }, log)
  const foundation = await openFoundation(config, log, { maxConnections: MAX_CONNECTIONS, ...options })
  const { db, reads, lock, queue, progress, previews, counter } = foundation
  const images = allImageFiles(publicImages, config, db)
  const links = imageLinks(imageSecret(db))
  const missed = foundation.onNotificationsLost('waiting for generations is disturbed')
  const watch = generationWatch(db, config.databaseListenUrl, missed)
  const positions = queuePositions(db)
  const draining = new AbortController()
  const leaving = new AbortController()
  const webhooks = startWebhooks(config, log, foundation, images, options)
  const payment = options.payment ?? (await openPayment(config))
  const billing = payment && startBilling(payment, config, log, foundation, options)
  const estimates = durationEstimates(db)
  const plainPorts = {
    webhooks: webhooks.ports,
    models: modelStore(db, config.defaultModelVersionId),
    coverUrl: (model: ModelVersion) => (model.cover ? config.baseUrl + coverPath(model) : model.coverImage),
    abilities: backendAbilities(db),
    moderator,
    refusedPrompts: refusedPromptNotes(
      db,
      occasionally((_times, err: unknown) => log.warn({ err }, 'refused prompts are not recorded')),
    ),
    checks: counter,
    lock,
    submissions: submissionStore(db),
    idempotency: idempotencyStore(db),
    unanswered: unansweredStore(db),
    queue,
    polls: pollStore(db),
    positions,
    progress,
    estimates,
    timeLeft: timeLeft({ positions, progress, estimates }),
    following: createFollowing({ watch, positions, progress, previews }),
    cancels: told(cancelStore(db), log),
    watch,
    images,
    files: { read: readingFrom(images), withInfotext, zipOf, webpOf },
    history: historyStore(db, reads),
    gallery: galleryStore(db, reads),
    ledger: ledgerStore(db),
    usage: usageStore(reads),
    removals: imageRemovals(db),
    generationDeadlineSeconds: config.generationDeadlineSeconds,
  }
  const { tracing, metrics, wrappers } = options
  const countedPorts = metrics?.submits(plainPorts) ?? plainPorts
  const tracedPorts = tracing?.submits(countedPorts) ?? countedPorts
  const ports = wrappers?.submits(tracedPorts) ?? tracedPorts
  const authentication = { accounts: accountStore(db), guesses: counter, keyPrefix: config.keyPrefix }
  const limit = { counter, ...config.rateLimit }
  const silent = 'The moderation endpoint does not answer, so NSFW models are refused: check MODERATION_URL.'
  const moderation = { vital: false, problem: () => (moderator.isSilent() ? silent : undefined) }
  const imageChecks = { vital: false, problem: images.problem }
  const ready = readiness({ ...foundation.checks, moderation, images: imageChecks }, () => draining.signal.aborted)
  const published = publishedImages(db)
  const hidden = hiddenImages(hiddenImageRows(db))
  // Once before the first request, which may come while Postgres is away.
  await hidden.refresh().catch(() => undefined)
  const { website, stop: stopWebsite } = startWebsite(config, log, foundation, {
    ...{ ports, site, assets },
    ownRules: moderator,
    ...{ published, links },
    provider: payment?.provider,
    leaving: leaving.signal,
    mailPollMs: options.mailPollMs,
  })
  const app = await buildApp({
    log,
    observe: (app) => {
      tracing?.requests(app)
      metrics?.requests(app)
    },
    trustedProxies: config.trustedProxies,
    site,
    baseUrl: config.baseUrl,
    apiBaseUrl: config.apiBaseUrl,
    openFile: images.open,
    hiddenImages: hidden,
    privateImages: { open: images.privateFiles.open, links },
    uploads:
      config.uploads && config.storage.kind === 's3'
        ? {
            secret: config.uploads.secret,
            rights: uploadRights(db),
            published,
            bucket: s3Bucket(config.storage),
            images,
          }
        : undefined,
    billing: billing?.routes,
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
    admin: {
      ports: adminPorts(config, foundation, images, ports, payment?.provider),
      ...{ authentication, limit, baseUrl: config.baseUrl },
    },
    website,
    agents: mcp({
      ports: { ...ports, scaleForModel },
      authentication,
      limit,
      baseUrl: config.baseUrl,
      allowedOrigins: config.mcpAllowedOrigins,
      leaving: leaving.signal,
    }),
    ready: async () => (await ready()).ready,
    moderationIsSilent: moderator.isSilent,
    release: release(config.commit),
    draining: { begun: draining.signal, leaving: leaving.signal },
    slots: options.slots,
    connections: connectionLimits(openFileLimit(), log),
  })
  if (config.baseUrl.startsWith('https:') && config.cdnBaseUrl.startsWith('http:'))
    log.warn('browsers may show no images: CDN_BASE_URL must begin with https://, as BASE_URL does')
  // What is away is told by others.
  void isOtherStore({ somePublished: somePublished(db), images })
    .then((isOther) => isOther && log.error({ storage: storageName(config.storage) }, OTHER_STORE))
    .catch(() => undefined)
  const stopChecks = images.untilUsable()
  const reconciler = foundation.startReconciler(images)
  const takedowns = foundation.startTakedowns(images)
  const laterPurges = foundation.startLaterPurges()
  const moves = foundation.startImageMoves(images)
  // The pool says when Postgres is away.
  const refreshing = repeatedly(hidden.refresh, () => undefined)
  const retention = foundation.startRetention()
  const months = foundation.startMonths()
  const archive = foundation.startArchive()
  const purges = startAccountPurges(config, foundation, images, {
    onEnd: (userId) => log.info({ userId }, 'an account was deleted by its owner, and wiped'),
    onFault: occasionally((_times, err: unknown) => log.warn({ err }, 'deleted accounts are wiped later')),
  })
  const audit = foundation.startAudit()
  const upNext = startUpNext(config, log, foundation, ports)
  let closeHealthPort: (() => Promise<void>) | undefined
  const stop = async () => {
    draining.abort()
    const auditEnded = audit.stop()
    const waitersEnd = setTimeout(() => leaving.abort(), options.waitersMs ?? WAITERS_MS)
    // No client uses this server if its port was taken.
    if (app.server.listening) await (options.notice ?? (options.noticeMs && after(options.noticeMs)))
    // Later webhooks are sent by other servers, or by this one after its restart.
    await Promise.all([app.close(), webhooks.stop(), billing?.stop(), upNext.stop()])
    await stopWebsite()
    clearTimeout(waitersEnd)
    takedowns.stop()
    laterPurges?.stop()
    moves.stop()
    refreshing.stop()
    retention.stop()
    months?.stop()
    archive.stop()
    purges.stop()
    stopChecks()
    await Promise.all([reconciler.stop(), auditEnded])
    await watch.close()
    await foundation.close()
    await closeHealthPort?.()
  }
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    metrics?.watch({
      problems: async () => (await ready()).problems,
      state: () => serviceState(db),
      pool: db.pool,
    })
    closeHealthPort = await openHealthPort(config, log, ready, metrics)
    log.info({ url, mode: config.redisUrl ? 'redis' : 'one machine' }, 'server listening')
    return { stop, url }
  } catch (error) {
    await stop()
    throw error
  }
}
