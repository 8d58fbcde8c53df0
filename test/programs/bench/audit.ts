/** `npm run bench:audit`: what `easel audit` takes over a million finished generations, and after a thousand more. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { auditService } from '../../../src/process/audit-service.js'
import { parseConfig } from '../../../src/process/config.js'
import { openFiller, withoutIndexes } from './fill.js'
import { benchDirectory } from './stack.js'

const STORED = Number(process.env.BENCH_STORED ?? 1_000_000)
const USERS = Number(process.env.BENCH_USERS ?? Math.ceil(STORED / 100))
const MORE = 1000
const PAGE = 20_000
const GRANTED = 1_000_000
/** The last one ends long enough ago that none may still be joining it. */
const BEGUN_AT = new Date(Date.now() - (STORED + MORE + 120) * 1000)

const directory = await benchDirectory()
const postgres = await startLocalPostgres({ dataDir: join(directory, 'postgres') })
const config = parseConfig({ DATABASE_URL: postgres.url, STORAGE_URL: `file:${join(directory, 'images')}` })
const client = await openFiller(postgres.url)
try {
  await migrateDatabase(postgres.url)
  await givenUsers()
  const filled = await secondsOf(async () => {
    await withoutIndexes(client, () => givenEnded(0, STORED))
    await client.query('ANALYZE')
  })
  console.log(`${STORED} generations of ${USERS} users, stored in ${filled.toFixed(0)} s`)
  console.log(`first audit: ${(await secondsOf(audit)).toFixed(2)} s`)
  await givenEnded(STORED, STORED + MORE)
  console.log(`next audit, after ${MORE} more: ${(await secondsOf(audit)).toFixed(2)} s`)
} finally {
  await client.end()
  await postgres.stop()
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

/** Each with a key; a fifth of them are developers. */
async function givenUsers(): Promise<void> {
  await client.query(
    `WITH n AS (SELECT n, md5('u' || n)::uuid AS id FROM generate_series(0, ${USERS - 1}) n),
          u AS (INSERT INTO users (id, username, credits) SELECT id, 'u' || n, ${GRANTED} FROM n),
          k AS (INSERT INTO api_keys (id, user_id, kind, hash, hint)
                SELECT md5('k' || n)::uuid, id, CASE n % 5 WHEN 0 THEN 'developer' ELSE 'personal' END,
                       sha256(n::text::bytea), 'h' FROM n)
     INSERT INTO credit_ledger (user_id, kind, delta, balance, created_at)
     SELECT id, 'grant', ${GRANTED}, ${GRANTED}, $1 FROM n`,
    [BEGUN_AT],
  )
}

/** One a second, of each user in turn; one in twenty fails. */
async function givenEnded(from: number, to: number): Promise<void> {
  for (let begin = from; begin < to; begin += PAGE) {
    await client.query(
      `WITH n AS (SELECT n, n % ${USERS} AS u, n / ${USERS} + n % ${USERS} AS turn, $1::timestamptz + n * interval '1 s' AS at
                    FROM generate_series($2::integer, $3::integer) n),
            g AS (
         INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, error, model_version_id, model_name,
           filename, prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost,
           worker, created_at, started_at, finished_at, deadline_at)
         SELECT 'gen_' || md5(n::text), md5('u' || u)::uuid, md5('k' || u)::uuid, 'create_image', u % 5 = 0,
           CASE turn % 20 WHEN 19 THEN 'failed' ELSE 'succeeded' END, CASE turn % 20 WHEN 19 THEN 'It failed.' END,
           10, 'm', 'f', 'a lighthouse at dusk', '', 832, 1216, 1, 30, 7, 'euler_a', n, ARRAY[md5('s' || n)],
           CASE u % 5 WHEN 0 THEN 0 ELSE 1 END, 'w', at, at, at + interval '3 s', at + interval '1 hour' FROM n ORDER BY n
         RETURNING *),
            i AS (
         INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, created_at)
         SELECT slugs[1], id, 0, seed, width, height, 1, 'x', finished_at FROM g WHERE status = 'succeeded'),
            b AS (
         INSERT INTO usage (generation_id, idx, api_key_id, user_id, model_version_id, created_at)
         SELECT id, 0, api_key_id, user_id, model_version_id, finished_at FROM g WHERE status = 'succeeded' AND metered)
       INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, created_at)
       SELECT user_id, kind, delta, ${GRANTED} - n / ${USERS} - 1 + turn / 20 - u / 20 + greatest(delta, 0), id, moved_at
         FROM g JOIN n ON n.n = g.seed,
              LATERAL (VALUES ('charge', -1, created_at), ('refund', 1, finished_at)) e (kind, delta, moved_at)
        WHERE NOT metered AND (kind = 'charge' OR status = 'failed') ORDER BY n, kind`,
      [BEGUN_AT, begin, Math.min(begin + PAGE, to) - 1],
    )
  }
  await client.query(
    `UPDATE users u SET credits = l.balance
       FROM (SELECT DISTINCT ON (user_id) user_id, balance FROM credit_ledger ORDER BY user_id, id DESC) l
      WHERE l.user_id = u.id AND l.balance <> u.credits`,
  )
  await client.query('ANALYZE')
}

/** As without --full, and without a look at images. */
async function audit(): Promise<void> {
  const checks = await auditService(config, { sample: 0 })
  const violated = checks.filter(({ violations }) => violations > 0)
  if (violated.length > 0) throw new Error(`the audit found violations: ${JSON.stringify(violated)}`)
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now()
  await work()
  return (performance.now() - at) / 1000
}
