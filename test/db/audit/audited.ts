/** A service in order, with a bit of everything, for the audit to find fault with. */
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import type { Generation } from '../../../src/core/generations/generation.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { runStore } from '../../../src/db/generations/run.js'
import { auditService } from '../../../src/process/audit-service.js'
import { parseConfig } from '../../../src/process/config.js'
import type { RedisClient } from '../../../src/redis/cluster.js'
import { type Easel, useEasel } from '../../cli/easel.js'
import { givenImage, givenProcessing, SIDE } from '../../cli/given-images.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { redisUrl } from '../../support/services.js'
import { emptyRedis, openRedis } from '../../support/test-redis.js'
import { unguarded } from '../../support/unguarded.js'

export interface How {
  readonly full?: boolean
  /** What happens before a check is repeated that has found something; it is told after how long, but nobody waits. */
  readonly between?: (afterMs: number) => Promise<unknown>
}

export interface Audited {
  readonly easel: Easel
  readonly user: GivenUser
  /** The user's, three images, the second of them taken down. */
  readonly succeeded: Generation
  /** The user's, canceled before it was started. */
  readonly failed: Generation
  /** The user's, being run. */
  readonly running: Generation
  /** Of a developer, two images. */
  readonly metered: Generation
  readonly developer: GivenUser
  /** Of somebody else. */
  readonly queued: Generation
  fileOf(slug: string): string
  /** The checks that find something, with what they count. */
  violated(env?: Record<string, string>, how?: How): Promise<Record<string, number>>
  /** Breaks what the tables' own guards would not let anyone break. */
  breaking(statement: string, values?: unknown[]): Promise<void>
  set(generation: Generation, what: string): Promise<void>
}

/** Anew for every test. Read it inside a test, not while the file loads. */
export function useAudited(): Audited {
  const easel = useEasel({ each: true })
  const given = {} as { -readonly [K in keyof Audited]: Audited[K] }
  beforeEach(async () => {
    const { db } = easel
    given.user = await givenUser(db)
    given.succeeded = await givenSucceeded(easel, given.user, 3)
    await easel.json(`images remove ${given.succeeded.slugs[1]}`)
    given.failed = await givenGeneration(db, given.user, { batchSize: 2 })
    await cancelStore(db).cancel(given.failed.id, 'Canceled.', { onlyQueued: true })
    given.developer = await givenUser(db, { developer: { concurrency: 1 } })
    given.metered = await givenSucceeded(easel, given.developer, 2)
    given.running = await givenGeneration(db, given.user)
    await givenProcessing(easel, given.running)
    given.queued = await givenGeneration(db, await givenUser(db))
    const gone = await givenUser(db)
    await givenGeneration(db, gone)
    await easel.json(`user delete ${gone.username} --purge`)
  })

  const breaking: Audited['breaking'] = (statement, values = []) => unguarded(easel.db, statement, values)
  return Object.assign(given, {
    easel,
    breaking,
    fileOf: (slug: string) => join(easel.storage, `${slug}.png`),
    set: ({ id }: Generation, what: string) => breaking(`UPDATE generations SET ${what} WHERE id = $1`, [id]),
    violated: (env?: Record<string, string>, how?: How) => violated(easel, env, how),
  })
}

async function violated(easel: Easel, env: Record<string, string> = {}, { full = false, between }: How = {}) {
  let happened: Promise<unknown> | undefined
  const pause = async (afterMs: number) => {
    happened ??= between?.(afterMs)
    await happened
  }
  const checks = await auditService(parseConfig({ ...easel.env, ...env }), { sample: full ? undefined : 1000, pause })
  const found = checks.filter(({ violations }) => violations !== 0)
  return Object.fromEntries(found.map(({ name, violations }) => [name, violations]))
}

/** As a worker's first attempt leaves it. */
async function givenSucceeded(easel: Easel, user: GivenUser, batchSize: number): Promise<Generation> {
  const generation = await givenGeneration(easel.db, user, { batchSize, width: SIDE, height: SIDE })
  await givenProcessing(easel, generation)
  const stored = await Promise.all(generation.slugs.map((slug) => givenImage(easel, slug)))
  const images = stored.map((image, n) => ({ ...image, seed: generation.seed + n }))
  const claimed = { ...generation, attempt: 1, tries: 0 }
  if (!(await runStore(easel.db, { refundFailed: true }).succeed(claimed, images))) throw new Error('not succeeded')
  return generation
}

/** Works on the file's Redis, empty at first. */
export async function withRedis<T>(work: (redis: RedisClient, env: { REDIS_URL: string }) => Promise<T>): Promise<T> {
  const url = await redisUrl()
  const redis = await openRedis(url)
  try {
    await emptyRedis(redis)
    return await work(redis, { REDIS_URL: url })
  } finally {
    redis.disconnect()
  }
}
