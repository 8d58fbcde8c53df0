/** What the rows say of pictures: each of a job that succeeded, as it was asked for, counted where it is billed. */
import { MAX_SEED } from '../generation/generation.js'
import type { SqlCheck } from './check.js'

export const imageChecks: readonly SqlCheck[] = [
  {
    name: 'succeeded-jobs-have-their-images',
    query: `
      SELECT DISTINCT coalesce(e.id, i.generation_id) FROM (
        SELECT g.id, s.slug, s.n - 1 AS idx FROM generations g, unnest(g.slugs) WITH ORDINALITY AS s (slug, n)
         WHERE g.status = 'succeeded') e
        FULL JOIN images i ON i.slug = e.slug AND i.generation_id = e.id AND i.idx = e.idx
       WHERE e.id IS NULL OR i.slug IS NULL`,
  },
  {
    name: 'images-are-as-ordered',
    query: `
      SELECT i.slug FROM images i JOIN generations g ON g.id = i.generation_id
       WHERE i.seed <> (g.seed + i.idx) % ${MAX_SEED + 1} OR i.width <> g.width OR i.height <> g.height`,
  },
  {
    // Also among failed jobs, whose files are taken away.
    name: 'slugs-are-used-once',
    query: `SELECT slug FROM generations, unnest(slugs) AS slug GROUP BY slug HAVING count(*) > 1`,
  },
  {
    name: 'metered-images-are-counted-once',
    query: `
      SELECT g.id FROM generations g
        LEFT JOIN (SELECT generation_id, api_key_id, user_id, model_version_id, count(*) AS n
                     FROM usage GROUP BY 1, 2, 3, 4) u ON u.generation_id = g.id
       WHERE coalesce(u.n, 0) <> CASE WHEN g.metered AND g.status = 'succeeded' THEN g.batch_size ELSE 0 END
          OR (u.api_key_id, u.user_id, u.model_version_id) <> (g.api_key_id, g.user_id, g.model_version_id)
       GROUP BY g.id`,
  },
]
