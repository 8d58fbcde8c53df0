import sharp from 'sharp'
import { newGenerationId, newSlug } from '../../src/core/generations/generation.js'
import type { Database } from '../../src/db/client.js'
import { createImageStore } from '../../src/images/open-image-store.js'
import { type GivenUser, MODEL, REQUEST } from './givens.js'

export interface GivenImage {
  readonly prompt?: string
  readonly size?: readonly [width: number, height: number]
  readonly batchSize?: number
  readonly modelVersionId?: number
  /** With the account's key of the website instead of its own. */
  readonly onWebsite?: boolean
  readonly hasThumbnail?: boolean
}

/** Images straight into the tables, the first one newest, a minute apart; without files. Resolves to their slugs. */
export async function givenImages({ pool }: Database, user: GivenUser, given: readonly GivenImage[]) {
  const rows = given.map((it, n) => {
    const { prompt = REQUEST.prompt, size: [width, height] = [832, 1216], batchSize = 1, onWebsite = false } = it
    const { modelVersionId = MODEL.id, hasThumbnail = true } = it
    const slugs = Array.from({ length: batchSize }, newSlug)
    return { id: newGenerationId(), n, prompt, width, height, slugs, modelVersionId, onWebsite, hasThumbnail }
  })
  await pool.query(
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset($1) AS g (id text, n integer, prompt text, width integer, height integer,
         slugs jsonb, "modelVersionId" integer, "onWebsite" boolean, "hasThumbnail" boolean)
     ), stored AS (
       INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename,
         prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at,
         started_at, finished_at, created_at)
       SELECT id, $2, CASE WHEN "onWebsite" THEN (SELECT id FROM api_keys WHERE user_id = $2 AND kind = 'website') ELSE $3 END,
         'personal', false, 'succeeded', "modelVersionId", 'Pony Diffusion', 'f', prompt, 'weeds', width, height,
         jsonb_array_length(slugs), 30, 7, 'dpmpp_2m_karras', 7, ARRAY(SELECT jsonb_array_elements_text(slugs)), 0, now(),
         now(), now(), now() - n * interval '1 minute' FROM given
     )
     INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, has_thumbnail)
     SELECT slug, id, idx - 1, 7 + idx - 1, width, height, 1, 'x', "hasThumbnail"
       FROM given, jsonb_array_elements_text(slugs) WITH ORDINALITY AS s (slug, idx)`,
    [JSON.stringify(rows), user.id, user.keyId],
  )
  return rows.flatMap(({ slugs }) => slugs)
}

/** The files that a worker would have stored. */
export async function givenFiles(config: Parameters<typeof createImageStore>[0], slugs: readonly string[]) {
  const store = await createImageStore(config)
  const colours = ['#c05a3c', '#3c7a8c', '#7a5a9c', '#5a8c4a', '#c09a3c']
  const drawn = colours.map((background) => sharp({ create: { width: 64, height: 96, channels: 3, background } }))
  const files = await Promise.all(
    drawn.map(async (it) => ({
      png: await it.clone().png().toBuffer(),
      thumbnail: await it.clone().webp().toBuffer(),
    })),
  )
  for (const [n, slug] of slugs.entries()) {
    const { png, thumbnail } = files[n % files.length] as (typeof files)[0]
    await store.put(slug, png, { thumbnail })
  }
}
