/**
 * The invariants of the service as numbers that must be 0. Everything is only read; each check is one statement, or
 * looks twice before it accuses, so that a running service is not blamed for being in the middle of something.
 */
import { auditDatabase } from './audit-database.js'
import type { Check } from './check.js'
import { creditChecks } from './credit-checks.js'
import { generationChecks } from './generation-checks.js'
import { type Locks, lockCheck } from './lock-check.js'
import { filesRecorded, picturesStored, removedPicturesGone, type StoredPictures } from './picture-checks.js'

export interface AuditOptions {
  readonly databaseUrl: string
  /** Whether every failed generation must have been given back. */
  readonly refundFailed: boolean
  readonly pictures: StoredPictures
  /** Undefined in one-machine mode, which has none. */
  readonly locks: Locks | undefined
  /** Look at every picture instead of SAMPLE at random. */
  readonly full: boolean
}

/** Counts what is wrong. Every statement and every file has its time limit, so it ends. */
export async function audit({ databaseUrl, refundFailed, pictures, locks, full }: AuditOptions): Promise<Check[]> {
  const db = await auditDatabase(databaseUrl)
  try {
    const checks: Check[] = []
    for (const { name, query } of [...creditChecks(refundFailed), ...generationChecks]) {
      checks.push({ name, ...(await db.violations(query)) })
    }
    if (locks) checks.push(await lockCheck(db, locks))
    checks.push(await picturesStored(db, pictures, full))
    checks.push(await removedPicturesGone(db, pictures, full))
    checks.push(await filesRecorded(db, pictures))
    return checks
  } finally {
    await db.close()
  }
}
