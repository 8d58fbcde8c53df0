/** What a backend can't do: its claims leave it to others, and where there are none the reconciler gives it up. */
import { beforeEach, expect, it } from 'vitest'
import type { GenerationRequest } from '../../../src/core/generations/generation.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ServedCapabilities } from '../../../src/core/generations/run/ports.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import { useDatabase } from '../../support/database.js'
import { givenGeneration, givenUser, rowOf } from '../../support/givens.js'

const context = useDatabase()
const LIMITED: ServedCapabilities = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 64 }

beforeEach(async () => {
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})

const CASES: [
  limit: Partial<ServedCapabilities>,
  lacking: 'sampler' | 'seed' | 'size' | 'cfg_scale',
  within: Partial<GenerationRequest>[],
  beyond: Partial<GenerationRequest>[],
][] = [
  [{ samplers: ['euler_a'] }, 'sampler', [{}], [{ sampler: 'heun' }]],
  [
    { maxSeed: 2147483647 },
    'seed',
    [{ seed: 2147483647 }, { seed: 2147483646, batchSize: 2 }],
    [{ seed: 2147483648 }, { seed: 2147483647, batchSize: 2 }, { seed: 4294967295, batchSize: 2 }],
  ],
  [{ maxSeed: 4294967295 }, 'seed', [{ seed: 4294967295, batchSize: 2 }], []],
  [{ sizeMultiple: 64 }, 'size', [{ width: 832, height: 1216 }], [{ width: 848 }, { height: 1224 }]],
  [{ sizeMultiple: 16 }, 'size', [{ width: 848 }, { height: 1232 }], [{ width: 840 }, { height: 1224 }]],
  [{ sizeMultiple: 8, maxSeed: 2147483647 }, 'size', [{ width: 840, height: 1224 }], []],
  [{ maxCfgScale: 20 }, 'cfg_scale', [{ cfgScale: 20 }], [{ cfgScale: 20.5 }, { cfgScale: 30 }]],
]

it.each(CASES)(
  'a backend with the limits %j is given no generation beyond them, and the reconciler ends those for their %s',
  async (limit, lacking, within, beyond) => {
    const { db } = context
    const serves = { ...LIMITED, ...limit }
    await backendRegistry(db).announce('w', 'limited', true, serves)
    await db.pool.query(`UPDATE backends SET changed_at = now() - interval '61 seconds'`)
    const given = async (asked: Partial<GenerationRequest>) =>
      (await givenGeneration(db, await givenUser(db), asked)).id
    const [left, able] = [await Promise.all(beyond.map(given)), await Promise.all(within.map(given))]

    const ended = await reconcileStore(db, { refundFailed: true }).failUnservable()
    expect(ended.map(({ id }) => id).sort()).toEqual(left.toSorted())
    expect(new Set(ended.map((it) => it.lacking))).toEqual(new Set(left.length ? [lacking] : []))
    for (const id of left) expect((await rowOf(db, { id })).error).toMatch(/Choose /)

    const again = await Promise.all(beyond.map(given))
    const claim = () => runStore(db, { refundFailed: true }).claim({ worker: 'w', backend: 'limited' }, serves)
    const claimed: (string | undefined)[] = []
    for (let n = 0; n < able.length + again.length; n++) claimed.push((await claim())?.id)
    expect(claimed.filter(Boolean).sort()).toEqual(able.toSorted())
  },
)
