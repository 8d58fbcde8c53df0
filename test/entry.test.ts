import { execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { parseConfig } from '../src/config.js'
import { call, PROMPT } from './support/client.js'
import { ROOT } from './support/compile.js'
import type {} from './support/global-setup.js'
import { startServerProcess } from './support/server-process.js'
import { compiled } from './support/services.js'
import { until, within } from './support/until.js'
import { startWorkerProcess } from './support/worker-process.js'

/** Runs in the process before anything of its own. */
const preloaded = (code: string) => ({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })

it('a process says what it was told to break, and ends with 1 at an uncaught error, so that another is started', async () => {
  const server = await startServerProcess({
    ...preloaded(`process.on('SIGUSR2', () => { throw new Error('nobody expected this') })`),
    FAILPOINTS: 'run.after_put=delay:1@1',
  })
  try {
    expect((await call(server.url, 'POST', '/api/v1/generate', { body: PROMPT })).status).toBe(401)
    process.kill(server.pid, 'SIGUSR2')
    await until(() => server.exitCode() !== null, 'the end of the process', 40_000)
    expect(server.exitCode()).toBe(1)
    const [fatal] = server
      .readLog()
      .split('\n')
      .filter((line) => line.includes('"level":60'))
      .map((line) => JSON.parse(line))
    expect(fatal).toMatchObject({ msg: 'uncaught error, stopping', err: { message: 'nobody expected this' } })
    expect(server.readLog()).toContain('"msg":"stopped"')
    expect(server.readLog()).toContain('FAILPOINTS is set: this process breaks on purpose')
  } finally {
    await server.stop()
  }
})

it.each([
  ['src/server.ts', { PORT: 'x' }, /^error: PORT must be .*\n$/],
  ['src/worker.ts', { INFERENCE_URL: 'ftp://gpu' }, /^error: INFERENCE_URL .*\n$/],
  ['src/server.ts', { DATABASE_URL: undefined }, /^error: DATABASE_URL .*\n$/],
  ['src/worker.ts', { DATABASE_URL: undefined }, /^error: DATABASE_URL .*\n$/],
  ['src/server.ts', { database: 'postgres' }, /^error: The database .* run "node dist\/cli.js migrate" first\.\n$/],
  ['src/worker.ts', { database: 'postgres' }, /^error: The database .* run "node dist\/cli.js migrate" first\.\n$/],
] as const)('%s that cannot start with %o exits 1 with one sentence', async (script, wrong, sentence) => {
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

it('what `npm run bundle` makes of server and worker holds all that they load when they start', async () => {
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
}, 60_000)

it('a worker whose Postgres has no address yet starts, and ends when it is told to', async () => {
  const storagePath = await mkdtemp(join(tmpdir(), 'easel-entry-'))
  const env = { DATABASE_URL: 'postgres://nowhere.invalid/easel', STORAGE_URL: `file:${storagePath}` }
  const worker = await startWorkerProcess(parseConfig(env), {})
  try {
    worker.kill('SIGTERM')
    expect(await within(20_000, worker.ended)).toBe(0)
  } finally {
    worker.kill('SIGKILL')
    await rm(storagePath, { recursive: true })
  }
})

it('a process is stopped as one that crashed after an uncaught error alone', async () => {
  const stoppedBy = async (what: string) => {
    const code = `
      import { runProcess } from '${await compiled('src/entry.ts')}'
      await runProcess('test', 5000, async () => ({ stop: async (crashed) => void process.stdout.write('crashed: ' + crashed) }))
      setInterval(() => {}, 1000)
      setTimeout(() => { ${what} })`
    const env = { PATH: process.env.PATH, DATABASE_URL: 'postgres://nowhere' }
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env })
    return (await ended.catch((error) => error)).stdout
  }
  expect(await stoppedBy(`throw new Error('nobody expected this')`)).toBe('crashed: true')
  expect(await stoppedBy(`process.kill(process.pid, 'SIGTERM')`)).toBe('crashed: false')
})
