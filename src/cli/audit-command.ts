import type { Command } from 'commander'
import type { Check } from '../audit/check.js'
import type { Config } from '../config.js'
import { auditService } from '../wiring.js'
import type { Answer, Runner } from './answer.js'
import { plural, table } from './layout.js'

/** Pictures looked at without --full. */
const SAMPLE = 1000

export function auditCommand(program: Command, run: Runner): void {
  program
    .command('audit')
    .description('count what must never happen; exits 1 when anything did. Writes nothing but how far it came')
    .option('--full', `look at everything again and at every picture, instead of what is new and ${SAMPLE} at random`)
    .action(run.bare(runAudit))
}

async function runAudit(config: Config, { full = false }: { readonly full?: boolean }): Promise<Answer> {
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
