import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/local/listening-port.js'
import { newDirectory, portIsFree, postgresPid, runLocal } from './run-local.js'

/** Kept from test to test, like the directory of someone who tries things. */
let directory: string
let port: number

beforeAll(async () => {
  directory = await newDirectory()
  port = await freePort('127.0.0.1')
})

const runDemo = (prompt: string) => runLocal(directory, ['demo', prompt], { PORT: String(port) })

const expectNothingLeft = async (usedPort = port) => {
  await portIsFree(usedPort)
  expect(await postgresPid(directory)).toBeUndefined()
}

/** Its output is no terminal here: nothing is rewritten or coloured. */
function expectPlainLines(stdout: string): void {
  const lines = stdout.trimEnd().split('\n')
  for (const [i, step] of ['Starting Postgres', 'Preparing the database', 'Starting server and worker'].entries()) {
    expect(lines[i]).toMatch(new RegExp(`^${step}  \\d+\\.\\d s$`))
  }
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e×]+$/)
  expect(lines.at(-1)).toContain('For real ones: INFERENCE_URL=a1111+http://host:7860')
}

describe('npm run demo', { timeout: 180_000 }, () => {
  it('draws, saves and shows one image, on another port if PORT is taken, and leaves nothing running', async () => {
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')
    const demo = runDemo('A lighthouse, at dusk!')
    expect([await demo.exit, demo.output.stderr]).toEqual([0, ''])
    squatter.close()

    const { stdout } = demo.output
    const [, url, ownPort, slug] = /URL +(http:\/\/localhost:(\d+)\/cdn\/(\w{22})\.png)\n/.exec(stdout) ?? []
    expect(url, stdout).toBeDefined()
    expect(Number(ownPort)).not.toBe(port)
    expect(stdout).toContain(`whenever "PORT=${ownPort} npm start" runs`)
    const file = /File +(\S+)\n/.exec(stdout)?.[1] as string
    expect(file).toBe(join(directory, `.easel/demo/a-lighthouse-at-dusk-${slug?.slice(0, 6)}.png`))
    const png = await readFile(file)
    expect([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(['PNG', 832, 1216])
    expect(png.equals(await readFile(join(directory, `.easel/images/${slug}.png`)))).toBe(true)
    expectPlainLines(stdout)
    await expectNothingLeft(Number(ownPort))
  })

  it('says in one sentence why the service refuses the prompt, and leaves nothing running', async () => {
    const demo = runDemo('x'.repeat(2001))
    expect(await demo.exit).toBe(1)
    expect(demo.output.stderr).toMatch(/^error: prompt .*2000 characters.*\n$/)
    await expectNothingLeft()
  })

  it('ends amid its start on Ctrl-C, and leaves nothing running', async () => {
    const demo = runDemo('a red fox')
    await demo.prints('Starting server and worker')
    demo.signalGroup('SIGINT')
    expect([await demo.exit, demo.output.stderr]).toEqual([130, ''])
    expect(demo.output.stdout).toMatch(/Stopped before the image was there\.\n$/)
    await expectNothingLeft()
  })
})
