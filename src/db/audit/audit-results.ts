import { sql } from 'drizzle-orm'
import type { AuditResult, AuditResults } from '../../core/operator/overview.js'
import { lastAudit as a } from '../schema/operator.js'
import { columns, insertInto, param, type Queryable, selectAs, statement } from '../statement.js'
import type { Check } from './check.js'

const KEEP = statement('keep_audit_result')`
  ${insertInto(a, { tookMs: sql`${param('tookMs')}::integer`, checks: sql`${param('checks')}::jsonb` })}
  ON CONFLICT (only_row) DO UPDATE SET took_ms = excluded.took_ms, checks = excluded.checks, finished_at = now()`
const LAST = statement<AuditResult>(
  'last_audit_result',
)`SELECT ${selectAs(columns(a, 'finishedAt', 'tookMs', 'checks'))} FROM ${a}`

/** What the last audit found; it ends with each next one. */
export const auditResults = (
  pool: Queryable,
): AuditResults & { keep(checks: readonly Check[], tookMs: number): Promise<void> } => ({
  last: () => LAST.first(pool),

  keep: (checks, tookMs) => {
    const counts = checks.map(({ name, violations }) => ({ name, violations }))
    return KEEP.run(pool, { tookMs, checks: JSON.stringify(counts) })
  },
})
