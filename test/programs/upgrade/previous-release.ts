/** The release before this one, which serves while its successor's migrations run. */
import { execFile } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundle, ROOT } from '../../support/compile.js'

/** To be moved on with each release: see docs/contributing.md. */
export const PREVIOUS_RELEASE = {
  version: '0.2.0',
  commit: '90b40cf3996651dce17465c28c0b0063afbb6c43',
  lastMigration: '0030_attempts',
} as const

const run = promisify(execFile)

/** Whether git has its source here; if not, after one line that says so. @throws Error with CI=true */
export async function hasPreviousRelease(): Promise<boolean> {
  const { version, commit } = PREVIOUS_RELEASE
  try {
    await run('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`])
    return true
  } catch {
    const missing = `The source of release ${version} (commit ${commit.slice(0, 7)}) is not in this checkout's git`
    if (process.env.CI === 'true') throw new Error(`${missing}: with CI=true fetch the whole history.`)
    console.log(`${missing}: the tests of the upgrade from it are skipped.`)
    return false
  }
}

/**
 * Its server, worker and command line, over today's packages. What it alone needs, @fastify/formbody, is a package of
 * development until the next release.
 * @returns where a script of it is, like `compiled` of services.ts
 */
export async function bundlePreviousRelease(directory: string): Promise<(script: string) => string> {
  const source = join(directory, 'source')
  const archive = join(directory, 'source.tar')
  await mkdir(source, { recursive: true })
  await run('git', ['-C', ROOT, 'archive', '--output', archive, PREVIOUS_RELEASE.commit])
  await run('tar', ['-xf', archive, '-C', source])
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  const compiled = join(directory, 'compiled')
  await bundle(compiled, `${source}/`, ['src/server.ts', 'src/worker.ts', 'src/cli/run-cli.ts'])
  return (script) => join(compiled, script.replace(/\.ts$/, '.js'))
}
