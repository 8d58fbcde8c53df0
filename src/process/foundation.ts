/** Config → adapters, shared by the entry points; closed in the reverse order of their opening. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { startArchive } from '../core/generations/archive-months.js'
import type { CreateImagePorts } from '../core/generations/follow/follow.js'
import { startMonths } from '../core/generations/move-to-months.js'
import { type ReconcilerPorts, startReconciler } from '../core/generations/repair/reconcile.js'
import { startRetention } from '../core/generations/retention.js'
import type { InferenceBackend } from '../core/generations/run/backend.js'
import type { RunPorts } from '../core/generations/run/run.js'
import type { ImageStore } from '../core/images/ports.js'
import { startImageMoves } from '../core/images/privacy.js'
import { startTakedowns } from '../core/images/takedown.js'
import { occasionally } from '../core/log.js'
import { isOutage } from '../core/outage.js'
import { periodStore } from '../db/accounts/subscription-periods.js'
import { auditResults } from '../db/audit/audit-results.js'
import { type AuditTimes, auditTurn, startPeriodicAudit } from '../db/audit/periodic-audit.js'
import { databaseProblem, databaseRefusal, faultWatch, migrationProblem } from '../db/checks/database-checks.js'
import { startChecks } from '../db/checks/start-checks.js'
import { createDatabase } from '../db/client.js'
import { archiveStore } from '../db/generations/archive-store.js'
import { leaderLease, repairProblem } from '../db/generations/leader-lease.js'
import { postgresPreviewBoard, postgresProgressBoard } from '../db/generations/live-boards.js'
import { monthStore } from '../db/generations/move-to-months.js'
import { passLease } from '../db/generations/pass-lease.js'
import { reconcileStore } from '../db/generations/reconcile.js'
import { retentionStore } from '../db/generations/retention.js'
import { serverOf } from '../db/hosts.js'
import { imageMoves } from '../db/images/privacy.js'
import { takedownStore } from '../db/images/takedowns.js'
import { replicaReads } from '../db/read-replica.js'
import { archiveFiles } from '../images/archive-files.js'
import type { WholeImageStore } from '../images/private-files.js'
import type { QueueConnection } from '../queue/job-queue.js'
import { generationQueue } from '../queue/queues.js'
import { noActiveGenerationLock, redisActiveGenerationLock } from '../redis/active-generation-lock.js'
import {
  createFailFastRedis,
  createPatientRedis,
  createProducerRedis,
  redisAvailability,
  redisProblem,
  whenReady,
} from '../redis/client.js'
import type { RedisClient } from '../redis/cluster.js'
import { redisPreviewBoard, redisProgressBoard } from '../redis/live-boards.js'
import { localSlidingWindow, redisSlidingWindow } from '../redis/sliding-window.js'
import { noWipeMark, redisWipeMark } from '../redis/wipe-mark.js'
import type { Metrics } from '../telemetry/metrics/open-metrics.js'
import type { Tracing } from '../telemetry/tracing/open-tracing.js'
import { auditService } from './audit-service.js'
import { cdnPurges } from './cdn-purges.js'
import type { Config } from './config.js'
import type { ReadyCheck } from './health.js'
import { outageLog, TOLD_AFTER_MS } from './logger.js'
import { queuePrefix } from './namespace.js'

/** What every process needs to know the state of things and to change it. */
export type Foundation = Awaited<ReturnType<typeof openFoundation>>

/** Wraps ports, as tracing and metrics do. Each function takes ports and returns them with calls of its own around theirs. */
export interface PortWrappers {
  submits<Ports extends CreateImagePorts>(ports: Ports): Ports
  runs<Ports extends RunPorts>(ports: Ports): Ports
  backend(backend: InferenceBackend): InferenceBackend
  repairs<Ports extends ReconcilerPorts>(ports: Ports): Ports
}

/** What is not in the configuration; the rest is for tests. */
export interface ProcessOptions {
  /** Undefined: no traces. */
  readonly tracing?: Tracing | undefined
  /** Undefined: no metrics. */
  readonly metrics?: Metrics | undefined
  /** In place of the configuration's prefix in Redis: each run has its own. */
  readonly namespace?: string
  readonly auditTimes?: AuditTimes
  /** Outermost: they see each call as the core makes it. */
  readonly wrappers?: PortWrappers
  /** How long a submit that died keeps its account's lock. */
  readonly submitTtlMs?: number | undefined
  /** How much a check of the image store writes. */
  readonly probeBytes?: number | undefined
}

/** Of one periodic audit: few, since requests are served meanwhile; in time all are looked at. */
const AUDITED_IMAGES = 100

/** Opens Postgres, the queue and, where there is one, Redis. */
export async function openFoundation(
  config: Config,
  log: Logger,
  options: ProcessOptions & { readonly maxConnections: number },
) {
  const {
    maxConnections,
    namespace = config.redisPrefix,
    auditTimes,
    submitTtlMs,
    tracing,
    metrics,
    wrappers,
  } = options
  const postgres = outageLog(log, 'postgres')
  const redis = outageLog(log, 'redis')
  const onPostgresError = (err: Error) => {
    if (isOutage(err)) postgres.failed('pool', err)
  }
  const archive = archiveFiles(config)
  const openDatabase = (most: number) =>
    createDatabase(config.databaseUrl, {
      maxConnections: most,
      archiveFiles: archive,
      onError: onPostgresError,
      onFault: (err) => faults.noted(err),
      onSuccess: () => postgres.recovered('pool'),
    })
  const db = openDatabase(maxConnections)
  const faults = faultWatch({
    problem: () => databaseProblem(db),
    onFault: (err) => postgres.failed('statements', err),
    onEnd: () => postgres.recovered('statements'),
  })
  const replica = outageLog(log, 'read replica')
  const reads =
    config.databaseReadUrl === undefined
      ? undefined
      : replicaReads(db, config.databaseReadUrl, {
          onAway: (err) => {
            const sentence = databaseRefusal(err, 'DATABASE_READ_URL')
            replica.failed('reads', sentence ? new Error(sentence, { cause: err }) : err)
          },
          onAnswer: () => replica.recovered('reads'),
        })
  const isAnyAway = () => postgres.isAway() || redis.isAway()
  /** What to do with an error of the queue: one line in a while, none during an outage. */
  const logErrors = (sentence: string): ((error: Error) => void) =>
    // Later, because the queue may notice an outage before its connections do.
    throttled((err) => setTimeout(() => isAnyAway() || log.warn({ err }, sentence), TOLD_AFTER_MS).unref())

  const { redisUrl } = config
  const opened: RedisClient[] = []
  const open = (create: typeof createPatientRedis) => {
    const source = `connection ${opened.length + 1}`
    const client = create(redisUrl as string, (err) => redis.failed(source, err))
    // A lost connection says why only when it is opened anew.
    client.on('reconnecting', () => redis.failed(source, new Error('Connection is closed')))
    for (const event of ['ready', 'end']) client.on(event, () => redis.recovered(source))
    opened.push(client)
    return client
  }
  const shared = redisUrl === undefined ? undefined : open(createFailFastRedis)
  const connection = (create: typeof createPatientRedis): QueueConnection =>
    redisUrl === undefined
      ? { kind: 'postgres', ...serverOf(config.databaseListenUrl), prefix: namespace }
      : { kind: 'redis', redis: open(create), prefix: queuePrefix(namespace) }
  const openProducerConnection = () => connection(createProducerRedis)
  const producerConnection = openProducerConnection()
  const availability = redisAvailability()
  const lock = shared ? redisActiveGenerationLock(shared, namespace, availability, submitTtlMs) : noActiveGenerationLock
  const counter = shared ? redisSlidingWindow(shared, namespace, availability) : localSlidingWindow()
  /** Redis and the reconciler are missed by all processes alike, and the service goes on without them. */
  const checks: Readonly<Record<string, ReadyCheck>> = {
    postgres: { vital: true, problem: () => faults.problem() ?? databaseProblem(db) },
    /** Not vital: they may be of one kind only, such as submits. */
    statements: { vital: false, problem: () => faults.refused() },
    migrations: { vital: true, problem: () => migrationProblem(db) },
    ...(shared && { redis: { vital: false, problem: redisProblem(shared, namespace) } }),
    reconciler: { vital: false, problem: () => repairProblem(db) },
  }
  try {
    await Promise.all([
      startChecks(db, config.databaseListenUrl).then((sentences) => {
        for (const sentence of sentences) log.warn(sentence)
      }),
      ...opened.map((client) => whenReady(client)),
    ])
  } catch (error) {
    faults.stop()
    for (const client of opened) client.disconnect()
    await db.pool.end()
    throw error
  }
  // Its connections are set up in a way that a pooler must not pass on to others.
  const queue = generationQueue(producerConnection, logErrors('queue error'), tracing?.telemetry)

  const cdn = cdnPurges(config, db)

  return {
    db,
    /** For lists and statistics, never for what decides anything. */
    reads: reads ?? db,
    /** More connections to the same, which the caller closes. */
    openDatabase,
    queue,
    lock,
    progress: shared ? redisProgressBoard(shared, namespace, availability) : postgresProgressBoard(db),
    previews: shared ? redisPreviewBoard(shared, namespace, availability) : postgresPreviewBoard(db),
    counter: metrics?.limits(counter) ?? counter,
    /** Of what every process needs. */
    checks,
    /** For BullMQ's producing end. */
    openProducerConnection,
    /** For BullMQ's consuming end: a connection of its own. */
    openWorkerConnection: () => connection(createPatientRedis),
    logErrors,
    /** What to do when notices of Postgres are lost. */
    onNotificationsLost: (sentence: string) => (err: Error) => {
      onPostgresError(err)
      log.warn({ err }, sentence)
    },
    startReconciler: (images: ImageStore) => {
      const ports: ReconcilerPorts = {
        images,
        rows: reconcileStore(db, {
          refundFailed: config.refundFailed,
          onStuck: (err, generationId) => log.error({ err, generationId }, 'generation cannot be ended'),
        }),
        periods: periodStore(db),
        queue,
        lock,
        wipeMark: shared ? redisWipeMark(shared, namespace) : noWipeMark,
        leaderLease: leaderLease(db, 'reconciler', processId),
        log: {
          info: (facts, text) => log.info(facts, text),
          warn: (facts: { err?: unknown }, text) => (isAnyAway() && isOutage(facts.err)) || log.warn(facts, text),
          error: (facts, text) => log.error(facts, text),
        },
      }
      const countedPorts = metrics?.repairs(ports) ?? ports
      return startReconciler(wrappers?.repairs(countedPorts) ?? countedPorts)
    },
    /** Makes sure that images which were taken down are gone, from the CDN too. */
    startTakedowns: (images: ImageStore) =>
      startTakedowns({
        takedowns: takedownStore(db),
        images,
        purge: cdn?.purge,
        // Whoever restores an older database has to remove it again.
        onRemoved: (slug) => log.info({ slug }, 'image removed'),
        onFault: throttled((err) => log.warn({ err }, 'what is left to do of removed images is tried again')),
      }),
    startLaterPurges: () =>
      cdn?.startLater(throttled((err) => log.warn({ err }, 'what was purged from the CDN is purged once more later'))),
    /** Ends what is older than it is kept. */
    startRetention: () =>
      startRetention({
        ...{ store: retentionStore(db), kept: config.retention, log },
        onFault: throttled((err) => log.warn({ err }, 'what is no longer kept is removed later')),
      }),
    /** Moves what has ended for months to its months, unless all stays live. */
    startMonths: () =>
      config.liveMonths === undefined
        ? undefined
        : startMonths({
            ...{ lease: passLease(db, 'months'), store: monthStore(db), liveMonths: config.liveMonths, log },
            onFault: throttled((err) => log.warn({ err }, 'what has ended for months is moved later')),
          }),
    /** Archives months long past, unless all stays in Postgres, and removes files that were brought back. */
    startArchive: () =>
      startArchive({
        ...{ lease: passLease(db, 'archive'), store: archiveStore(db, archive, config.retention) },
        ...{ archiveMonths: config.archiveMonths, log },
        onFault: throttled((err) => log.warn({ err }, 'months are archived later')),
      }),
    /** Brings the files of images that were made private or public to where they belong. */
    startImageMoves: ({ publicFiles, privateFiles }: WholeImageStore) =>
      startImageMoves(
        { moves: imageMoves(db), publicFiles, privateFiles, purge: cdn?.purge },
        throttled((err) => log.warn({ err }, 'the files of images that were made private or public are moved later')),
      ),
    /** Counts what must never happen, once in a while in one of all processes. */
    startAudit: () =>
      startPeriodicAudit(
        {
          turn: auditTurn(db.pool, processId),
          audit: (signal) => auditService(config, { namespace, sample: AUDITED_IMAGES, signal }),
          results: auditResults(db.pool),
          log,
        },
        auditTimes,
      ),
    async close() {
      faults.stop()
      await queue.close()
      for (const client of opened) client.disconnect()
      await reads?.end().catch(() => undefined)
      await db.pool.end().catch(() => undefined)
    },
  }
}

/** Names this process in leases and claims. */
export const processId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`

/** During an outage every client complains several times a second; one line in five seconds is enough. */
const throttled = (tell: (error: unknown) => void) => occasionally<unknown>((_times, error) => tell(error))
