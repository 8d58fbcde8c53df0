import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it, onTestFinished } from 'vitest'
import { FAILPOINTS, SWITCHABLE_GUARDS } from '../programs/chaos/failpoint.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { ROOT } from '../support/compile.js'
import { patientDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'
import type {} from '../support/global-setup.js'
import { startServerProcess } from '../support/server-process.js'
import { compiled, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'

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

/** Runs in the process before anything of its own. */
const preloaded = (code: string) => ({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })

it('a server ends with exit code 1 after an uncaught error', async () => {
  const server = await startServerProcess(
    preloaded(`process.on('SIGUSR2', () => { throw new Error('nobody expected this') })`),
  )
  try {
    expect((await call(server.url, 'POST', '/api/v1/generate', { body: PROMPT })).status).toBe(401)
    process.kill(server.pid, 'SIGUSR2')
    await until(() => server.exitCode() !== null, 'the end of the process')
    expect(server.exitCode()).toBe(1)
    const [fatal] = server
      .readLog()
      .split('\n')
      .filter((line) => line.includes('"level":60'))
      .map((line) => JSON.parse(line))
    expect(fatal).toMatchObject({ msg: 'uncaught error, stopping', err: { message: 'nobody expected this' } })
    expect(server.readLog()).toContain('"msg":"stopped"')
  } finally {
    await server.stop()
  }
})

it('a server and a worker take no notice of the variables that break processes in chaos runs', async () => {
  const env = {
    FAILPOINTS: FAILPOINTS.map((name) => `${name}=kill@1`).join(','),
    GUARDS_OFF: SWITCHABLE_GUARDS.join(','),
    RATE_LIMIT_MAX: '1000',
  }
  const server = await startServerProcess(env)
  onTestFinished(() => server.stop())
  const { databaseUrl, url: baseUrl, storagePath: path } = server
  const storage = { kind: 'file', path } as const
  const worker = await startWorkerProcess(
    { databaseUrl, baseUrl, storage, redisUrl: redisAvailable ? await redisUrl() : undefined },
    env,
  )
  onTestFinished(() => worker.kill('SIGKILL'))
  const db = patientDatabase(databaseUrl, 1)
  onTestFinished(() => db.pool.end())
  const user = await givenUser(db)

  const headers = { 'idempotency-key': 'once' }
  const { body } = await call(server.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT, headers })
  expect(await endOf(server, user, body.id)).toMatchObject({ status: 'succeeded' })

  worker.kill('SIGTERM')
  expect(await worker.ended).toBe(0)
  expect(server.exitCode()).toBeNull()
  for (const log of [server.readLog(), worker.readLog()]) expect(log).not.toMatch(/FAILPOINTS|GUARDS_OFF/)
})
