import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { keepLease } from '../../../src/core/generations/run/lease.js'
import { publish, StoreFault, TakenOver } from '../../../src/core/generations/run/publish.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import { fileImageStore } from '../../../src/images/file-image-store.js'
import { useDatabase } from '../../support/database.js'
import { asDrawn, MADE_WITH, noEnds, noImages } from '../../support/fake-ports.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { standInWorker } from '../../support/stand-in-worker.js'

const context = useDatabase()

it('a GPU server’s version is stored without the characters that Postgres can’t hold', async () => {
  const { db } = context
  await givenGeneration(db, await givenUser(db))
  const generation = await standInWorker(db).claim()
  const madeWith = {
    backend: 'a1111',
    sampler: 'Euler a',
    scheduler: null,
    version: `v1\u0000.9\n\ud800${'x'.repeat(500)}`,
  }
  const inferred = [{ bytes: Buffer.from('png'), seed: 1, madeWith }]
  const images = await publish({ finishImage: asDrawn, images: noImages }, generation, inferred, {
    stillOurs: async () => true,
    checkImageForMs: 0,
    storeForMs: 0,
  })
  expect(await runStore(db, { refundFailed: true }).succeed(generation, images)).toBe(true)
  const { rows } = await db.pool.query('SELECT made_with FROM images WHERE generation_id = $1', [generation.id])
  expect(rows[0].made_with).toEqual({ ...madeWith, version: `v1.9\ufffd${'x'.repeat(95)}` })
})

it('an attempt that was taken over while its machine was suspended leaves the delivered image alone', async () => {
  const { db } = context
  const { id } = await givenGeneration(db, await givenUser(db))
  const root = await mkdtemp(join(tmpdir(), 'easel-publish-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const images = fileImageStore({ root, cdnBaseUrl: 'http://cdn' })
  const attempt = async (image: string) => {
    const generation = await standInWorker(db).claim()
    const lease = keepLease(runStore(db, { refundFailed: true }), noEnds, generation)
    onTestFinished(() => lease.stop())
    const inferred = [{ bytes: Buffer.from(image), seed: 1, madeWith: MADE_WITH }]
    return {
      slug: generation.slugs[0] as string,
      store: () =>
        publish({ finishImage: asDrawn, images }, generation, inferred, {
          stillOurs: lease.stillOurs,
          checkImageForMs: 0,
          storeForMs: 0,
        }),
    }
  }
  // Neither of its clocks, nor any of its timers, goes on until it is resumed.
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const suspended = await attempt('the first')
  await db.pool.query(`UPDATE generations SET lease_until = now() WHERE id = $1`, [id])
  await reconcileStore(db, { refundFailed: true }).requeueLost()
  const other = await attempt('the second')
  await other.store()
  await expect(suspended.store()).rejects.toBeInstanceOf(TakenOver)
  expect(await images.read(other.slug)).toEqual(Buffer.from('the second'))
})

it('a batch of which the store refuses one image fails only when the others are stored, so that those can be removed', async () => {
  const { db } = context
  await givenGeneration(db, await givenUser(db), { batchSize: 2 })
  const generation = await standInWorker(db).claim()
  const events: string[] = []
  let finish: () => void = () => undefined
  const put = async (slug: string) => {
    if (slug === generation.slugs[0]) throw new Error('the disk is full')
    await new Promise<void>((stored) => (finish = stored))
    events.push('stored')
    return true
  }
  const inferred = [1, 2].map((seed) => ({ bytes: Buffer.from('png'), seed, madeWith: MADE_WITH }))
  const how = { stillOurs: async () => true, checkImageForMs: 0, storeForMs: 0 }
  const published = publish({ finishImage: asDrawn, images: { ...noImages, put } }, generation, inferred, how)
  const failed = published.catch((error) => {
    events.push('failed')
    return error
  })
  await nextTurn()
  finish()
  expect(await failed).toBeInstanceOf(StoreFault)
  expect(events).toEqual(['stored', 'failed'])
})
