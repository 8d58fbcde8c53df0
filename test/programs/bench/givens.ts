/** Ten thousand users with a key and a history, known to Easel and to the rival alike. */
import { hashApiKey, newApiKey } from '../../../src/core/accounts/api-key.js'
import { newGenerationId, newSlug } from '../../../src/core/generations/generation.js'
import type { Database } from '../../../src/db/client.js'

export interface BenchUser {
  readonly id: string
  readonly keyId: string
  readonly key: string
  /** One that succeeded long ago. */
  readonly finished: string
}

const CREDITS = 1_000_000

export async function givenUsers({ pool }: Database, count: number): Promise<BenchUser[]> {
  const users = Array.from({ length: count }, () => ({
    id: crypto.randomUUID(),
    keyId: crypto.randomUUID(),
    key: newApiKey('easel'),
    finished: newGenerationId(),
  }))
  const ids = users.map(({ id }) => id)
  const hashes = users.map(({ key }) => hashApiKey(key))
  await pool.query(
    `WITH given AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) AS g (id, key_id, hash)),
          a AS (INSERT INTO users (id, username, credits) SELECT id, 'user-' || id, ${CREDITS} FROM given),
          k AS (INSERT INTO api_keys (id, user_id, kind, hash, hint, last_used_at)
                SELECT key_id, id, 'personal', hash, 'hint', now() FROM given),
          s AS (INSERT INTO subscriptions (user_id, status, plan, end_date)
                SELECT id, 'active', 'Pro', now() + interval '1 year' FROM given),
          ru AS (INSERT INTO rival_users SELECT id, 'user-' || id, ${CREDITS} FROM given),
          rk AS (INSERT INTO rival_keys SELECT hash, id FROM given)
     INSERT INTO credit_ledger (user_id, kind, delta, balance) SELECT id, 'grant', ${CREDITS}, ${CREDITS} FROM given`,
    [ids, users.map(({ keyId }) => keyId), hashes],
  )
  await givenGenerations({ pool } as Database, users, 'succeeded', ({ finished }) => finished)
  await pool.query('ANALYZE')
  return users
}

/** One of each user's, in both systems. Resolves to their IDs. */
export async function givenGenerations(
  { pool }: Database,
  users: readonly BenchUser[],
  status: 'queued' | 'processing' | 'succeeded',
  idOf: (user: BenchUser) => string = newGenerationId,
): Promise<string[]> {
  const ids = users.map(idOf)
  const slugs = users.map(newSlug)
  await pool.query(
    `WITH given AS (
       SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[]) AS g (id, user_id, key_id, slug)
     ), g AS (
       INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename,
         prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at,
         lease_until, worker, started_at, finished_at)
       SELECT id, user_id, key_id, 'personal', false, $5, 10, 'Pony Diffusion', 'ponyDiffusionV6XL.safetensors',
         'a lighthouse at dusk', '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY[slug], 0, now() + interval '1 hour',
         CASE $5 WHEN 'processing' THEN now() + interval '1 hour' END, CASE $5 WHEN 'queued' THEN NULL ELSE 'w' END,
         CASE $5 WHEN 'queued' THEN NULL ELSE now() END, CASE $5 WHEN 'succeeded' THEN now() END FROM given
     ), i AS (
       INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
       SELECT slug, id, 0, 1, 832, 1216, 1, 'x' FROM given WHERE $5 = 'succeeded'
     )
     INSERT INTO rival_generations (id, user_id, status, prompt, width, height, slug)
     SELECT id, user_id, $5, 'a lighthouse at dusk', 832, 1216, CASE $5 WHEN 'succeeded' THEN slug END FROM given`,
    [ids, users.map(({ id }) => id), users.map(({ keyId }) => keyId), slugs, status],
  )
  return ids
}
