/**
 * The invariants of the service as numbers that must be 0. It only reads. Each check is one statement, or looks twice,
 * because a running service may be in the middle of a change.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type AuditDatabase, auditDatabase, partsToAudit } from './audit-database.js'
import type { AuditRedis } from './audit-redis.js'
import { type Check, EXAMPLES, type Look } from './check.js'
import {
  failedLeaveNothing,
  filesRecorded,
  imagesStored,
  removedImagesGone,
  type Sample,
  type StoredImages,
} from './image-file-checks.js'
import { eventCheck, jobCheck, postgresJobs, redisJobs } from './job-check.js'
import { lockCheck } from './lock-check.js'
import { tableChecks } from './table-checks.js'

export interface AuditOptions {
  readonly databaseUrl: string
  /** Undefined in one-machine mode, where BullMQ is in Postgres and there are no locks. */
  readonly redis: AuditRedis | undefined
  /** Whether every failed generation must have a refund. */
  readonly refundFailed: boolean
  readonly images: StoredImages
  readonly sample: Sample
  /** Begins with the first generation instead of where the last audit that found nothing stopped. */
  readonly whole: boolean
  /** Also checks all files. */
  readonly everyFile: boolean
  /** Rejects at once. */
  readonly signal?: AbortSignal
}

/** Counts what is wrong. Every statement has its time limit, so it ends. */
export async function audit(options: AuditOptions): Promise<Check[]> {
  const signal = options.signal ?? new AbortController().signal
  signal.throwIfAborted()
  const db = await auditDatabase(options.databaseUrl)
  const close = () => void db.close()
  signal.addEventListener('abort', close)
  try {
    const seen = await throughSlices(db, options, signal)
    for (const [name, look] of looks(db, options, signal)) {
      signal.throwIfAborted()
      seen.push({ name, ...(await look()) })
    }
    return await lookAgain(seen, signal)
  } finally {
    signal.removeEventListener('abort', close)
    await db.close()
  }
}

type Seen = (Look & { readonly name: string })[]

/**
 * Checks the tables, one slice of the history after the other. The next audit begins behind the slices before the first
 * violation, so it finds every violation again until it is repaired.
 */
async function throughSlices(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): Promise<Seen> {
  const checks = tableChecks(options.refundFailed)
  const parts = await partsToAudit(db, options.whole)
  const seen = new Map<string, Look>()
  let right = true
  for (const { slice, start, end } of parts) {
    const before = right
    for (const check of checks) {
      signal.throwIfAborted()
      const once = typeof check.query === 'string'
      if (once && end !== parts.at(-1)?.end) continue
      const found = await db.look(check, slice)
      const { violations = 0, examples = [] } = seen.get(check.name) ?? {}
      if (found.violations > 0 && !once) right = false
      seen.set(check.name, {
        ...found,
        violations: violations + found.violations,
        examples: [...examples, ...found.examples].slice(0, EXAMPLES),
      })
    }
    if (right) await db.moveOn(start, end)
    else if (before) await db.moveBack(start)
  }
  return checks.map(({ name }) => ({ name, ...(seen.get(name) as Look) }))
}

type NamedLook = readonly [name: string, look: () => Promise<Look>]

function looks(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): NamedLook[] {
  const { redis, images, sample, everyFile } = options
  const looked = { db, files: images, sample, signal }
  const ofRedis = (of: AuditRedis): NamedLook[] => [
    ['queue-events-are-of-known-jobs', () => eventCheck(db, of)],
    ['locks-belong-to-active-jobs', () => lockCheck(db, of)],
  ]
  return [
    ['queue-holds-only-jobs-to-run', () => jobCheck(db, redis ? redisJobs(redis) : postgresJobs(db))],
    ...(redis ? ofRedis(redis) : []),
    ['images-are-stored-intact', () => imagesStored(looked)],
    ['removed-images-have-no-file', () => removedImagesGone(looked)],
    ['failed-jobs-leave-no-file', () => failedLeaveNothing(looked)],
    ...(everyFile ? ([['files-belong-to-images', () => filesRecorded(looked)]] as const) : []),
  ]
}

/** Looks again, each after its time, at what may have been in the middle of a change. */
async function lookAgain(seen: Seen, signal: AbortSignal): Promise<Check[]> {
  const since = performance.now()
  const checks: Check[] = []
  for (const { name, again, violations, examples } of seen) {
    if (!again) {
      checks.push({ name, violations, examples })
      continue
    }
    await delay(Math.max(0, since + again.afterMs - performance.now()), undefined, { signal })
    checks.push({ name, ...(await again.look()) })
  }
  return checks
}
