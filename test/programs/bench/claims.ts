/** What a claim costs Postgres where many GPU servers each draw a part of many model versions, and very much waits. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ServedCapabilities } from '../../../src/core/generations/run/ports.js'
import { createDatabase } from '../../../src/db/client.js'
import { runStore } from '../../../src/db/generations/run.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { type Figures, median, percentile } from './figures.js'
import { givenAccounts, givenStored, openFiller } from './fill.js'
import { WAITING } from './growth.js'
import { benchDirectory } from './stack.js'

const VERSIONS = 300
const BACKENDS = 50
const STORED = 20_000
const CLAIMS = 1000
/** Afterwards Postgres has chosen its plan, and the head of the queue is gone. */
const WARM_UP = 100

const filenames = Array.from({ length: VERSIONS }, (_, n) => `checkpoint-${n}.safetensors`)

/** Each lists 20 to 60 of the versions; some lack samplers, large seeds, sizes that are no multiple of 64, a high guidance. */
const BACKENDS_SERVE = Array.from(
  { length: BACKENDS },
  (_, n): ServedCapabilities => ({
    models: Array.from({ length: 20 + ((n * 7) % 41) }, (_, k) => filenames[(n * 53 + k * 7) % VERSIONS] as string),
    samplers: SAMPLERS.filter((_, k) => n % 4 !== 0 || k % 5 !== 3),
    maxSeed: n % 5 === 0 ? 2_147_483_647 : 4_294_967_295,
    sizeMultiple: [8, 8, 64, 8, 16][n % 5] as number,
    maxCfgScale: n % 7 === 0 ? 20 : undefined,
  }),
)

/** With Postgres's statistics as they were before anything waited, then with fresh ones. */
export async function benchClaims(figures: Figures): Promise<void> {
  const waiting = Math.max(...WAITING)
  const directory = await benchDirectory()
  const postgres = await startLocalPostgres({
    dataDir: join(directory, 'postgres'),
    settings: { autovacuum: 'off', shared_buffers: '256MB' },
  })
  let filler: pg.Client | undefined
  try {
    await migrateDatabase(postgres.url)
    filler = await openFiller(postgres.url)
    await givenAccounts(filler, waiting)
    await givenStored(filler, 0, STORED, `n % ${waiting}`)
    await filler.query('ANALYZE')
    await givenMixedQueue(filler, waiting)
    await givenBackends(filler)
    for (const statistics of ['stale', 'fresh']) {
      if (statistics === 'fresh') await filler.query('ANALYZE')
      const cpu = await claimAll(postgres.url, filler)
      const name = `claim, ${waiting.toLocaleString('en')} waiting × ${VERSIONS} versions × ${BACKENDS} backends`
      figures.add(`${name}, ${statistics} statistics, CPU ms of Postgres p50`, median(cpu))
      figures.add(`${name}, ${statistics} statistics, CPU ms of Postgres p95`, percentile(cpu, 0.95))
    }
  } finally {
    await filler?.end()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * Few versions have most of what waits, half of it with one sampler, and one in a hundred was put back by a backend before.
 * Every account has one, as no account may have two.
 */
async function givenMixedQueue(filler: pg.Client, count: number): Promise<void> {
  await filler.query('SELECT setseed(0.42)')
  await filler.query(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at, attempt)
     SELECT 'gen_w' || lpad(n::text, 25, '0'), md5('u' || n)::uuid, md5('k' || n)::uuid,
            CASE WHEN random() < 0.25 THEN 'create_image' ELSE 'personal' END, false, 10, 'm',
            ($1::text[])[1 + floor(${VERSIONS} * power(random(), 1.5))::int], repeat('a lighthouse at dusk, ', 10), '', 832,
            (ARRAY[1216, 1208, 1200])[1 + floor(random() * 1.1)::int + floor(random() * 1.05)::int], 1, 30,
            CASE WHEN random() < 0.02 THEN 25 ELSE 7 END,
            CASE WHEN random() < 0.5 THEN 'euler_a' ELSE ($2::text[])[1 + floor(${SAMPLERS.length} * random())::int] END,
            floor(random() * 4294967295)::bigint, ARRAY['s-' || n], 0, now() + interval '10 hours',
            CASE WHEN random() < 0.01 THEN 2 ELSE 1 END FROM generate_series(0, ${count - 1}) n`,
    [filenames, SAMPLERS],
  )
  await filler.query(`
    INSERT INTO put_back_attempts (generation_id, attempt, worker, backend, reason, counted)
    SELECT id, 1, 'w', 'gpu-' || floor(random() * ${BACKENDS})::int, 'unavailable', false FROM generations WHERE attempt = 2`)
}

/** All live for as long as this takes. */
async function givenBackends(filler: pg.Client): Promise<void> {
  for (const [n, { models, samplers, maxSeed, sizeMultiple, maxCfgScale }] of BACKENDS_SERVE.entries())
    await filler.query(
      `INSERT INTO backends (worker, name, up, models, samplers, max_seed, size_multiple, max_cfg_scale, seen_at)
       VALUES ('w', $1, true, $2, $3, $4, $5, $6, now() + interval '1 day')`,
      [`gpu-${n}`, models, samplers, maxSeed, sizeMultiple, maxCfgScale],
    )
}

/** One backend after the other claims, and what it claims is over. Resolves to the CPU that each claim took of Postgres. */
async function claimAll(url: string, filler: pg.Client): Promise<number[]> {
  const db = createDatabase(url, { maxConnections: 1, onError: () => undefined })
  try {
    const { rows } = await db.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const pid = rows[0]?.pid as number
    const runs = runStore(db, { refundFailed: true })
    const taken: number[] = []
    for (let n = 0; n < WARM_UP + CLAIMS; n++) {
      const serves = BACKENDS_SERVE[n % BACKENDS] as ServedCapabilities
      const before = await cpuMs(pid)
      const claimed = await runs.claim({ worker: 'w', backend: `gpu-${n % BACKENDS}` }, serves)
      if (n >= WARM_UP) taken.push((await cpuMs(pid)) - before)
      if (!claimed) throw new Error('nothing could be claimed')
      await filler.query(
        `UPDATE generations SET status = 'succeeded', finished_at = now(), lease_until = NULL WHERE id = $1`,
        [claimed.id],
      )
    }
    return taken
  } finally {
    await db.pool.end()
  }
}

/** Since the process began; unlike its `stat`, this counts nanoseconds. */
const cpuMs = async (pid: number): Promise<number> =>
  Number((await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')[0]) / 1e6
