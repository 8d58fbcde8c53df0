import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import type {} from '../support/global-setup.js'
import { compiled } from '../support/services.js'
import { within } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'

it.each([
  ['src/server.ts', { PORT: 'x' }, /^error: PORT must be .*\n$/],
  ['src/worker.ts', { INFERENCE_URL: 'ftp://gpu' }, /^error: INFERENCE_URL .*\n$/],
  ['src/server.ts', { DATABASE_URL: undefined }, /^error: DATABASE_URL .*\n$/],
  ['src/worker.ts', { DATABASE_URL: undefined }, /^error: DATABASE_URL .*\n$/],
  ['src/server.ts', { database: 'postgres' }, /^error: The database .* run "node dist\/cli.js migrate" first\.\n$/],
  ['src/worker.ts', { database: 'postgres' }, /^error: The database .* run "node dist\/cli.js migrate" first\.\n$/],
] as const)('%s that cannot start with %o ends with exit code 1 and one sentence', async (script, wrong, sentence) => {
  const { database, ...variables } = { database: undefined, ...wrong }
  const url = new URL(inject('services').postgresAdminUrl)
  if (database) url.pathname = database
  const env = { PATH: process.env.PATH, DATABASE_URL: url.href, ...variables }
  const child = spawn(process.execPath, [await compiled(script)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('exit', resolve)),
  ])
  expect({ out, errors, code }).toEqual({ out: '', errors: expect.stringMatching(sentence), code: 1 })
})

it('a worker whose Postgres has no address yet starts, and ends at a SIGTERM', async () => {
  const storagePath = await mkdtemp(join(tmpdir(), 'easel-entry-'))
  const env = { DATABASE_URL: 'postgres://nowhere.invalid/easel', STORAGE_URL: `file:${storagePath}` }
  const worker = await startWorkerProcess(parseConfig(env), {})
  try {
    worker.kill('SIGTERM')
    expect(await within(60_000, worker.ended)).toBe(0)
  } finally {
    worker.kill('SIGKILL')
    await rm(storagePath, { recursive: true })
  }
})

it('a process is told that it crashed after an uncaught error, and not after a SIGTERM', async () => {
  const stoppedBy = async (what: string) => {
    const code = `
      import { runProcess } from '${await compiled('src/process/run-process.ts')}'
      await runProcess('test', 5000, {}, async () => ({ stop: async (crashed) => void process.stdout.write('crashed: ' + crashed) }))
      setInterval(() => {}, 1000)
      setTimeout(() => { ${what} })`
    const env = { PATH: process.env.PATH, DATABASE_URL: 'postgres://nowhere' }
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env })
    return (await ended.catch((error) => error)).stdout
  }
  expect(await stoppedBy(`throw new Error('nobody expected this')`)).toBe('crashed: true')
  expect(await stoppedBy(`process.kill(process.pid, 'SIGTERM')`)).toBe('crashed: false')
})
