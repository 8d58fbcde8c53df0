import type { Command } from 'commander'
import { audit } from '../audit/audit.js'
import type { Check } from '../audit/check.js'
import type { Config } from '../config.js'
import type { Answer, Runner } from './answer.js'
import { openLocks } from './held-locks.js'
import { plural, table } from './layout.js'
import { storedPictures } from './stored-pictures.js'

export function auditCommand(program: Command, run: Runner): void {
  program
    .command('audit')
    .description('count what must never happen; exits 1 when anything did. Reads only')
    .option('--full', 'look at every picture instead of 1000 at random')
    .action(run.bare(runAudit))
}

async function runAudit(config: Config, { full = false }: { readonly full?: boolean }): Promise<Answer> {
  const locks = config.redisUrl === undefined ? undefined : await openLocks(config.redisUrl)
  try {
    const { databaseUrl, refundFailed } = config
    const checks = await audit({ databaseUrl, refundFailed, pictures: storedPictures(config), locks, full })
    const failed = checks.filter(({ violations }) => violations > 0)
    return {
      json: { ok: failed.length === 0, checks: checks.map(({ name, violations }) => ({ name, violations })) },
      text: `${reportOf(checks)}\n\n${verdictOf(failed.length, checks.length)}`,
      exitCode: failed.length === 0 ? 0 : 1,
    }
  } finally {
    locks?.close()
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
