import type { Logger } from 'pino'
import type { Config } from './config.js'
import { accountStore } from './db/account-store.js'
import { cancelStore } from './db/cancel-store.js'
import { finishedGenerations } from './db/finished-generations.js'
import { idempotencyStore } from './db/idempotency-store.js'
import { modelStore } from './db/model-store.js'
import { pictureStore } from './db/picture-store.js'
import { pollStore } from './db/poll-store.js'
import { queuePositions } from './db/queue-positions.js'
import { submissionStore } from './db/submission-store.js'
import type { Running } from './entry.js'
import { buildApp } from './http/app.js'
import { openImageStore } from './images/create-image-store.js'
import { createModerator } from './moderation/create-moderator.js'
import { openFoundation } from './wiring.js'

const MAX_CONNECTIONS = 20
const CREATE_IMAGE_TIMEOUT_SECONDS = 120
/** How long Create Image waiters are still served after SIGTERM. */
const WAITERS_MS = 25_000

export interface ServerOptions {
  /** Prefix of everything in Redis; tests give each run its own. */
  readonly namespace?: string
  readonly createImageTimeoutSeconds?: number
  readonly waitersMs?: number
  /** How long /ready says 503 before the port closes, so that a load balancer sends its requests elsewhere. */
  readonly noticeMs?: number
}

/** Wires the HTTP server and lets it listen. The order of closing: new work, waiting clients, background work, stores. */
export async function startServer(
  config: Config,
  log: Logger,
  options: ServerOptions = {},
): Promise<Running & { url: string }> {
  const moderator = createModerator({ ...config.moderation, logger: log })
  const images = await openImageStore(config, (err) => log.error({ err }, 'pictures can not be stored yet'))
  const foundation = await openFoundation(config, log, { maxConnections: MAX_CONNECTIONS, ...options })
  const { db } = foundation
  const finished = finishedGenerations(db, config.databaseUrl, (err) =>
    log.warn({ err }, 'waiting for generations is disturbed'),
  )

  const leaving = new AbortController()
  let draining = false
  const ports = {
    models: modelStore(db),
    moderator,
    lock: foundation.lock,
    submissions: submissionStore(db),
    idempotency: idempotencyStore(db),
    queue: foundation.queue,
    polls: pollStore(db),
    positions: queuePositions(db),
    progress: foundation.progress,
    cancels: cancelStore(db),
    finished,
    images,
    generationDeadlineSeconds: config.generationDeadlineSeconds,
  }
  const authentication = { accounts: accountStore(db), guesses: foundation.counter, keyPrefix: config.keyPrefix }
  const limit = { counter: foundation.counter, ...config.rateLimit }
  const app = await buildApp({
    log,
    trustedProxies: config.trustedProxies,
    baseUrl: config.baseUrl,
    apiBaseUrl: config.apiBaseUrl,
    storagePath: config.storagePath,
    personal: { ports, authentication, limit, baseUrl: config.baseUrl },
    createImage: {
      ports,
      authentication,
      limit,
      timeoutSeconds: options.createImageTimeoutSeconds ?? CREATE_IMAGE_TIMEOUT_SECONDS,
      leaving: leaving.signal,
    },
    pages: { pictures: pictureStore(db), imageUrl: (slug) => images.url(slug), baseUrl: config.baseUrl },
    ready: async () => {
      if (draining) return false
      return db.pool.query('SELECT 1 FROM generations LIMIT 1').then(
        () => true,
        () => false,
      )
    },
  })
  const reconciler = foundation.startReconciler(images)
  const stop = async () => {
    draining = true
    if (options.noticeMs) await new Promise((resolve) => setTimeout(resolve, options.noticeMs))
    const waitersEnd = setTimeout(() => leaving.abort(), options.waitersMs ?? WAITERS_MS)
    await app.close()
    clearTimeout(waitersEnd)
    await reconciler.stop()
    await finished.close()
    await foundation.close()
  }
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    log.info({ url, mode: config.redisUrl ? 'redis' : 'one machine' }, 'server listening')
    return { stop, url }
  } catch (error) {
    await stop()
    throw error
  }
}
