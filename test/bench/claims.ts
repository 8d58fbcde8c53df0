/** `npx tsx test/bench/claims.ts`: what a claim takes while 50 workers claim from a queue of 100,000. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createDatabase } from '../../src/db/client.js'
import { migrateDatabase } from '../../src/db/migrate.js'
import { runStore } from '../../src/db/run-store.js'
import type { Affinity, Serves } from '../../src/generation/run/claim.js'
import { SAMPLERS } from '../../src/generation/sampler.js'
import { startLocalPostgres } from '../../src/local/postgres.js'
import { givenUser } from '../support/givens.js'

const WORKERS = 50
const WAITING = 100_000
const SECONDS = 5
/** What a worker does between two claims, at most. */
const DRAWS_MS = 1500
const MODELS = Array.from({ length: 10 }, (_, n) => `model-${n}.safetensors`)
const SERVES: Serves = { models: MODELS, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const WITHOUT_DEIS = SAMPLERS.filter((sampler) => sampler !== 'deis')

const directory = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'easel-bench-'))
const postgres = await startLocalPostgres({
  dataDir: join(directory, 'postgres'),
  settings: { max_connections: '100' },
})
await migrateDatabase(postgres.url)
const db = createDatabase(postgres.url, { maxConnections: WORKERS, onError: () => undefined })
try {
  console.log(`${WORKERS} workers, ${WAITING} waiting, ${SECONDS} s each`)
  await fillQueue()
  await bench('everybody can do everything', SERVES)
  await bench('each keeps to its model', SERVES, (worker) => ({
    filename: MODELS[worker % MODELS.length] as string,
    maxDelayMs: 60_000,
    msPerPixelStep: 1e-6,
  }))
  await bench('the first half wants a sampler that the workers lack', { ...SERVES, samplers: WITHOUT_DEIS })
  await retryFor(`UPDATE generations SET deadline_at = now() WHERE status = 'queued' AND seq <= ${WAITING / 2}`)
  await bench('the first half is overdue', SERVES)
} finally {
  await db.pool.end()
  await postgres.stop()
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

/** Of ten models and six samplers, the first half all of one. */
async function fillQueue(): Promise<void> {
  const user = await givenUser(db)
  await retryFor(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
     SELECT 'gen_' || n, $1, $2, CASE n % 4 WHEN 0 THEN 'create_image' ELSE 'personal' END, true, 1, 'm',
       ($3::text[])[1 + n % 10], 'a lighthouse at dusk', '', 832, 1216 + n % 7 / 6 * 8, 1, 30, 7,
       CASE WHEN n > ${WAITING / 2} THEN ($4::text[])[1 + n % 5] ELSE 'deis' END, n, ARRAY['s'], 0, now() + interval '1 hour'
       FROM generate_series(1, ${WAITING}) n`,
    [user.id, user.keyId, MODELS, WITHOUT_DEIS],
  )
  await retryFor('ANALYZE generations')
}

/** Without the pool's deadlines. */
async function retryFor(text: string, values?: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(text, values)
  await client.end()
}

async function bench(name: string, serves: Serves, affinityOf?: (worker: number) => Affinity): Promise<void> {
  const runs = runStore(db, { refundFailed: true })
  const took: number[] = []
  let failed = 0
  const until = performance.now() + SECONDS * 1000
  const work = async (_: unknown, worker: number) => {
    for (await delay(Math.random() * DRAWS_MS); performance.now() < until; await delay(Math.random() * DRAWS_MS)) {
      const begun = performance.now()
      const claimed = await runs
        .claim({ worker: `w${worker}`, backend: 'b' }, serves, affinityOf?.(worker))
        .catch(() => undefined)
      took.push(performance.now() - begun)
      if (!claimed) failed++
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  took.sort((a, b) => a - b)
  const at = (share: number) => `${(took[Math.floor(took.length * share)] as number).toFixed(1)} ms`
  console.log(`${name}: ${took.length} claims, p50 ${at(0.5)}, p99 ${at(0.99)}, ${failed} failed`)
}
