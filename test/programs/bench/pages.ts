import { hashToken, newToken } from '../../../src/core/accounts/session.js'
import { newSlug } from '../../../src/core/generations/generation.js'
import { sessionStore } from '../../../src/db/accounts/sessions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { type Bench, ROUNDS } from './bench.js'
import { percentile } from './figures.js'

const IMAGES = 10_000
const FOLDERS = 200
/** Of each page in a round. */
const REQUESTS = 40

/** What a page of the website takes, asked one after the other, where one account has ten thousand images and 200 folders. */
export async function benchPages({ stack, nextUser, figures, wanted }: Bench): Promise<void> {
  if (!wanted('page')) return
  const { pool } = stack.db
  const { id, keyId } = nextUser()
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
  const [folder] = await folderStore(stack.db).list(id)
  // As autovacuum leaves it soon after.
  await pool.query('ANALYZE')
  const token = newToken()
  await sessionStore(stack.db).begin(id, hashToken(token), 'bench')
  const headers = { accept: 'text/html', cookie: `easel=${token}` }
  const pages = {
    '/gallery': '/gallery',
    '/gallery, a search': '/gallery?q=number+50',
    '/gallery, nothing found': '/gallery?q=zebra',
    '/gallery, a folder': `/gallery?folder=${folder?.id}`,
    '/gallery, oldest first': '/gallery?sort=oldest',
    '/playground': '/playground',
    '/keys': '/keys',
    '/account': '/account',
    '/image': `/image/${slugs[IMAGES / 2]}`,
  }
  for (const [name, path] of Object.entries(pages)) {
    const times: number[] = []
    // The first round only warms up.
    for (let n = -REQUESTS; n < REQUESTS * ROUNDS; n++) {
      const at = performance.now()
      const answer = await fetch(stack.url + path, { headers })
      const html = await answer.text()
      if (answer.status !== 200 || !html.includes('Sign out')) throw new Error(`${path} was answered ${answer.status}`)
      if (n >= 0) times.push(performance.now() - at)
    }
    figures.add(`page ${name}, 10,000 images, p50 ms`, percentile(times, 0.5))
    figures.add(`page ${name}, 10,000 images, p99 ms`, percentile(times, 0.99))
  }
}
