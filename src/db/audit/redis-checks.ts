/** Checks of what Redis holds: BullMQ's jobs and events, and the locks. In one-machine mode Postgres holds the jobs. */

import { sql } from 'drizzle-orm'
import type { Redis } from 'ioredis'
import type { ActiveGenerationLock, HeldLock } from '../../core/generations/ports.js'
import { SUBMIT_LOCK_MS } from '../../core/generations/ports.js'
import { generations as g } from '../schema/generations.js'
import { backends } from '../schema/workers.js'
import type { AuditDatabase } from './audit-database.js'
import { type Checks, counted, type Finding, suspected } from './check.js'

/** The service's Redis, read-only. With raw commands, because BullMQ's own Queue writes when it is opened. */
export interface AuditRedis {
  readonly client: Pick<Redis, 'lrange' | 'zrange' | 'mget' | 'xrange' | 'get' | 'pttl'>
  /** Of BullMQ's keys, as foundation.ts has it. */
  readonly queuePrefix: string
  readonly locks: Pick<ActiveGenerationLock, 'all'>
  lockKey(accountId: string): string
  /** All keys that fit the pattern, in pages; one may come twice. */
  scan(match: string, count: number): AsyncIterable<string[]>
}

/** Without a cause, which the command line would mistake for Postgres's. */
export const redisUnreachable = (): Error => new Error("Redis can't be reached: check REDIS_URL, and that Redis runs.")

/** @throws redisUnreachable if Redis does not answer */
async function ask<T>(command: Promise<T>): Promise<T> {
  try {
    return await command
  } catch {
    throw redisUnreachable()
  }
}

/** The same for what comes in pages. */
async function* askAll<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pages
  } catch {
    throw redisUnreachable()
  }
}

/** Without Redis there are no locks, and nobody reads the queue's events. */
export const redisChecks = (db: AuditDatabase, redis: AuditRedis | undefined): Checks => ({
  'queue-holds-only-jobs-to-run': () => jobCheck(db, redis),
  ...(redis && {
    'queue-events-are-of-known-jobs': () => eventCheck(db, redis),
    'locks-belong-to-active-jobs': () => lockCheck(db, redis),
  }),
})

interface Job {
  readonly id: string
  /** `taken`: by a live worker; `kept`: where no job belongs, like in the failed set, or in no list at all. */
  readonly place: 'waiting' | 'taken' | 'kept'
}

/** As queue/queues.ts names jobs: `<generation>-<attempt>`. */
const generationOf = (job: string): string => job.replace(/-\d+$/, '')

/** If its wake-up was lost a free worker takes a job within ten seconds, and one of a dead worker within twenty: see queue/job-worker.ts. */
const TAKEN_WITHIN_MS = 25_000

/**
 * Counts jobs that no worker will take, and stale ones, whose attempt is no longer to be run. A stale job is no
 * violation while every worker is busy: the next free one takes it.
 */
async function jobCheck(db: AuditDatabase, redis: AuditRedis | undefined): Promise<Finding> {
  const first = await unwantedJobs(db, redis)
  const repeat = async () => {
    const second = await unwantedJobs(db, redis)
    return counted([...second].filter((id) => first.has(id)))
  }
  return suspected(counted([...first]), TAKEN_WITHIN_MS, repeat)
}

async function unwantedJobs(db: AuditDatabase, redis: AuditRedis | undefined): Promise<Set<string>> {
  const found = new Set<string>()
  const someWorkerIsFree = await isWorkerFree(db)
  for await (const page of redis ? redisJobs(redis) : postgresJobs(db)) {
    for (const { id, place } of page) if (place === 'kept') found.add(id)
    const waiting = page.filter(({ place }) => place === 'waiting').map(({ id }) => id)
    if (someWorkerIsFree && waiting.length > 0) for (const id of await staleJobs(db, waiting)) found.add(id)
  }
  return found
}

/** A worker runs as many jobs at a time as it has backends. True without a worker: then a stale job stays forever. */
async function isWorkerFree(db: AuditDatabase): Promise<boolean> {
  const [row] = await db.rows<{ free: boolean }>(sql`
    SELECT backends = 0 OR backends > (SELECT count(*) FROM ${g} WHERE ${g.status} = 'processing') AS free
      FROM (SELECT count(*) AS backends FROM ${backends} WHERE ${backends.seenAt} > now() - interval '15 seconds') b`)
  return row?.free ?? true
}

const staleJobs = (db: AuditDatabase, ids: readonly string[]): Promise<string[]> =>
  db.texts(sql`
    SELECT job FROM unnest(${sql.param(ids)}::text[], ${sql.param(ids.map(generationOf))}::text[]) AS j (job, generation)
     WHERE NOT EXISTS (SELECT FROM ${g} WHERE ${g.id} = generation AND ${g.status} IN ('queued', 'processing')
                          AND job = generation || '-' || ${g.attempt})`)

const KEYS_PER_PAGE = 1000
/** In the order in which BullMQ moves a job, so that one that moves during the scan is still seen. */
const LISTS = ['wait', 'paused', 'active']
const SETS = ['delayed', 'prioritized', 'waiting-children', 'completed', 'failed']
/** The key of a job's own record; other keys of a job or of the queue have other names. */
const RECORD = /^gen_[^:]+-\d+$/

/** BullMQ's keys of our queue, as foundation.ts prefixes and queue/queues.ts names them. */
const keyOf = ({ queuePrefix }: AuditRedis, name: string) => `${queuePrefix}:generations:${name}`

/** Every job there is, in pages. */
async function* redisJobs(redis: AuditRedis): AsyncGenerator<Job[]> {
  const listed = new Set<string>()
  for (const list of LISTS) {
    for await (const ids of inPages((from, to) => redis.client.lrange(keyOf(redis, list), from, to))) {
      for (const id of ids) listed.add(id)
      // A live worker holds a lock on its job.
      const locks = list === 'active' ? await ask(redis.client.mget(ids.map((id) => keyOf(redis, `${id}:lock`)))) : []
      yield ids.map((id, i) => ({ id, place: locks[i] ? 'taken' : 'waiting' }))
    }
  }
  for (const set of SETS) {
    const page = (from: number, to: number) => redis.client.zrange(keyOf(redis, set), from, `${to}`)
    for await (const ids of inPages(page)) yield ids.map(kept)
  }
  const start = keyOf(redis, '').length
  for await (const keys of askAll(redis.scan(keyOf(redis, 'gen_*'), KEYS_PER_PAGE))) {
    const records = keys.map((key) => key.slice(start))
    yield records.filter((id) => RECORD.test(id) && !listed.has(id)).map(kept)
  }
}

const kept = (id: string): Job => ({ id, place: 'kept' })

async function* inPages(read: (from: number, to: number) => Promise<string[]>): AsyncGenerator<string[]> {
  for (let from = 0; ; from += KEYS_PER_PAGE) {
    const ids = await ask(read(from, from + KEYS_PER_PAGE - 1))
    if (ids.length > 0) yield ids
    if (ids.length < KEYS_PER_PAGE) return
  }
}

/** The same in one-machine mode: BullMQ's own schema, with its queue's name from queue/queues.ts. */
async function* postgresJobs(db: AuditDatabase): AsyncGenerator<Job[]> {
  for (let after = ''; ; ) {
    const page = await db.rows<Job>(sql`
      SELECT id, CASE WHEN state = 'waiting' THEN 'waiting'
                      WHEN state <> 'active' THEN 'kept'
                      WHEN locked_until_ms < extract(epoch FROM now()) * 1000 THEN 'waiting'
                      ELSE 'taken' END AS place
        FROM bullmq.job WHERE queue = 'generations' AND id > ${after} ORDER BY id LIMIT ${KEYS_PER_PAGE}`)
    const last = page.at(-1)
    if (!last) return
    after = last.id
    yield page
  }
}

/** Postgres must know the generation of every event; BullMQ keeps the last ten thousand. */
async function eventCheck(db: AuditDatabase, redis: AuditRedis): Promise<Finding> {
  const unknown = new Set<string>()
  for (let after = '-'; ; ) {
    const events = await ask(redis.client.xrange(keyOf(redis, 'events'), after, '+', 'COUNT', KEYS_PER_PAGE))
    // Names and values alternate.
    const jobs = events.flatMap(([, fields]) => fields.filter((_, i) => i % 2 === 1 && fields[i - 1] === 'jobId'))
    const ids = jobs.map(generationOf)
    const unknownHere = sql`
      SELECT id FROM unnest(${sql.param(ids)}::text[]) AS e (id) WHERE NOT EXISTS (SELECT FROM ${g} WHERE ${g.id} = e.id)`
    for (const id of await db.texts(unknownHere)) unknown.add(id)
    const last = events.at(-1)
    if (!last || events.length < KEYS_PER_PAGE) return counted([...unknown])
    after = `(${last[0]}`
  }
}

/** A lock is released shortly after its row ends. */
const RELEASED_WITHIN_MS = 2000
const FOREVER = -1

/** Counts locks that no active charged generation of their account holds: they keep the account from submitting. */
async function lockCheck(db: AuditDatabase, redis: AuditRedis): Promise<Finding> {
  // By account, because a scan may return a key twice.
  const suspects = new Map<string, HeldLock>()
  for await (const page of askAll(redis.locks.all())) {
    for (const lock of await unjustified(db, page)) suspects.set(lock.accountId, lock)
  }
  const repeat = async () => {
    const found: string[] = []
    for (const lock of suspects.values()) {
      const key = redis.lockKey(lock.accountId)
      const [holder, ttlMs] = await ask(Promise.all([redis.client.get(key), redis.client.pttl(key)]))
      const [still] = holder === lock.generationId ? await unjustified(db, [lock]) : []
      if (still && (still.known || ttlMs === FOREVER || ttlMs > SUBMIT_LOCK_MS)) found.push(lock.generationId)
    }
    return counted(found)
  }
  const first = counted([...suspects.values()].map(({ generationId }) => generationId))
  return suspected(first, RELEASED_WITHIN_MS, repeat)
}

/** `known`: the generation exists, but has ended, is metered or another account's. */
async function unjustified(db: AuditDatabase, page: readonly HeldLock[]) {
  const accounts = sql.param(page.map(({ accountId }) => accountId))
  const generations = sql.param(page.map(({ generationId }) => generationId))
  return db.rows<HeldLock & { readonly known: boolean }>(sql`
    SELECT account AS "accountId", generation AS "generationId", ${g.id} IS NOT NULL AS known
      FROM unnest(${accounts}::text[], ${generations}::text[]) AS lock (account, generation)
      LEFT JOIN ${g} ON ${g.id} = generation
     WHERE (${g.status} IN ('queued', 'processing') AND NOT ${g.metered} AND ${g.userId}::text = account) IS NOT TRUE`)
}
