import { expect, it } from 'vitest'
import { runStore } from '../../src/db/run-store.js'
import { publish } from '../../src/generation/publish.js'
import { givenGeneration, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'

const context = useService()

it('a server’s version in words that Postgres can’t hold is stored without them', async () => {
  const { db } = context.service
  await givenGeneration(db, await givenUser(db))
  const generation = await standInWorker(db).claim()
  const madeWith = {
    backend: 'a1111',
    sampler: 'Euler a',
    scheduler: null,
    version: `v1\u0000.9\n\ud800${'x'.repeat(500)}`,
  }
  const ports = {
    finishPicture: async () => ({ png: Buffer.from('png'), sha256: 'x' }),
    images: { put: async () => true, remove: async () => undefined, check: async () => undefined, url: () => '' },
  }
  const inferred = [{ bytes: Buffer.from('png'), seed: 1, madeWith }]
  const images = await publish(ports, generation, inferred, async () => true)
  expect(await runStore(db, { refundFailed: true }).succeed(generation, images)).toBe(true)
  const { rows } = await db.pool.query('SELECT made_with FROM images WHERE generation_id = $1', [generation.id])
  expect(rows[0].made_with).toEqual({ ...madeWith, version: `v1.9\ufffd${'x'.repeat(95)}` })
})
