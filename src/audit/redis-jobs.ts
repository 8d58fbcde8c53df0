import { sql } from 'drizzle-orm'
import { generations } from '../db/schema.js'
import type { AuditDatabase } from './audit-database.js'
import { type AuditRedis, ask, keysLike } from './audit-redis.js'
import { counted, type Look } from './check.js'
import type { Job, Jobs } from './job-check.js'

const PAGE = 1000

/** In the order in which BullMQ moves a job, so that one that moves meanwhile is seen all the same. */
const LISTS = ['wait', 'paused', 'active']
const SETS = ['delayed', 'prioritized', 'waiting-children', 'completed', 'failed']
/** A job's own record, a hash; what belongs to it or to the queue has other names. */
const RECORD = /^gen_[^:]+-\d+$/

/** BullMQ's keys of our queue, as wiring.ts prefixes and queue/generation-job.ts names them. */
const keyOf = ({ namespace }: AuditRedis, name: string) => `{${namespace}}:generations:${name}`

export const redisJobs = (redis: AuditRedis): Jobs =>
  async function* () {
    const listed = new Set<string>()
    for (const list of LISTS) {
      for await (const ids of inPages((from, to) => redis.client.lrange(keyOf(redis, list), from, to))) {
        for (const id of ids) listed.add(id)
        const heard = list === 'active' ? await withLock(redis, ids) : new Set()
        yield ids.map((id): Job => ({ id, place: heard.has(id) ? 'heard' : 'waiting' }))
      }
    }
    for (const set of SETS) {
      for await (const ids of inPages((from, to) => redis.client.zrange(keyOf(redis, set), `${from}`, `${to}`))) {
        yield ids.map((id): Job => ({ id, place: 'kept' }))
      }
    }
    const start = keyOf(redis, '').length
    for await (const keys of keysLike(redis.client, keyOf(redis, 'gen_*'))) {
      const records = keys.map((key) => key.slice(start)).filter((id) => RECORD.test(id) && !listed.has(id))
      yield records.map((id): Job => ({ id, place: 'kept' }))
    }
  }

/** A worker holds a lock on what it has heard for as long as it lives. */
async function withLock(redis: AuditRedis, ids: readonly string[]): Promise<Set<unknown>> {
  const tokens = await ask(redis.client.mget(ids.map((id) => keyOf(redis, `${id}:lock`))))
  return new Set(ids.filter((_, i) => tokens[i] !== null))
}

async function* inPages(read: (from: number, to: number) => Promise<string[]>): AsyncGenerator<string[]> {
  for (let from = 0; ; from += PAGE) {
    const ids = await ask(read(from, from + PAGE - 1))
    if (ids.length > 0) yield ids
    if (ids.length < PAGE) return
  }
}

/** BullMQ remembers the last ten thousand events: a job that rang was stored, so Postgres must know it. */
export async function eventCheck(db: AuditDatabase, redis: AuditRedis): Promise<Look> {
  const unknown = new Set<string>()
  for (let after = '-'; ; ) {
    const events = await ask(redis.client.xrange(keyOf(redis, 'events'), after, '+', 'COUNT', PAGE))
    const ids = new Set(events.flatMap(([, fields]) => generationOf(fields) ?? []))
    const rows = await db.rows<{ id: string }>(
      sql`SELECT ${generations.id} FROM ${generations} WHERE ${generations.id} = ANY (${sql.param([...ids])})`,
    )
    const known = new Set(rows.map(({ id }) => id))
    for (const id of ids) if (!known.has(id)) unknown.add(id)
    const last = events.at(-1)
    if (!last || events.length < PAGE) return counted([...unknown])
    after = `(${last[0]}`
  }
}

/** Fields and values take turns. */
function generationOf(fields: readonly string[]): string | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name === 'jobId')
  return at < 0 ? undefined : fields[at + 1]?.replace(/-\d+$/, '')
}
