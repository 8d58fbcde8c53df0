import { newSlug } from '../../../src/core/generations/generation.js'
import type { Database } from '../../../src/db/client.js'

export const IMAGES = 10_000
const FOLDERS = 200

/** Gives an account that many images, each charged, and folders. Resolves to the slugs, the newest first. */
export async function givenLargeAccount(
  pool: Database['pool'],
  { id, keyId }: { readonly id: string; readonly keyId: string },
): Promise<string[]> {
  const slugs = Array.from({ length: IMAGES }, newSlug)
  await pool.query(
    `WITH given AS (
       SELECT * FROM unnest($3::text[]) WITH ORDINALITY AS g (slug, n)
     ), stored AS (
       INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename,
         prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at,
         started_at, finished_at, created_at)
       SELECT 'page-' || slug, $1, $2, 'personal', false, 'succeeded', 10, 'Pony Diffusion', 'f',
         'a lighthouse at dusk, waves, detailed clouds, oil on canvas, masterpiece, number ' || n, '', 832, 1216, 1, 30, 7,
         'euler_a', 1, ARRAY[slug], 1, now(), now(), now(), now() - n * interval '1 minute' FROM given
     ), charged AS (
       INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, created_at)
       SELECT $1, 'charge', -1, n, 'page-' || slug, now() - n * interval '1 minute' FROM given ORDER BY n DESC
     )
     INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, has_thumbnail)
     SELECT slug, 'page-' || slug, 0, 1, 832, 1216, 1, 'x', true FROM given`,
    [id, keyId, slugs],
  )
  // All but every tenth image are in one folder.
  await pool.query(
    `WITH folder AS (
       INSERT INTO folders (user_id, name) SELECT $1, 'folder ' || n FROM generate_series(1, $2) AS n RETURNING id, name
     )
     INSERT INTO folder_images (folder_id, created_at, seq, idx, slug)
     SELECT folder.id, g.created_at, g.seq, idx, slug FROM folder, images JOIN generations AS g ON g.id = generation_id
      WHERE folder.name = 'folder 1' AND user_id = $1 AND g.seq % 10 > 0`,
    [id, FOLDERS],
  )
  // As autovacuum leaves it soon after.
  await pool.query('ANALYZE')
  return slugs
}
