import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { ROOT } from '../support/compile.js'
import type {} from '../support/global-setup.js'
import { compiled } from '../support/services.js'

it('`npm run bundle` makes a server and a worker that hold all that they load when they start', async () => {
  const directory = join(dirname(await compiled('src/server.ts')), '../bundle')
  await promisify(execFile)('npm', ['run', '-s', 'bundle', '--', `--outdir=${directory}`], { cwd: ROOT })
  // `npm run build` has them there already.
  await cp(join(ROOT, 'src/web/assets'), join(directory, 'web/assets'), { recursive: true })
  for (const [script, variable] of [
    ['server.js', 'PORT'],
    ['worker.js', 'INFERENCE_URL'],
  ] as const) {
    // Who keeps images in a directory never loads it.
    const bundled = (await readFile(join(directory, script), 'utf8')).replaceAll('\\\n', '')
    expect(bundled).toMatch(/import\(\s*"@aws-sdk\/client-s3"/)
    expect(bundled).not.toMatch(/(?:from|import)\s*"@aws-sdk/)
    const env = { PATH: process.env.PATH, DATABASE_URL: inject('services').postgresAdminUrl, [variable]: 'wrong' }
    const run = promisify(execFile)(process.execPath, [join(directory, script)], { env })
    await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(`^error: ${variable} .*\n$`) })
  }
})
