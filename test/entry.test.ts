import { expect, it } from 'vitest'
import { call, PROMPT } from './support/client.js'
import { startServerProcess } from './support/server-process.js'
import { until } from './support/until.js'

/** Runs in the process before anything of its own. */
const preloaded = (code: string) => ({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })

it('a process says what it was told to break, and ends with 1 at an uncaught error, so that another is started', {
  timeout: 60_000,
}, async () => {
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
