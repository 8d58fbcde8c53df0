import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { createTestDatabase } from '../support/services.js'
import { until } from '../support/until.js'
import {
  allGone,
  type Checkout,
  givenCheckout,
  isGone,
  keyOf,
  portIsFree,
  postgresPid,
  servicesOf,
  UNBUILT,
} from './run-local.js'

/** Kept from test to test, like the checkout of someone who starts and stops. */
let checkout: Checkout
beforeAll(async () => {
  checkout = await givenCheckout()
})

describe('npm start', { timeout: 180_000 }, () => {
  it('prints a key and a curl command that work, serves the demo too, and leaves no process after Ctrl-C', async () => {
    const { directory, port } = checkout
    const started = await checkout.start()
    const pids = await checkout.pidsOf(started)
    const modeOf = async (name: string) => (await stat(join(directory, '.easel', name))).mode & 0o777
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

    const demo = checkout.run('demo')
    expect([await demo.exit, demo.output.stderr]).toEqual([0, ''])
    expect(demo.output.stdout).toContain(`Easel runs here already, at http://localhost:${port}.`)
    expect(demo.output.stdout).toContain(`URL   http://localhost:${port}/cdn/`)

    started.signalGroup('SIGINT')
    started.signalGroup('SIGINT') // npm passes on what the terminal has sent already
    expect([await started.exit, started.output.stderr]).toEqual([0, ''])
    await allGone(pids)
    await portIsFree(port)
  })

  it('says whether a GPU server answers that has no model of the catalog, or none does', async () => {
    const gpu = await startComfyuiStandIn({ models: ['own\x1b[31m.safetensors'] })
    onTestFinished(gpu.close)
    const started = await checkout.start({ INFERENCE_URL: gpu.inferenceUrl })
    expect(started.output.stdout).toContain(
      `\n\ncomfyui+${gpu.url} answers, but has no model of the catalog; it has own\\u001b[31m.safetensors.\nWhat is asked for now fails`,
    )
    expect(started.output.stdout).not.toContain('No GPU server answers')
    started.signalGroup('SIGINT')
    await started.exit
    await gpu.refuse()
    const alone = await checkout.start({ INFERENCE_URL: gpu.inferenceUrl })
    expect(alone.output.stdout).toMatch(/^No GPU server answers \(comfyui\+http:\S+: .*ECONNREFUSED.*\): start one, /m)
    alone.signalGroup('SIGINT')
    expect(await alone.exit).toBe(0)
  })

  it('finds the Postgres of a start that was killed, whose services end by themselves, and stops at once on a second Ctrl-C', async () => {
    const { directory, port } = checkout
    const first = await checkout.start()
    const { server, worker } = await servicesOf(first)
    const postgres = await postgresPid(directory)
    process.kill(first.pid, 'SIGKILL')
    expect(await first.exit).toBe('SIGKILL')

    // At once: the killed one's server may still be there.
    const second = await checkout.start()
    await allGone([server, worker])
    expect(await postgresPid(directory)).toBe(postgres)
    expect(keyOf(second)).toBe(keyOf(first))
    const pids = await checkout.pidsOf(second)

    const third = checkout.run('start')
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

  it('uses the database of DATABASE_URL, with a key of its own, and stops if its worker dies', async () => {
    const { directory, port } = checkout
    const kept = await readFile(join(directory, '.easel/demo-key'), 'utf8')
    const database = await createTestDatabase()
    const started = await checkout.start({ DATABASE_URL: database.url }, UNBUILT)
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
})
