import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { DurationEstimates, WorkInSight } from '../generation/follow/eta.js'
import type { Lane } from '../generation/generation.js'
import { type Pace, paceOf, type Sample } from '../generation/inference-pace.js'
import { ALIVE } from './backend-store.js'
import type { Database } from './client.js'
import { backends } from './process-schema.js'
import { generations } from './schema.js'
import { statement } from './statement.js'

/** A snapshot serves everybody for this long; then the next one is taken while the old one still serves. */
const FRESH_MS = 3000
/** Older ones tell nothing any more. */
const USABLE_MS = 30_000

const g = alias(generations, 'g')
const b = alias(backends, 'b')

const PIXEL_STEPS = sql`${g.width}::float8 * ${g.height} * ${g.steps} * ${g.batchSize}`
const frontOf = (lane: Lane) => sql`
  (SELECT ${g.filename}, ${PIXEL_STEPS} AS pixel_steps FROM ${generations} ${g}
    WHERE ${g.status} = 'queued' AND ${g.lane} = ${lane} ORDER BY ${g.seq} LIMIT 500)`

interface Sight {
  readonly samples: [filename: string, samples: Sample[]][] | null
  readonly queued: WorkInSight['queued'] | null
  readonly running: WorkInSight['running'] | null
  readonly backends: WorkInSight['backends'] | null
}

// First attempts only: the others began before they began again.
const SIGHT = statement<Sight>('work_in_sight')`
  WITH queued AS MATERIALIZED (${frontOf('personal')} UNION ALL ${frontOf('create_image')}
  ), running AS MATERIALIZED (
    SELECT ${g.filename}, ${PIXEL_STEPS} AS pixel_steps,
           extract(epoch FROM now() - ${g.startedAt}) * 1000 AS elapsed_ms
      FROM ${generations} ${g} WHERE ${g.status} = 'processing' ORDER BY ${g.seq} DESC LIMIT 200
  ), pace AS (
    SELECT model.filename, (
      SELECT json_agg(recent) FROM (
        SELECT ${PIXEL_STEPS} AS "pixelSteps", ${g.steps},
               extract(epoch FROM ${g.finishedAt} - ${g.startedAt}) * 1000 AS ms
          FROM ${generations} ${g}
         WHERE ${g.status} = 'succeeded' AND ${g.attempt} = 1 AND ${g.filename} = model.filename
         ORDER BY ${g.finishedAt} DESC LIMIT 25) recent) AS samples
      FROM (SELECT filename FROM queued UNION SELECT filename FROM running) model
  )
  SELECT (SELECT json_agg(json_build_array(filename, samples)) FROM pace WHERE samples IS NOT NULL) AS samples,
    (SELECT json_agg(q) FROM (SELECT filename, count(*) AS count, sum(pixel_steps) AS "pixelSteps"
       FROM queued GROUP BY filename) q) AS queued,
    (SELECT json_agg(json_build_object('filename', filename, 'pixelSteps', pixel_steps, 'elapsedMs', elapsed_ms))
       FROM running) AS running,
    (SELECT json_agg(${b.models}) FROM ${backends} ${b} WHERE ${b.up} AND ${b.seenAt} > now() - ${ALIVE}) AS backends`

/** Estimates from one shared snapshot per process, taken only while somebody asks. */
export function durationEstimates({ pool }: Database): DurationEstimates {
  /** Kept over the snapshots: one that was taken a moment ago may not have met a newcomer's checkpoint. */
  const pace = new Map<string, Pace>()
  let latest: { readonly at: number; readonly sight: WorkInSight } | undefined
  let taking: Promise<void> | undefined

  const take = async (): Promise<void> => {
    const seen = await SIGHT.first(pool)
    for (const [filename, samples] of seen?.samples ?? []) {
      const measured = paceOf(samples)
      if (measured) pace.set(filename, measured)
    }
    const { queued, running, backends: models } = seen ?? {}
    const sight = { pace, queued: queued ?? [], running: running ?? [], backends: models ?? [] }
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
