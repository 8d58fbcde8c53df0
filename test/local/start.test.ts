import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/local/listening-port.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'
import {
  allGone,
  isGone,
  type LocalRun,
  newDirectory,
  portIsFree,
  postgresPid,
  runLocal,
  servicesOf,
  UNBUILT,
} from './run-local.js'

/** Kept from test to test, like the checkout of someone who starts and stops. */
let directory: string
let port: number

beforeAll(async () => {
  directory = await newDirectory()
  port = await freePort('127.0.0.1')
})

const run = (command: string, env: NodeJS.ProcessEnv = {}, cwd = directory, script?: readonly string[]) =>
  runLocal(cwd, [command], { PORT: String(port), ...env }, script)

async function start(...how: [env?: NodeJS.ProcessEnv, cwd?: string, script?: readonly string[]]): Promise<LocalRun> {
  const started = run('start', ...how)
  await started.prints('Ctrl-C stops everything.')
  return started
}

const keyOf = ({ output }: LocalRun) => /Key +(\S+)/.exec(output.stdout)?.[1] as string
const pidsOf = async (run: LocalRun) => [...Object.values(await servicesOf(run)), await postgresPid(directory)]
const modeOf = async (name: string) => (await stat(join(directory, '.easel', name))).mode & 0o777

describe('npm start', { timeout: 180_000 }, () => {
  it('prints a key and a curl line that works as it is, serves the demo too, and Ctrl-C leaves no process', async () => {
    const started = await start({}, directory, UNBUILT)
    const pids = await pidsOf(started)
    expect([await modeOf('demo-key'), await modeOf('database-url')]).toEqual([0o600, 0o600])

    const link = new URL(/^ +(http\S+\/sign-in\/link\S+)$/m.exec(started.output.stdout)?.[1] as string)
    const signedIn = await fetch(link, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: link.origin },
      body: link.searchParams,
    })
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/playground'])
    expect(started.output.stdout).toContain('user sign-in-link easel-demo')

    const curl = started.output.stdout
      .split('\n')
      .find((line) => line.startsWith('curl ') && line.includes('-d ')) as string
    const answer = JSON.parse((await promisify(execFile)('sh', ['-c', curl])).stdout)
    expect(answer).toMatchObject({ status: 'queued', credits_charged: 1 })
    const poll = async () => {
      const headers = { authorization: `Bearer ${keyOf(started)}` }
      await new Promise((resolve) => setTimeout(resolve, 200)) // within the rate limit
      return (await (await fetch(answer.poll_url, { headers })).json()).status === 'succeeded'
    }
    await until(poll, 'success')

    const demo = run('demo')
    expect([await demo.exit, demo.output.stderr]).toEqual([0, ''])
    expect(demo.output.stdout).toContain(`Easel runs here already, at http://localhost:${port}.`)
    expect(demo.output.stdout).toContain(`URL   http://localhost:${port}/cdn/`)

    started.signalGroup('SIGINT')
    started.signalGroup('SIGINT') // npm passes on what the terminal has sent already
    expect([await started.exit, started.output.stderr]).toEqual([0, ''])
    await allGone(pids)
    await portIsFree(port)
  })

  it('takes up after a SIGKILL: its services end by themselves, and the next start finds Postgres; a second Ctrl-C ends it at once', async () => {
    const first = await start()
    const { server, worker } = await servicesOf(first)
    const postgres = await postgresPid(directory)
    process.kill(first.pid, 'SIGKILL')
    expect(await first.exit).toBe('SIGKILL')

    // At once: the killed one's server may still be there.
    const second = await start()
    await allGone([server, worker])
    expect(await postgresPid(directory)).toBe(postgres)
    expect(keyOf(second)).toBe(keyOf(first))
    const pids = await pidsOf(second)

    const third = run('start')
    expect(await third.exit).toBe(1)
    expect(third.output.stderr).toBe(
      `error: Easel already runs in this directory, at http://localhost:${port}: use that one, or stop it first with "kill ${second.pid}".\n`,
    )
    // A worker that hangs, and someone who doesn't wait for it.
    process.kill(pids[1] as number, 'SIGSTOP')
    const interrupting = setInterval(() => second.signalGroup('SIGINT'), 100)
    void second.exit.then(() => clearInterval(interrupting))
    expect(await second.exit).toBe(0)
    await allGone(pids)
  })

  it('uses the database of DATABASE_URL, with a key of its own, and stops when a part of it dies', async () => {
    const kept = await readFile(join(directory, '.easel/demo-key'), 'utf8')
    const database = await createTestDatabase()
    const started = await start({ DATABASE_URL: database.url })
    expect(await postgresPid(directory)).toBeUndefined()
    expect(keyOf(started)).not.toBe(kept.trim())
    const headers = { authorization: `Bearer ${keyOf(started)}` }
    const account = await (await fetch(`http://localhost:${port}/api/v1/account`, { headers })).json()
    expect(account).toMatchObject({ username: 'easel-demo', credits: 1000, subscription: { status: 'active' } })

    const { server, worker } = await servicesOf(started)
    process.kill(worker, 'SIGKILL')
    expect(await started.exit).toBe(1)
    expect(started.output.stderr).toBe('error: The worker ended by itself (SIGKILL): see .easel/logs/worker.log.\n')
    expect(await isGone(server)).toBe(true)
    await database.drop()
  })

  it('trusts no .easel that others may write to', async () => {
    const cwd = await newDirectory()
    const easel = join(cwd, '.easel')
    await mkdir(easel)
    await chmod(easel, 0o777)
    const refused = run('start', {}, cwd)
    expect(await refused.exit).toBe(1)
    expect(refused.output.stderr).toBe(
      `error: Other users may write to ${easel}: remove what is not yours there, then run "chmod go-w ${easel}".\n`,
    )
    expect(await readdir(easel)).toEqual([])
  })

  it('says in one sentence that the port is taken, and starts nothing', async () => {
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')
    const refused = run('start')
    expect(await refused.exit).toBe(1)
    squatter.close()
    expect(refused.output.stderr).toBe(
      `error: Port ${port} is already in use: set PORT to a free one, like "PORT=${port + 1} npm start".\n`,
    )
    expect(await postgresPid(directory)).toBeUndefined()
  })
})
