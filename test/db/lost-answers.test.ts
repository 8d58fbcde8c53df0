import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../src/core/generations/generation.js'
import type { ClaimedGeneration } from '../../src/core/generations/run/ports.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { reconcileStore } from '../../src/db/generations/reconcile.js'
import { runStore } from '../../src/db/generations/run.js'
import { submissionStore } from '../../src/db/generations/submit/charged.js'
import { startProxy, type TcpProxy } from '../programs/chaos/proxy.js'
import { useDatabase } from '../support/database.js'
import { startFaultProxy } from '../support/fault-proxy.js'
import { aGeneration, chargesOf, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { until } from '../support/until.js'

const context = useDatabase()
const OPTIONS = { deadlineSeconds: 60, idempotencyKey: undefined }
const ANYTHING = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const BY = { worker: 'w', backend: 'b' }
const quiet = () => undefined

/** The same database through a network that loses answers. */
let network: TcpProxy
let db: Database
beforeEach(async () => {
  network = await startProxy(Number(new URL(context.url).port))
  const through = Object.assign(new URL(context.url), { hostname: '127.0.0.1', port: String(network.port) })
  db = createDatabase(through.href, { maxConnections: 5, onError: quiet })
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})
afterEach(async () => {
  network.close()
  await db.pool.end()
})

/** The work whose answer is lost, although Postgres has done what was asked. */
async function losingAnswer<T>(statement: RegExp, work: () => Promise<T>): Promise<T | 'no answer'> {
  network.cutReplies(statement, 1)
  const answer = await work().catch(() => 'no answer' as const)
  expect(network.swallowed()).toBe(1)
  return answer
}

async function givenClaimed(developer = false): Promise<ClaimedGeneration> {
  const user = await givenUser(context.db, developer ? { developer: { concurrency: 4 } } : {})
  await givenGeneration(context.db, user, { batchSize: 2 })
  return (await runStore(context.db, { refundFailed: true }).claim(BY, ANYTHING)) as ClaimedGeneration
}

const images = ({ slugs, seed }: ClaimedGeneration) =>
  slugs.map((slug, i) => ({ slug, seed: seed + i, width: 832, height: 1216, bytes: 10, sha256: 'x' }))
const count = async (table: 'images' | 'usage', { id }: { readonly id: string }): Promise<number> =>
  (await context.db.pool.query(`SELECT count(*) AS n FROM ${table} WHERE generation_id = $1`, [id])).rows[0].n

describe('a submit whose answer from Postgres is lost', () => {
  it('finds its charge by the ID that it had chosen before, and pays once', async () => {
    const user = await givenUser(context.db, { credits: 10 })
    const generation = aGeneration(user, { batchSize: 2 })
    const stored = await losingAnswer(/insert_charged/, () => submissionStore(db).insert(generation, OPTIONS))
    expect(stored).toMatchObject({ outcome: 'inserted', creditsLeft: 8 })
    expect(await chargesOf(context.db, user)).toEqual([['charge', -2]])
  })

  it('finds its metered generation, whose transaction was committed', async () => {
    const user = await givenUser(context.db, { developer: { concurrency: 3 } })
    const generations = [aGeneration(user), aGeneration(user), aGeneration(user)]
    const store = submissionStore(db)
    const storing = () => Promise.all(generations.map((generation) => store.insert(generation, OPTIONS)))
    for (const stored of await losingAnswer(/COMMIT/, storing)) expect(stored).toMatchObject({ outcome: 'inserted' })
    for (const generation of generations)
      expect(await rowOf(context.db, generation)).toMatchObject({ status: 'queued' })
  })

  it('fails as unavailable and has paid nothing if Postgres was never reached', async () => {
    const proxy = await startFaultProxy(context.url)
    const unreachable = createDatabase(proxy.through(context.url), { maxConnections: 2, onError: quiet })
    await unreachable.pool.query('SELECT 1')
    await proxy.refuse()
    const user = await givenUser(context.db, { credits: 10 })
    const generation = aGeneration(user)
    await expect(submissionStore(unreachable, { settleMs: 200 }).insert(generation, OPTIONS)).rejects.toMatchObject({
      code: 'unavailable',
    })
    await proxy.pass()
    await until(() => unreachable.pool.query('SELECT 1').catch(quiet), 'Postgres being back')
    expect(await rowOf(context.db, generation)).toBeUndefined()
    expect(await chargesOf(context.db, user)).toEqual([])
    await unreachable.pool.end()
    await proxy.close()
  })
})

describe('a worker whose answer from Postgres is lost', () => {
  it.each([false, true])(
    'succeeds when it reports its success again, with its images stored and billed once (metered: %s)',
    async (metered) => {
      const claimed = await givenClaimed(metered)
      const runs = runStore(db, { refundFailed: true })
      const say = () => runs.succeed(claimed, images(claimed))
      expect(await losingAnswer(/succeed_generation/, say)).toBe('no answer')
      expect(await say()).toBe(true)
      expect(await runs.fail(claimed, 'It failed.')).toBe(false)
      expect(await count('images', claimed)).toBe(2)
      expect(await count('usage', claimed)).toBe(metered ? 2 : 0)
      expect(await chargesOf(context.db, { id: claimed.accountId })).toEqual(metered ? [] : [['charge', -2]])
    },
  )

  it('fails its generation when it reports the failure again, and the credits are given back once', async () => {
    const claimed = await givenClaimed()
    const runs = runStore(db, { refundFailed: true })
    const say = () => runs.fail(claimed, 'It failed.')
    expect(await losingAnswer(/WITH ended/, say)).toBe('no answer')
    expect(await say()).toBe(true)
    expect(await runs.succeed(claimed, images(claimed))).toBe(false)
    expect(await chargesOf(context.db, { id: claimed.accountId })).toEqual([
      ['charge', -2],
      ['refund', 2],
    ])
  })

  it('requeues its generation once although it asks twice, and a later attempt is not touched', async () => {
    const claimed = await givenClaimed()
    const runs = runStore(db, { refundFailed: true })
    const say = () => runs.requeue(claimed, { reason: 'internal', countTry: true, delayMs: 0 })
    expect(await losingAnswer(/requeue_generation/, say)).toBe('no answer')
    expect(await rowOf(context.db, claimed)).toMatchObject({ status: 'queued', attempt: 2, tries: 1 })
    const next = await runs.claim(BY, ANYTHING)
    expect(next).toMatchObject({ id: claimed.id, attempt: 2 })
    expect(await say()).toBeUndefined()
    expect(await rowOf(context.db, claimed)).toMatchObject({ status: 'processing', attempt: 2, tries: 1 })
  })

  it('loses its claim, and the generation is requeued when its lease has run out', async () => {
    const user = await givenUser(context.db)
    const generation = await givenGeneration(context.db, user)
    const claim = () => runStore(db, { refundFailed: true }).claim(BY, ANYTHING)
    expect(await losingAnswer(/claim_generation/, claim)).toBe('no answer')
    expect(await rowOf(context.db, generation)).toMatchObject({ status: 'processing', attempt: 1 })
    await context.db.pool.query(`UPDATE generations SET lease_until = now() WHERE id = $1`, [generation.id])
    expect(await reconcileStore(db, { refundFailed: true }).requeueLost()).toEqual([{ id: generation.id, attempt: 2 }])
    expect(await claim()).toMatchObject({ id: generation.id, attempt: 2 })
  })
})
