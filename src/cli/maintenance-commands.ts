import type { Command } from 'commander'
import { archiveMonths } from '../core/generations/archive-months.js'
import { moveToMonths } from '../core/generations/move-to-months.js'
import { lastMigration, MIGRATIONS } from '../core/release.js'
import { requirePostgresItself } from '../db/checks/pooler-checks.js'
import { waitForPostgres } from '../db/checks/starting-postgres.js'
import { archiveStore } from '../db/generations/archive-store.js'
import { monthStore } from '../db/generations/move-to-months.js'
import { grantApplicationRole } from '../db/migrations/application-role.js'
import { migrateDatabase } from '../db/migrations/migrate.js'
import { archiveFiles } from '../images/archive-files.js'
import { auditService } from '../process/audit-service.js'
import { wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { jsonOf, plural, table } from './output.js'

/** Images looked at without --full. */
const SAMPLE = 1000
/** Violations of a check in the table. */
const SHOWN = 5

export function auditCommand(program: Command, run: Runner): void {
  program
    .command('audit')
    .description('check for what must never happen, and exit 1 if something did; writes only how far it came')
    .option('--full', `look at everything again and at every image, instead of what is new and ${SAMPLE} at random`)
    .action(run(runAudit))
}

async function runAudit({ config }: Operator, { full }: { readonly full?: boolean }) {
  const checks = await auditService(config, { sample: full ? undefined : SAMPLE })
  const failed = checks.filter(({ violations }) => violations > 0).length
  const report = table(
    checks.map((it) => ({
      check: it.name,
      violations: it.violations,
      'such as': it.examples.slice(0, SHOWN).join(', ') || null,
    })),
  )
  const all = plural(checks.length, 'check')
  const verdict = failed === 0 ? `All ${all} passed.` : `${failed} of ${all} found violations.`
  return {
    json: {
      ok: failed === 0,
      checks: checks.map((it) => jsonOf(it, 'name', 'violations', ...(it.violations > 0 ? ['examples' as const] : []))),
    },
    text: `${report}\n\n${verdict}`,
    failed: failed > 0,
  }
}

/**
 * `tell` gets a line for each step: a migration may take minutes.
 * @param patienceMs how long it waits for a Postgres that is still starting
 */
export function migrateCommand(
  program: Command,
  run: Runner,
  tell: (line: string) => unknown,
  patienceMs: number,
): void {
  program
    .command('migrate')
    .description(
      'bring the database up to date and seed an empty catalog (safe to repeat, and to run on several hosts at once)',
    )
    .action(run((operator) => migrate(operator, tell, patienceMs)))
}

async function migrate({ config }: Operator, tell: (line: string) => unknown, patienceMs: number) {
  const { databaseUrl, appDatabaseUrl } = config
  await waitForPostgres(databaseUrl, patienceMs, tell)
  await requirePostgresItself(databaseUrl)
  const applied = await migrateDatabase(databaseUrl, MIGRATIONS, tell)
  if (appDatabaseUrl) await grantApplicationRole(databaseUrl, appDatabaseUrl)
  const done = applied.length > 0 ? `${plural(applied.length, 'migration')} applied` : 'nothing to do'
  return {
    json: { migrated: true, applied },
    text: `The database is up to date (${lastMigration().tag}): ${done}.`,
  }
}

/** `tell` gets a line for each thousand or more: many months may take hours. */
export function maintenanceCommand(program: Command, run: Runner, tell: (line: string) => unknown): void {
  program
    .command('maintenance')
    .description(
      'move what has ended for months to tables of its month, and what is older to the archive (safe to stop at any moment, to repeat, and while all goes on)',
    )
    .option(
      '--live-months <n>',
      'how many whole months before this one stay in the live tables (default: LIVE_MONTHS)',
      wholeNumber('--live-months', 1, 120),
    )
    .option(
      '--archive-months <n>',
      'how many whole months before this one stay in Postgres (default: ARCHIVE_MONTHS; all, if that is not set)',
      wholeNumber('--archive-months', 13, 240),
    )
    .action(run((operator, options) => maintain(operator, options, tell)))
}

const TOLD_EVERY = 1000

interface Months {
  readonly liveMonths?: number | undefined
  readonly archiveMonths?: number | undefined
}

async function maintain(
  { db, config }: Operator,
  { liveMonths = config.liveMonths, archiveMonths: months = config.archiveMonths }: Months,
  tell: (line: string) => unknown,
) {
  if (liveMonths === undefined)
    throw new OperatorError(
      '--live-months, or LIVE_MONTHS, must say how many whole months before this one stay in the live tables.',
    )
  if (months !== undefined && months <= liveMonths)
    throw new OperatorError(
      `--archive-months must be more than the ${plural(liveMonths, 'month')} that stay in the live tables.`,
    )
  const toldEach = (have: string) => {
    let told = 0
    return ({ generations }: { readonly generations: number }) => {
      if (generations - told < TOLD_EVERY) return
      told = generations
      tell(`${generations} generations have ${have}.`)
    }
  }
  const { signal } = new AbortController()
  const moved = await moveToMonths(monthStore(db), liveMonths, signal, toldEach('moved'))
  const archive = archiveStore(db, archiveFiles(config), config.retention)
  const archived =
    months === undefined ? undefined : await archiveMonths(archive, months, signal, toldEach('been archived'))
  const sentences = [
    sentenceOf('Moved to their months', moved, 'New months', moved.months),
    archived &&
      sentenceOf('Archived', archived, 'Months that have no generations in Postgres any more', archived.dropped),
  ]
  return {
    json: { ...moved, ...(archived && { archived }) },
    text: sentences.filter(Boolean).join('\n') || 'Nothing is to be moved.',
  }
}

/** Undefined: nothing was done. */
function sentenceOf(
  what: string,
  { generations, left }: { readonly generations: number; readonly left: number },
  ofMonths: string,
  months: readonly string[],
) {
  if (generations === 0 && left === 0 && months.length === 0) return undefined
  const named = months.length > 0 ? ` ${ofMonths}: ${months.map((it) => it.slice(0, 7)).join(', ')}.` : ''
  const inUse = left > 0 ? ` In use, and not moved: ${plural(left, 'generation')}. Run this again later.` : ''
  return `${what}: ${plural(generations, 'generation')}.${named}${inUse}`
}
