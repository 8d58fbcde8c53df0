import type { Logger } from 'pino'
import { backendLoop } from '../core/generations/run/backend-loop.js'
import { RUN_TIMES } from '../core/generations/run/times.js'
import { occasionally } from '../core/log.js'
import { modelStore } from '../db/catalog/models.js'
import { backendRegistry } from '../db/generations/backends.js'
import { definitionStore } from '../db/generations/definitions.js'
import { generationEnds } from '../db/generations/poll.js'
import { runStore } from '../db/generations/run.js'
import { refusedPromptNotes } from '../db/generations/submit/refused-prompts.js'
import { workerCall } from '../db/notifications.js'
import { finishImage } from '../images/finish-image.js'
import { openImageStore } from '../images/open-image-store.js'
import { scaleForModel } from '../images/scale-for-model.js'
import { smallPreviews } from '../images/small-previews.js'
import { imageStoreViaServer } from '../images/upload-via-server.js'
import { watchedImageStore } from '../images/watched-image-store.js'
import { createBackend } from '../inference/create-backend.js'
import { createImageModerator } from '../moderation/image-moderator.js'
import type { JobWorkerOptions } from '../queue/job-worker.js'
import { startGenerationWorker } from '../queue/queues.js'
import type { Config } from './config.js'
import { openFoundation, type ProcessOptions, processId } from './foundation.js'
import { openHealthPort, readiness } from './health.js'
import type { Running } from './run-process.js'

/** How long running generations may take after SIGTERM; then they are put back in their places. */
const DRAIN_MS = 25_000
const CLOSE_MS = 3000
/** Connections to Postgres: its backends share them. Two for each would be far too many of a host with many GPUs. */
const MAX_CONNECTIONS = 20
/** Each backend is announced in Postgres every 5 s. If for so long none could be, the worker is not ready. */
const SILENT_MS = 15_000

const TIMES = {
  ...RUN_TIMES,
  /** An idle backend polls for work this often even when nothing wakes it. */
  pollMs: 2000,
}

export interface WorkerOptions extends ProcessOptions {
  readonly drainMs?: number
  readonly jobTimes?: JobWorkerOptions['times']
  /** Others are for tests. */
  readonly times?: Partial<Readonly<typeof TIMES>>
}

/** Wires one worker: each backend in INFERENCE_URL works through the queue on its own. */
export async function startWorker(config: Config, log: Logger, options: WorkerOptions = {}): Promise<Running> {
  const { uploads, cdnBaseUrl } = config
  const { tracing, metrics, wrappers, probeBytes } = options
  const images = uploads
    ? watchedImageStore(imageStoreViaServer({ ...uploads, cdnBaseUrl, probeBytes }), log)
    : await openImageStore({ ...config, probeBytes }, log)
  /** The model files that servers should have. */
  const wanted = async () => (await models.listEnabled()).map(({ filename }) => filename)
  const definitions = async () => needed()
  const backends = config.inferenceUrls
    .map((url) => createBackend(url, { timeoutMs: config.inferenceTimeoutMs, logger: log, wanted, definitions }))
    .map((backend) => metrics?.backend(backend) ?? backend)
    .map((backend) => tracing?.backend(backend) ?? backend)
    .map((backend) => wrappers?.backend(backend) ?? backend)
  const foundation = await openFoundation(config, log, {
    maxConnections: Math.min(backends.length * 2 + 4, MAX_CONNECTIONS),
    ...options,
  })
  const { db, queue, lock, progress, previews } = foundation
  // Of their own: while the disk of Postgres stands still, claims and ends keep all others.
  const leases = foundation.openDatabase(1)
  const models = modelStore(db)
  const { needed } = definitionStore(db)
  const isNsfw = async (id: number) => (await models.find(id))?.nsfw ?? false
  const imageModerator =
    config.imageModeration && createImageModerator({ ...config.imageModeration, logger: log, isNsfw, scaleForModel })
  const ends = generationEnds(
    config.databaseListenUrl,
    foundation.onNotificationsLost('cancellations are noticed late'),
  )
  const registry = backendRegistry(db)
  let announcedAt = Number.NEGATIVE_INFINITY
  const ports = {
    runs: runStore(db, config, leases),
    ends,
    backends: {
      ...registry,
      announce: async (...given: Parameters<typeof registry.announce>) => {
        await registry.announce(...given)
        announcedAt = performance.now()
      },
    },
    lock,
    queue,
    images,
    progress,
    // None if images are moderated: a preview would show what the check refuses.
    previews: imageModerator ? { ...previews, set: async () => undefined } : smallPreviews(previews),
    finishImage,
    checkImage: imageModerator?.check,
    refundRefused: config.imageModeration?.refunds,
    refusedPrompts: refusedPromptNotes(
      db,
      occasionally((_times, err: unknown) => log.warn({ err }, 'refused images are not recorded')),
    ),
    log,
  }
  const times = { ...TIMES, ...options.times }
  const loopOptions = { worker: processId, affinityMaxDelayMs: config.affinityMaxDelaySeconds * 1000, times }
  // In this order: tracing replaces the port `around`, and the metrics call it.
  const tracedPorts = tracing?.runs(ports, processId) ?? ports
  const countedPorts = metrics?.runs(tracedPorts, config) ?? tracedPorts
  const runPorts = wrappers?.runs(countedPorts) ?? countedPorts
  const loops = backends.map((backend) => backendLoop(runPorts, backend, loopOptions))
  const pollForWork = () => {
    for (const loop of loops) void loop.serve()
  }
  const onCallsLost = foundation.onNotificationsLost('calls of other workers are lost')
  const onAsked = () => {
    for (const loop of loops) loop.look()
  }
  const call = workerCall(db, config.databaseListenUrl, { onCall: pollForWork, onAsked }, onCallsLost)
  // A job only wakes: one idle backend after the other tries to claim. If none can, other workers may.
  const serve = async () => {
    for (const loop of loops) if (await loop.serve()) return
    await call.callOthers()
  }
  let leaving = false
  const isSilent = () => performance.now() - announcedAt > SILENT_MS
  const unannounced = 'No backend of this worker could be announced in Postgres for 15 s: see its log.'
  const announceCheck = { vital: true, problem: () => (isSilent() ? unannounced : undefined) }
  const unchecked = 'The moderation endpoint for images does not answer: check IMAGE_MODERATION_URL.'
  const moderationCheck = { vital: false, problem: () => (imageModerator?.isSilent() ? unchecked : undefined) }
  const storeCheck = { vital: false, problem: images.problem }
  const ready = readiness(
    {
      ...foundation.checks,
      backends: announceCheck,
      images: storeCheck,
      ...(imageModerator && { imageModeration: moderationCheck }),
    },
    () => leaving,
  )
  metrics?.watch({ problems: async () => (await ready()).problems, pool: db.pool })
  // Before it takes any work: where the port is taken, the process ends here.
  const closeHealthPort = await openHealthPort(config, log, ready, metrics)
  await Promise.all(loops.map((loop) => loop.start()))
  const jobs = startGenerationWorker({
    connection: foundation.openWorkerConnection(),
    concurrency: loops.length,
    onJob: serve,
    onError: foundation.logErrors('queue error'),
    telemetry: tracing?.telemetry,
    times: options.jobTimes,
  })
  const poll = setInterval(pollForWork, times.pollMs)
  const reconciler = foundation.startReconciler(images)
  // Without the bucket's key it can look at no image: the servers audit.
  const audit = uploads ? undefined : foundation.startAudit()
  if (config.inferenceUrls.includes('preview:')) {
    log.warn({ worker: processId }, 'preview: draws stand-in images, no model runs; set INFERENCE_URL to a GPU server')
  }
  log.info({ worker: processId, backends: backends.map(({ name }) => name) }, 'worker started')

  return {
    async stop(crashed = false) {
      leaving = true
      clearInterval(poll)
      const auditEnded = audit?.stop()
      const drained = Promise.all(loops.map((loop) => loop.drain()))
      const late = new Promise<void>((resolve) => setTimeout(resolve, options.drainMs ?? DRAIN_MS).unref())
      await Promise.race([drained, late])
      await Promise.all(loops.map((loop) => loop.close(crashed)))
      await jobs.close(CLOSE_MS)
      await call.close()
      await ends.close()
      await Promise.all([reconciler.stop(), auditEnded])
      await leases.pool.end().catch(() => undefined)
      await foundation.close()
      await closeHealthPort()
    },
  }
}
