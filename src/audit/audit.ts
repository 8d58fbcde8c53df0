/**
 * The invariants of the service as numbers that must be 0. Everything is only read; each check is one statement, or
 * looks twice before it accuses, so that a running service is not blamed for being in the middle of something.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type AuditDatabase, auditDatabase } from './audit-database.js'
import type { AuditRedis } from './audit-redis.js'
import { bellCheck } from './bell-check.js'
import type { Check, Look } from './check.js'
import { creditChecks } from './credit-checks.js'
import { generationChecks } from './generation-checks.js'
import { imageChecks } from './image-checks.js'
import { lockCheck } from './lock-check.js'
import {
  failedLeaveNothing,
  filesRecorded,
  picturesStored,
  removedPicturesGone,
  type Sample,
  type StoredPictures,
} from './picture-checks.js'
import { postgresBells } from './postgres-bells.js'
import { eventCheck, redisBells } from './redis-bells.js'
import { webhookChecks } from './webhook-checks.js'

export interface AuditOptions {
  readonly databaseUrl: string
  /** Undefined in one-machine mode, where BullMQ is in Postgres and there are no locks. */
  readonly redis: AuditRedis | undefined
  /** Whether every failed generation must have been given back. */
  readonly refundFailed: boolean
  readonly pictures: StoredPictures
  readonly sample: Sample
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
    const seen: (Look & { readonly name: string })[] = []
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

type NamedLook = readonly [name: string, look: () => Promise<Look>]

function looks(db: AuditDatabase, options: AuditOptions, signal: AbortSignal): NamedLook[] {
  const { redis, refundFailed, pictures, sample, everyFile } = options
  const files = { db, pictures, sample, signal }
  const inSql = [...creditChecks(refundFailed), ...generationChecks, ...imageChecks, ...webhookChecks]
  const ofRedis = (of: AuditRedis): NamedLook[] => [
    ['queue-events-are-of-known-jobs', () => eventCheck(db, of)],
    ['locks-belong-to-active-jobs', () => lockCheck(db, of)],
  ]
  return [
    ...inSql.map((check): NamedLook => [check.name, () => db.look(check)]),
    ['queue-holds-only-jobs-to-run', () => bellCheck(db, redis ? redisBells(redis) : postgresBells(db))],
    ...(redis ? ofRedis(redis) : []),
    ['images-are-stored-intact', () => picturesStored(files)],
    ['removed-images-have-no-file', () => removedPicturesGone(files)],
    ['failed-jobs-leave-no-file', () => failedLeaveNothing(files)],
    ...(everyFile ? ([['files-belong-to-images', () => filesRecorded(files)]] as const) : []),
  ]
}

/** What may have been caught in the middle of something is looked at once more, each after its time. */
async function lookAgain(seen: readonly (Look & { name: string })[], signal: AbortSignal): Promise<Check[]> {
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
