/**
 * `npm run supply-chain`: looks at where packages come from, what they run on and under which licences, and at the
 * registry's signatures where it can be reached. With `--write` it writes docs/licenses.md anew.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { excludingNode, licenceList, withForbiddenLicence } from './lock-file.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const LICENCES = join(ROOT, 'docs/licenses.md')

const { '': _project, ...packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages

const run = (command: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' })
  return { ok: status === 0, said: `${stdout ?? ''}${stderr ?? ''}`.trim() }
}

/** Npm asks the registry for its keys and each package's signature. */
function signatureFaults(): string[] {
  const { ok, said } = run('npm', 'audit', 'signatures', '--fetch-retries=0', '--loglevel=error')
  if (ok || !/network|ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|E40[34]/.test(said)) return ok ? [] : [said]
  console.log('the signatures of the registry were not checked: it, or its keys, cannot be reached from here')
  return []
}

const lock = run(
  'npx',
  'lockfile-lint',
  '--path',
  'package-lock.json',
  '--type',
  'npm',
  '--validate-https',
  ...['--validate-integrity', '--validate-package-names', '--allowed-hosts', 'npm'],
)
if (process.argv.includes('--write')) writeFileSync(LICENCES, licenceList(packages))
const isListed = readFileSync(LICENCES, 'utf8') === licenceList(packages)
const faults = [
  ...(lock.ok ? [] : [lock.said]),
  ...excludingNode(packages),
  ...withForbiddenLicence(packages),
  ...(isListed ? [] : ['docs/licenses.md is not up to date: run "npm run supply-chain -- --write".']),
  ...signatureFaults(),
]
for (const fault of faults) console.error(fault)
if (faults.length === 0) console.log(`${Object.keys(packages).length} packages: nothing found`)
process.exit(faults.length === 0 ? 0 : 1)
