/** Real Postgres, Redis, queue and image files, on which processes die, time passes and others put things right. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { HeldLock } from '../../../src/core/generations/ports.js'
import { reconcile } from '../../../src/core/generations/repair/reconcile.js'
import type { InferenceBackend } from '../../../src/core/generations/run/backend.js'
import { runGeneration } from '../../../src/core/generations/run/run.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { withTransaction } from '../../../src/db/client.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { leaderLease } from '../../../src/db/generations/leader-lease.js'
import { generationWatch } from '../../../src/db/generations/poll.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { idempotencyStore } from '../../../src/db/generations/submit/idempotency.js'
import { TEMPORARY_FILE } from '../../../src/images/file-image-store.js'
import { finishImage } from '../../../src/images/finish-image.js'
import { createImageStore } from '../../../src/images/open-image-store.js'
import { createBackend } from '../../../src/inference/create-backend.js'
import { createModerator } from '../../../src/moderation/create-moderator.js'
import { parseConfig } from '../../../src/process/config.js'
import { openFoundation } from '../../../src/process/foundation.js'
import { generationJobId, openGenerationQueue } from '../../../src/queue/queues.js'
import { keyPattern } from '../../../src/redis/cluster.js'
import { noWipeMark, redisWipeMark } from '../../../src/redis/wipe-mark.js'
import { noEnds } from '../../support/fake-ports.js'
import { atOnce, noFaults } from '../../support/gpu-turn.js'
import { silentLog } from '../../support/service.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../../support/services.js'
import { keysLike, openRedis } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

export type Stage = Awaited<ReturnType<typeof openStage>>
export type Ports = Stage['ports']

/** Longer than any lease, any lock of a submit, any reservation and any pause; shorter than any deadline. */
const LONG_SECONDS = 40
const FULL = { full: true, trustLeases: true }
const NEVER = new AbortController().signal

export async function openStage() {
  const database = await createTestDatabase()
  const storage = await mkdtemp(join(tmpdir(), 'easel-crash-'))
  const namespace = `t${randomBytes(6).toString('hex')}`
  const config = parseConfig({
    DATABASE_URL: database.url,
    ...(redisAvailable && { REDIS_URL: await redisUrl() }),
    STORAGE_URL: `file:${storage}`,
    BASE_URL: 'http://easel.test',
  })
  const log = silentLog()
  const foundation = await openFoundation(config, log, { maxConnections: 20, namespace })
  const { db, queue, lock, progress, previews } = foundation
  const redis = config.redisUrl === undefined ? undefined : await openRedis(config.redisUrl)
  const watch = generationWatch(db, config.databaseListenUrl, () => undefined)
  const jobs = openGenerationQueue(foundation.openWorkerConnection())

  const ports = {
    moderator: createModerator({ ...config.moderation, logger: log }),
    refusedPrompts: { note: () => undefined },
    ends: noEnds,
    ...{ lock, queue, progress, previews, watch, finishImage, log },
    submissions: submissionStore(db),
    idempotency: idempotencyStore(db),
    cancels: cancelStore(db),
    runs: runStore(db, config),
    rows: reconcileStore(db, config),
    periods: periodStore(db),
    wipeMark: redis ? redisWipeMark(redis, namespace) : noWipeMark,
    leaderLease: leaderLease(db, 'crash', 'me'),
    images: await createImageStore(config),
    backend: quick(createBackend('preview:', { timeoutMs: 30_000 })),
    timeLeft: async () => undefined,
    generationDeadlineSeconds: config.generationDeadlineSeconds,
  }

  /** Changes what no trigger would let anybody change; alone, since it locks rows in an order of its own. */
  const rewrite = async (statements: string): Promise<void> => {
    await withTransaction(db, (_tx, client) =>
      client.query(`
        LOCK TABLE generations IN EXCLUSIVE MODE; SET LOCAL session_replication_role = replica; ${statements}`),
    )
  }

  /** As if so much time had passed, in Postgres and in Redis. */
  async function timePasses(seconds: number): Promise<void> {
    const earlier = (...columns: string[]) =>
      columns.map((column) => `${column} = ${column} - interval '${seconds} seconds'`).join(', ')
    await rewrite(`
      UPDATE generations SET ${earlier('created_at', 'not_before', 'lease_until', 'started_at', 'finished_at', 'deadline_at')};
      UPDATE idempotency_keys SET ${earlier('created_at')};
      UPDATE leases SET ${earlier('until')};
      UPDATE backends SET ${earlier('seen_at', 'changed_at')}`)
    for (const key of redis ? await keysLike(redis, keyPattern(redis, namespace, 'lock:')) : []) {
      const ttlMs = (await redis?.pttl(key)) ?? -1
      if (ttlMs >= 0) await redis?.pexpire(key, ttlMs - seconds * 1000)
    }
  }

  /** What has failed so far is swept no more: whoever stores an image of it from here on must remove it himself. */
  const endSweeps = () =>
    rewrite(
      `UPDATE generations SET finished_at = finished_at - interval '1 hour' WHERE finished_at > now() - interval '1 hour'`,
    )

  /** A healthy worker runs whatever it can claim, or only what wants one file. */
  async function workOff(filename?: string): Promise<void> {
    const serves = {
      models: filename === undefined ? null : [filename],
      samplers: SAMPLERS,
      maxSeed: 4294967295,
      sizeMultiple: 8,
    }
    for (;;) {
      const claimed = await ports.runs.claim({ worker: 'healthy', backend: 'preview:' }, serves)
      if (!claimed) return
      await runGeneration(ports, ports.backend, claimed, NEVER, atOnce(), noFaults)
    }
  }

  const active = async () =>
    (
      await db.pool.query(
        `SELECT id, attempt, status, metered, user_id AS owner FROM generations WHERE status IN ('queued', 'processing')`,
      )
    ).rows

  const locks = async () => {
    const held: HeldLock[] = []
    for await (const page of lock.all()) held.push(...page)
    return held
  }

  /** A Redis that a busy machine kept from answering in time is asked again by the next pass. */
  const reconcileUntil = (what: string, done: () => Promise<boolean>) =>
    until(async () => {
      await reconcile(ports, FULL)
      return done()
    }, what)

  /** Whether every queued generation has its job and every charged one that is active its lock. */
  const allEnqueuedAndLocked = async () => {
    const holders = new Map((await locks()).map(({ accountId, generationId }) => [accountId, generationId]))
    for (const { id, attempt, status, metered, owner } of await active()) {
      if (status === 'queued' && !(await jobs.getJob(generationJobId(id, attempt)))) return false
      if (redis && !metered && holders.get(owner) !== id) return false
    }
    return true
  }

  /** Healthy reconcilers and healthy workers, until everything has ended; then a sweep. */
  async function heal(): Promise<void> {
    for (let round = 1; round <= 4; round++) {
      await timePasses(LONG_SECONDS)
      await reconcileUntil('a job and a lock for what is active', allEnqueuedAndLocked)
      if ((await active()).length === 0) break
      await Promise.all([workOff(), workOff(), workOff()])
    }
    await timePasses(LONG_SECONDS)
    await reconcileUntil('the end of all locks', async () => (await locks()).length === 0)
    await endSweeps()
  }

  const intact = new Set<string>()

  /**
   * Nothing is active, every credit and every image is accounted for, and nothing is left behind, but for what sleepers
   * have not given its name yet.
   */
  async function expectSound({ whileSomeSleep = false } = {}): Promise<void> {
    expect(await active()).toEqual([])
    expect(await locks()).toEqual([])
    const { rows: images } = await db.pool.query(
      `SELECT slug || '.png' AS file, sha256, has_thumbnail FROM images ORDER BY slug`,
    )
    const stored = (await readdir(storage)).filter((file) => !(whileSomeSleep && TEMPORARY_FILE.test(file)))
    expect(stored.sort()).toEqual(
      images.flatMap((it) => [it.file, ...(it.has_thumbnail ? [it.file.replace(/png$/, 'webp')] : [])]).sort(),
    )
    for (const { file, sha256 } of images) {
      if (intact.has(file)) continue
      intact.add(file)
      const bytes = await readFile(join(storage, file))
      expect(createHash('sha256').update(bytes).digest('hex'), file).toBe(sha256)
    }
    const { rows: wrong } = await db.pool.query(WRONG)
    expect(wrong).toEqual([])
  }

  return {
    db,
    ports,
    rewrite,
    timePasses,
    workOff,
    locks,
    heal,
    expectSound,
    async close() {
      await jobs.close()
      await watch.close()
      await foundation.close()
      redis?.disconnect()
      await rm(storage, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/** Generations whose charges, refunds, images or usage are not what their status says, and wrong balances. */
const WRONG = `
  SELECT * FROM (
    SELECT g.id, g.status, g.metered, g.batch_size, g.cost, u.credits, coalesce(sum_of.ledger, 0) AS ledger,
           ARRAY(SELECT delta FROM credit_ledger l WHERE l.generation_id = g.id AND kind = 'charge') AS charges,
           ARRAY(SELECT delta FROM credit_ledger l WHERE l.generation_id = g.id AND kind = 'refund') AS refunds,
           ARRAY(SELECT slug FROM images i WHERE i.generation_id = g.id ORDER BY idx) AS images,
           (SELECT count(*) FROM usage WHERE usage.generation_id = g.id) AS billed, g.slugs
      FROM users u
           LEFT JOIN (SELECT user_id, sum(delta) AS ledger FROM credit_ledger GROUP BY 1) sum_of ON user_id = u.id
           LEFT JOIN generations g ON g.user_id = u.id) seen
   WHERE credits <> ledger
      OR charges <> CASE WHEN id IS NULL OR metered THEN '{}' ELSE ARRAY[-cost] END
      OR refunds <> CASE WHEN status = 'failed' AND NOT metered THEN ARRAY[cost] ELSE '{}' END
      OR images <> CASE WHEN status = 'succeeded' THEN slugs ELSE '{}' END
      OR billed <> CASE WHEN status = 'succeeded' AND metered THEN batch_size ELSE 0 END`

/** The preview backend draws the same images for the same request: drawn once, for any model, they are shown again. */
function quick(preview: InferenceBackend): InferenceBackend {
  const drawn = new Map<string, ReturnType<InferenceBackend['generate']>>()
  return {
    ...preview,
    async generate(request, { onProgress, signal }) {
      signal.throwIfAborted()
      onProgress?.(0.5)
      const asked = { ...request, attemptId: '', attempt: '', model: '' }
      const key = JSON.stringify(asked)
      const images = drawn.get(key) ?? preview.generate(asked, { signal: NEVER })
      drawn.set(key, images)
      return images
    },
  }
}
