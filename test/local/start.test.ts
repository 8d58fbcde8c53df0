import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { until } from '../support/until.js'
import {
  allGone,
  type Checkout,
  givenCheckout,
  keyOf,
  newDirectory,
  portIsFree,
  postgresPid,
  runLocal,
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

  it('refuses to use a .easel directory that other users may write to', async () => {
    const cwd = await newDirectory()
    const easel = join(cwd, '.easel')
    await mkdir(easel)
    await chmod(easel, 0o777)
    const refused = runLocal(cwd, ['start'], { PORT: String(checkout.port) })
    expect(await refused.exit).toBe(1)
    expect(refused.output.stderr).toBe(
      `error: Other users may write to ${easel}: remove what is not yours there, then run "chmod go-w ${easel}".\n`,
    )
    expect(await readdir(easel)).toEqual([])
  })

  it('says in one sentence that the port is taken, and starts nothing', async () => {
    const { directory, port } = checkout
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')
    const refused = checkout.run('start')
    expect(await refused.exit).toBe(1)
    squatter.close()
    expect(refused.output.stderr).toBe(
      `error: Port ${port} is already in use: set PORT to a free one, like "PORT=${port + 1} npm start".\n`,
    )
    expect(await postgresPid(directory)).toBeUndefined()
  })
})
