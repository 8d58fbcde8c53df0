/** Checks that BullMQ holds jobs of active generations and nothing else. */
import { sql } from 'drizzle-orm'
import { backends } from '../db/process-schema.js'
import { generations as g } from '../db/schema.js'
import type { AuditDatabase } from './audit-database.js'
import { type AuditRedis, ask, keysLike } from './audit-redis.js'
import { counted, type Finding, suspected } from './check.js'

interface Job {
  readonly id: string
  /**
   * - `waiting`: for a worker, also if the one that took it has died
   * - `taken`: by a live worker
   * - `kept`: where no job belongs, like in the failed set, or in no list at all
   */
  readonly place: 'waiting' | 'taken' | 'kept'
}

/** As queue/generation-jobs.ts names jobs: `<generation>-<attempt>`. */
const generationOf = (job: string): string => job.replace(/-\d+$/, '')

/** A free worker takes a job within a second, and one that a dead worker had taken within two. */
const TAKEN_WITHIN_MS = 4000

/**
 * Counts jobs that no worker will take, and stale ones, whose attempt is no longer to be run. A stale job is no
 * violation while every worker is busy: the next free one takes it.
 */
export async function jobCheck(db: AuditDatabase, redis: AuditRedis | undefined): Promise<Finding> {
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

async function staleJobs(db: AuditDatabase, ids: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ id: string; attempt: number }>(sql`
    SELECT ${g.id}, ${g.attempt} FROM ${g}
     WHERE ${g.id} = ANY (${sql.param(ids.map(generationOf))})
       AND ${g.status} IN ('queued', 'processing')`)
  const wanted = new Set(rows.map(({ id, attempt }) => `${id}-${attempt}`))
  return ids.filter((id) => !wanted.has(id))
}

const PAGE = 1000
/** In the order in which BullMQ moves a job, so that one that moves during the scan is still seen. */
const LISTS = ['wait', 'paused', 'active']
const SETS = ['delayed', 'prioritized', 'waiting-children', 'completed', 'failed']
/** The key of a job's own record; other keys of a job or of the queue have other names. */
const RECORD = /^gen_[^:]+-\d+$/

/** BullMQ's keys of our queue, as wiring.ts prefixes and queue/generation-jobs.ts names them. */
const keyOf = ({ namespace }: AuditRedis, name: string) => `{${namespace}}:generations:${name}`

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
  for await (const keys of keysLike(redis.client, keyOf(redis, 'gen_*'))) {
    const records = keys.map((key) => key.slice(start))
    yield records.filter((id) => RECORD.test(id) && !listed.has(id)).map(kept)
  }
}

const kept = (id: string): Job => ({ id, place: 'kept' })

async function* inPages(read: (from: number, to: number) => Promise<string[]>): AsyncGenerator<string[]> {
  for (let from = 0; ; from += PAGE) {
    const ids = await ask(read(from, from + PAGE - 1))
    if (ids.length > 0) yield ids
    if (ids.length < PAGE) return
  }
}

/** The same in one-machine mode: BullMQ's own schema, with its queue's name from queue/generation-jobs.ts. */
async function* postgresJobs(db: AuditDatabase): AsyncGenerator<Job[]> {
  for (let after = ''; ; ) {
    const page = await db.rows<Job>(sql`
      SELECT id, CASE WHEN state = 'waiting' THEN 'waiting'
                      WHEN state <> 'active' THEN 'kept'
                      WHEN locked_until_ms < extract(epoch FROM now()) * 1000 THEN 'waiting'
                      ELSE 'taken' END AS place
        FROM bullmq.job WHERE queue = 'generations' AND id > ${after} ORDER BY id LIMIT ${PAGE}`)
    const last = page.at(-1)
    if (!last) return
    after = last.id
    yield page
  }
}

/** Postgres must know the generation of every event; BullMQ keeps the last ten thousand. */
export async function eventCheck(db: AuditDatabase, redis: AuditRedis): Promise<Finding> {
  const unknown = new Set<string>()
  for (let after = '-'; ; ) {
    const events = await ask(redis.client.xrange(keyOf(redis, 'events'), after, '+', 'COUNT', PAGE))
    // Names and values alternate.
    const jobs = events.flatMap(([, fields]) => fields.filter((_, i) => i % 2 === 1 && fields[i - 1] === 'jobId'))
    const ids = new Set(jobs.map(generationOf))
    const rows = await db.rows<{ id: string }>(
      sql`SELECT ${g.id} FROM ${g} WHERE ${g.id} = ANY (${sql.param([...ids])})`,
    )
    const known = new Set(rows.map(({ id }) => id))
    for (const id of ids) if (!known.has(id)) unknown.add(id)
    const last = events.at(-1)
    if (!last || events.length < PAGE) return counted([...unknown])
    after = `(${last[0]}`
  }
}
