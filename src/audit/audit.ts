/**
 * The invariants of the service as numbers that must be 0. Everything is only read; each check is one statement, or
 * looks twice before it accuses, so that a running service is not blamed for being in the middle of something.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type AuditDatabase, auditDatabase } from './audit-database.js'
import type { AuditRedis } from './audit-redis.js'
import { type Check, EXAMPLES, type Look } from './check.js'
import { creditChecks } from './credit-checks.js'
import { generationChecks } from './generation-checks.js'
import { imageChecks } from './image-checks.js'
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
import { partsToAudit } from './slices.js'
import { webhookChecks } from './webhook-checks.js'

export interface AuditOptions {
  readonly databaseUrl: string
  /** Undefined in one-machine mode, where BullMQ is in Postgres and there are no locks. */
  readonly redis: AuditRedis | undefined
  /** Whether every failed generation must have been given back. */
  readonly refundFailed: boolean
  readonly images: StoredImages
  readonly sample: Sample
  /** Whether to begin with the first generation again instead of where the last audit that found nothing stopped. */
  readonly whole: boolean
  /** Whether to walk through all files, too. */
  readonly everyFile: boolean
  /** Ends it at once: it rejects. */
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
 * What the tables say, a slice of the history after the other. Where nothing is wrong so far the next audit begins behind
 * it; what is wrong is so found again each time, until it is mended.
 */
async function throughSlices(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): Promise<Seen> {
  const checks = [...creditChecks(options.refundFailed), ...generationChecks, ...imageChecks, ...webhookChecks]
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

/** What may have been caught in the middle of something is looked at once more, each after its time. */
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
