import type { DurationEstimates, WorkInSight } from '../generation/follow/eta.js'
import { type Pace, paceOf, type Sample } from '../generation/inference-pace.js'
import type { Database } from './client.js'

/** A snapshot serves everybody for this long; then the next one is taken while the old one still serves. */
const FRESH_MS = 3000
/** Older ones tell nothing any more. */
const USABLE_MS = 30_000

const PIXEL_STEPS = 'g.width::float8 * g.height * g.steps * g.batch_size'
const frontOf = (lane: string) => `
  (SELECT g.filename, ${PIXEL_STEPS} AS pixel_steps FROM generations g
    WHERE g.status = 'queued' AND g.lane = '${lane}' ORDER BY g.seq LIMIT 500)`

// First attempts only: the others began before they began again.
const SIGHT = {
  name: 'work_in_sight',
  text: `
    WITH queued AS MATERIALIZED (${frontOf('personal')} UNION ALL ${frontOf('create_image')}
    ), running AS MATERIALIZED (
      SELECT g.filename, ${PIXEL_STEPS} AS pixel_steps, extract(epoch FROM now() - g.started_at) * 1000 AS elapsed_ms
        FROM generations g WHERE g.status = 'processing' ORDER BY g.seq DESC LIMIT 200
    ), pace AS (
      SELECT model.filename, (
        SELECT json_agg(recent) FROM (
          SELECT ${PIXEL_STEPS} AS "pixelSteps", g.steps, extract(epoch FROM g.finished_at - g.started_at) * 1000 AS ms
            FROM generations g
           WHERE g.status = 'succeeded' AND g.attempt = 1 AND g.filename = model.filename
           ORDER BY g.finished_at DESC LIMIT 25) recent) AS samples
        FROM (SELECT filename FROM queued UNION SELECT filename FROM running) model
    )
    SELECT (SELECT json_agg(json_build_array(filename, samples)) FROM pace WHERE samples IS NOT NULL) AS samples,
      (SELECT json_agg(q) FROM (SELECT filename, count(*) AS count, sum(pixel_steps) AS "pixelSteps"
         FROM queued GROUP BY filename) q) AS queued,
      (SELECT json_agg(json_build_object('filename', filename, 'pixelSteps', pixel_steps, 'elapsedMs', elapsed_ms))
         FROM running) AS running,
      (SELECT json_agg(b.models) FROM backends b WHERE b.up AND b.seen_at > now() - interval '15 seconds') AS backends`,
}

interface SightRow {
  readonly samples: [filename: string, samples: Sample[]][] | null
  readonly queued: WorkInSight['queued'] | null
  readonly running: WorkInSight['running'] | null
  readonly backends: WorkInSight['backends'] | null
}

/** Estimates from one shared snapshot per process, taken only while somebody asks. */
export function durationEstimates({ pool }: Database): DurationEstimates {
  /** Kept over the snapshots: one that was taken a moment ago may not have met a newcomer's checkpoint. */
  const pace = new Map<string, Pace>()
  let latest: { readonly at: number; readonly sight: WorkInSight } | undefined
  let taking: Promise<void> | undefined

  const take = async (): Promise<void> => {
    const { rows } = await pool.query<SightRow>(SIGHT)
    const { samples: measured, queued, running, backends } = rows[0] as SightRow
    for (const [filename, samples] of measured ?? []) {
      const its = paceOf(samples)
      if (its) pace.set(filename, its)
    }
    const sight = { pace, queued: queued ?? [], running: running ?? [], backends: backends ?? [] }
    latest = { at: performance.now(), sight }
  }

  return {
    async current() {
      const age = performance.now() - (latest?.at ?? Number.NEGATIVE_INFINITY)
      if (age > FRESH_MS) {
        taking ??= take()
          .catch(() => undefined)
          .finally(() => {
            taking = undefined
          })
        if (age > USABLE_MS) {
          latest = undefined
          await taking
        }
      }
      return latest?.sight
    },
  }
}
