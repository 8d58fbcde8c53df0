import { expect, it, onTestFinished } from 'vitest'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { chargesOf, creditsOf, givenUser } from '../../support/givens.js'
import { compiled, redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import { submit } from '../bench/client.js'
import { startBenchStack } from '../bench/stack.js'
import { startGpus } from './gpus.js'

const WORKERS = 2
const BACKENDS_PER_WORKER = 10
const GENERATIONS = 45

it.skipIf(!redisAvailable)(
  'twenty backends of two worker processes draw each generation once, lose no lease, and each account pays once',
  async () => {
    const scripts = { server: await compiled('src/server.ts'), worker: await compiled('src/worker.ts') }
    const stack = await startBenchStack({}, scripts)
    onTestFinished(stack.close)
    // Each lease is renewed while an image is drawn.
    const gpus = await startGpus({ models: SEED_MODELS.map(({ filename }) => filename), secondsPerImage: 5 })
    onTestFinished(gpus.stop)
    const users = await Promise.all(Array.from({ length: GENERATIONS }, () => givenUser(stack.db, { credits: 5 })))
    for (const user of users) await submit(stack, user, { width: 256, height: 256 })
    for (let n = 0; n < WORKERS; n++)
      await stack.launch([scripts.worker], {
        INFERENCE_URL: Array.from({ length: BACKENDS_PER_WORKER }, (_, k) =>
          gpus.urlOf(n * BACKENDS_PER_WORKER + k),
        ).join(),
      })
    const ended = async () =>
      (await stack.db.pool.query('SELECT status, attempt, backend FROM generations WHERE finished_at IS NOT NULL')).rows
    const rows = await until(
      async () => {
        const all = await ended()
        return all.length === GENERATIONS && all
      },
      'the end of all generations',
      120_000,
    )
    expect(rows.filter(({ status, attempt }) => status !== 'succeeded' || attempt !== 1)).toEqual([])
    expect(new Set(rows.map(({ backend }) => backend)).size).toBe(WORKERS * BACKENDS_PER_WORKER)
    expect((await gpus.work()).drawn).toBe(GENERATIONS)
    for (const user of users) {
      expect(await creditsOf(stack.db, user)).toBe(4)
      expect(await chargesOf(stack.db, user)).toEqual([['charge', -1]])
    }
  },
  240_000,
)
