/** Counts violations of the invariants. Read-only. Repeats a check that may have seen the middle of a change. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Archive } from '../archive.js'
import { type AuditDatabase, auditDatabase, partsToAudit } from './audit-database.js'
import { type Check, counted, type Finding, NAMED, suspected } from './check.js'
import { imageFileChecks, type StoredImages } from './image-file-checks.js'
import { type AuditRedis, redisChecks } from './redis-checks.js'
import { REPAIRED_WITHIN_MS, tableChecks } from './table-checks.js'

export interface AuditOptions {
  readonly databaseUrl: string
  /** Undefined in one-machine mode, where BullMQ is in Postgres and there are no locks. */
  readonly redis: AuditRedis | undefined
  /** Whether every failed generation must have a refund. */
  readonly refundFailed: boolean
  readonly images: StoredImages
  /** Undefined: none is looked at. */
  readonly archive?: Archive | undefined
  /** How many images to check, at random. Undefined: all, all files, and the tables from the first generation on. */
  readonly sample: number | undefined
  /** Makes the audit reject immediately. */
  readonly signal?: AbortSignal
  /** Resolves so long after all checks were made once; for tests, which need not wait. */
  readonly pause?: (ms: number) => Promise<unknown>
}

/** Counts violations. It always ends, because every statement has a time limit. */
export async function audit(options: AuditOptions): Promise<Check[]> {
  const { redis, images: files, archive, sample, signal = new AbortController().signal, pause } = options
  const db = await auditDatabase(options.databaseUrl)
  // Ends the running statement, and no other one can begin.
  const close = () => void db.close()
  signal.addEventListener('abort', close)
  try {
    signal.throwIfAborted()
    const findings = await checkTables(db, options)
    const others = { ...redisChecks(db, redis), ...imageFileChecks({ db, files, archive, sample, signal }) }
    for (const [name, check] of Object.entries(others)) findings.set(name, await check())
    return await repeatSuspected(findings, signal, pause)
  } finally {
    signal.removeEventListener('abort', close)
    await db.close()
  }
}

type Findings = Map<string, Finding>

/** Checks the tables, slice by slice. The next audit begins with the first slice that had a violation. */
async function checkTables(db: AuditDatabase, { refundFailed, sample }: AuditOptions): Promise<Findings> {
  const checks = Object.entries(tableChecks(refundFailed))
  const findings: Findings = new Map(checks.map(([name]) => [name, counted([])]))
  let clean = true
  for (const { slice, start, end } of await partsToAudit(db, sample === undefined)) {
    const before = clean
    for (const [name, check] of checks) {
      if (typeof check === 'string') continue
      const { violations, examples } = await db.violations(check(slice))
      if (violations > 0) clean = false
      const known = findings.get(name) ?? counted([])
      findings.set(name, {
        violations: known.violations + violations,
        examples: [...known.examples, ...examples].slice(0, NAMED),
      })
    }
    if (!start || !end) continue
    if (clean) await db.moveOn(start, end)
    else if (before) await db.moveBack(start)
  }
  for (const [name, check] of checks) {
    if (typeof check !== 'string') continue
    const run = () => db.violations(check)
    findings.set(name, suspected(await run(), REPAIRED_WITHIN_MS[name], run))
  }
  return findings
}

/** Repeats, each after its time, the checks that may have seen the middle of a change. */
async function repeatSuspected(
  findings: Findings,
  signal: AbortSignal,
  pause?: AuditOptions['pause'],
): Promise<Check[]> {
  const since = performance.now()
  const realPause = (ms: number) => delay(Math.max(0, since + ms - performance.now()), undefined, { signal })
  const checks: Check[] = []
  for (const [name, { again, ...found }] of findings) {
    if (again) await (pause ?? realPause)(again.afterMs)
    checks.push({ name, ...(again ? await again.run() : found) })
  }
  return checks
}
