/** What the rows say of images: each of a job that succeeded, as it was asked for, counted where it is billed. */
import { MAX_SEED } from '../generation/generation.js'
import type { SqlCheck } from './check.js'

export const imageChecks: readonly SqlCheck[] = [
  {
    name: 'succeeded-jobs-have-their-images',
    query: ({ generations }) => `
      SELECT g.id FROM ${generations} g
       WHERE (SELECT array_agg(i.slug ORDER BY i.idx) FROM images i WHERE i.generation_id = g.id)
             IS DISTINCT FROM CASE g.status WHEN 'succeeded' THEN g.slugs END
          OR EXISTS (SELECT FROM images i WHERE i.generation_id = g.id AND i.idx >= g.batch_size)`,
  },
  {
    name: 'images-are-as-ordered',
    query: ({ generations }) => `
      SELECT i.slug FROM images i JOIN ${generations} g ON g.id = i.generation_id
       WHERE i.seed <> (g.seed + i.idx) % ${MAX_SEED + 1} OR i.width <> g.width OR i.height <> g.height`,
  },
  {
    // Also among failed jobs of the slice, whose files are taken away.
    name: 'slugs-are-used-once',
    query: ({ generations }) => `
      SELECT slug FROM ${generations} g, unnest(slugs) AS slug GROUP BY slug HAVING count(*) > 1
      UNION SELECT i.slug FROM ${generations} g, unnest(g.slugs) AS s (slug)
        JOIN images i ON i.slug = s.slug WHERE i.generation_id <> g.id`,
  },
  {
    name: 'metered-images-are-counted-once',
    query: ({ generations }) => `
      SELECT g.id FROM ${generations} g
        LEFT JOIN LATERAL (SELECT api_key_id, user_id, model_version_id, count(*) AS n
                             FROM usage WHERE generation_id = g.id GROUP BY 1, 2, 3) u ON true
       WHERE coalesce(u.n, 0) <> CASE WHEN g.metered AND g.status = 'succeeded' THEN g.batch_size ELSE 0 END
          OR (u.api_key_id, u.user_id, u.model_version_id) <> (g.api_key_id, g.user_id, g.model_version_id)
       GROUP BY g.id`,
  },
]
