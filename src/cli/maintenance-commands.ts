import type { Command } from 'commander'
import type { Check } from '../audit/check.js'
import type { Config } from '../config.js'
import { grantApplicationRole } from '../db/application-role.js'
import { migrateDatabase } from '../db/migrate.js'
import { auditService } from '../wiring.js'
import type { Runner } from './connection.js'
import { plural, table } from './output.js'

/** Images looked at without --full. */
const SAMPLE = 1000

export function auditCommand(program: Command, run: Runner): void {
  program
    .command('audit')
    .description('count what must never happen; exits 1 when anything did. Writes nothing but how far it came')
    .option('--full', `look at everything again and at every image, instead of what is new and ${SAMPLE} at random`)
    .action(run.configured(runAudit))
}

async function runAudit(config: Config, { full = false }: { readonly full?: boolean }) {
  const checks = await auditService(config, { sample: full ? undefined : SAMPLE, whole: full, everyFile: full })
  const failed = checks.filter(({ violations }) => violations > 0)
  return {
    json: { ok: failed.length === 0, checks: checks.map(({ name, violations }) => ({ name, violations })) },
    text: `${reportOf(checks)}\n\n${verdictOf(failed.length, checks.length)}`,
    exitCode: failed.length === 0 ? 0 : 1,
  }
}

const reportOf = (checks: readonly Check[]): string =>
  table(
    ['check', 'violations', 'such as'],
    checks.map(({ name, violations, examples }) => [name, violations, examples.join(', ') || null]),
    '',
  )

const verdictOf = (failed: number, all: number): string =>
  failed === 0 ? `All ${plural(all, 'check')} passed.` : `${failed} of ${plural(all, 'check')} found violations.`

export function migrateCommand(program: Command, run: Runner): void {
  program
    .command('migrate')
    .description(
      'bring the database up to date and seed an empty catalog (safe to repeat, and at once from several hosts)',
    )
    .action(
      run.configured(async ({ databaseUrl, appDatabaseUrl }) => {
        await migrateDatabase(databaseUrl)
        if (appDatabaseUrl) await grantApplicationRole(databaseUrl, appDatabaseUrl)
        return { json: { migrated: true }, text: 'The database is up to date.' }
      }),
    )
}
