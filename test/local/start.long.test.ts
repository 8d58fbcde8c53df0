import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../support/services.js'
import { allGone, type Checkout, givenCheckout, isGone, keyOf, postgresPid, servicesOf, UNBUILT } from './run-local.js'

/** Kept from test to test, like the checkout of someone who starts and stops. */
let checkout: Checkout
beforeAll(async () => {
  checkout = await givenCheckout()
})

describe('npm start', { timeout: 180_000 }, () => {
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
