/** What a worker writes about the generations it runs, without running any. */
import type { Generation } from '../../src/core/generations/generation.js'
import { SAMPLERS } from '../../src/core/generations/generation.js'
import type { ClaimedGeneration, ServedCapabilities } from '../../src/core/generations/run/ports.js'
import type { Database } from '../../src/db/client.js'
import { runStore } from '../../src/db/generations/run.js'
import { type GivenUser, givenGeneration } from './givens.js'
import { until } from './until.js'

const ANYTHING: ServedCapabilities = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const BY = { worker: 'stand-in', backend: 'stand-in:' }

export function standInWorker(db: Database) {
  const runs = runStore(db, { refundFailed: true })
  return {
    /** Waits for something to claim. It keeps it however long the test takes: nobody renews the lease here. */
    async claim(): Promise<ClaimedGeneration> {
      const claimed = await until(() => runs.claim(BY, ANYTHING), 'something to claim')
      await db.pool.query(`UPDATE generations SET lease_until = now() + interval '1 hour' WHERE id = $1`, [claimed.id])
      return claimed
    },

    async succeed(generation: ClaimedGeneration): Promise<void> {
      const { width, height, seed } = generation
      const images = generation.slugs.map((slug, n) => ({
        slug,
        seed: seed + n,
        width,
        height,
        bytes: 10,
        sha256: 'x',
      }))
      if (!(await runs.succeed(generation, images))) throw new Error(`${generation.id} is no longer this worker's`)
    },

    async fail(generation: ClaimedGeneration, reason: string, isRefunded = true): Promise<void> {
      if (!(await runs.fail(generation, reason, isRefunded)))
        throw new Error(`${generation.id} is no longer this worker's`)
    },
  }
}

/** A generation of the user's that has ended. Nothing else may wait to be claimed. */
export async function givenEndedGeneration(
  db: Database,
  user: GivenUser,
  asked: Parameters<typeof givenGeneration>[2] = {},
  how: 'succeed' | 'fail' = 'succeed',
): Promise<Generation> {
  const generation = await givenGeneration(db, user, asked)
  const worker = standInWorker(db)
  const claimed = await worker.claim()
  await (how === 'succeed' ? worker.succeed(claimed) : worker.fail(claimed, 'The model broke.'))
  return generation
}
