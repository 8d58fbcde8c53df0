/** Counts violations of the invariants. Read-only. Repeats a check that may have seen the middle of a change. */
import { setTimeout as delay } from 'node:timers/promises'
import { type AuditDatabase, auditDatabase, partsToAudit } from './audit-database.js'
import type { AuditRedis } from './audit-redis.js'
import { type Check, EXAMPLES, type Finding } from './check.js'
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
  /** Begins with the first generation instead of at the last audit's position. */
  readonly whole: boolean
  readonly everyFile: boolean
  /** Makes the audit reject immediately. */
  readonly signal?: AbortSignal
}

/** Counts violations. It always ends, because every statement has a time limit. */
export async function audit(options: AuditOptions): Promise<Check[]> {
  const signal = options.signal ?? new AbortController().signal
  signal.throwIfAborted()
  const db = await auditDatabase(options.databaseUrl)
  const close = () => void db.close()
  signal.addEventListener('abort', close)
  try {
    const found = await checkTables(db, options, signal)
    for (const [name, run] of otherChecks(db, options, signal)) {
      signal.throwIfAborted()
      found.push({ name, ...(await run()) })
    }
    return await repeatSuspected(found, signal)
  } finally {
    signal.removeEventListener('abort', close)
    await db.close()
  }
}

type Findings = (Finding & { readonly name: string })[]

/** Checks the tables slice by slice. The next audit begins with the first slice that had a violation. */
async function checkTables(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): Promise<Findings> {
  const checks = tableChecks(options.refundFailed)
  const parts = await partsToAudit(db, options.whole)
  const byName = new Map<string, Finding>()
  let clean = true
  for (const { slice, start, end } of parts) {
    const before = clean
    for (const check of checks) {
      signal.throwIfAborted()
      const once = typeof check.query === 'string'
      if (once && end !== parts.at(-1)?.end) continue
      const found = await db.run(check, slice)
      const { violations = 0, examples = [] } = byName.get(check.name) ?? {}
      if (found.violations > 0 && !once) clean = false
      byName.set(check.name, {
        ...found,
        violations: violations + found.violations,
        examples: [...examples, ...found.examples].slice(0, EXAMPLES),
      })
    }
    if (clean) await db.moveOn(start, end)
    else if (before) await db.moveBack(start)
  }
  return checks.map(({ name }) => ({ name, ...(byName.get(name) as Finding) }))
}

type NamedCheck = readonly [name: string, run: () => Promise<Finding>]

function otherChecks(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): NamedCheck[] {
  const { redis, images, sample, everyFile } = options
  const files = { db, files: images, sample, signal }
  const ofRedis = (of: AuditRedis): NamedCheck[] => [
    ['queue-events-are-of-known-jobs', () => eventCheck(db, of)],
    ['locks-belong-to-active-jobs', () => lockCheck(db, of)],
  ]
  return [
    ['queue-holds-only-jobs-to-run', () => jobCheck(db, redis ? redisJobs(redis) : postgresJobs(db))],
    ...(redis ? ofRedis(redis) : []),
    ['images-are-stored-intact', () => imagesStored(files)],
    ['removed-images-have-no-file', () => removedImagesGone(files)],
    ['failed-jobs-leave-no-file', () => failedLeaveNothing(files)],
    ...(everyFile ? ([['files-belong-to-images', () => filesRecorded(files)]] as const) : []),
  ]
}

/** Repeats, each after its time, the checks that may have seen the middle of a change. */
async function repeatSuspected(found: Findings, signal: AbortSignal): Promise<Check[]> {
  const since = performance.now()
  const checks: Check[] = []
  for (const { name, again, violations, examples } of found) {
    if (!again) {
      checks.push({ name, violations, examples })
      continue
    }
    await delay(Math.max(0, since + again.afterMs - performance.now()), undefined, { signal })
    checks.push({ name, ...(await again.run()) })
  }
  return checks
}
