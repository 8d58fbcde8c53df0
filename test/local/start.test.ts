import { once } from 'node:events'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Checkout, givenCheckout, newDirectory, postgresPid, runLocal } from './run-local.js'

/** Kept from test to test, like the checkout of someone who starts and stops. */
let checkout: Checkout
beforeAll(async () => {
  checkout = await givenCheckout()
})

describe('npm start', { timeout: 180_000 }, () => {
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
