import { type SQL, sql } from 'drizzle-orm'
import type { DurationEstimates, Workload } from '../../core/generations/follow/eta.js'
import type { Lane } from '../../core/generations/generation.js'
import { type Pace, paceOf, type Sample } from '../../core/generations/inference-pace.js'
import { snapshot } from '../../lib/snapshot.js'
import type { Database } from '../client.js'
import { ALL_PAUSED, PAUSED_BACKEND, PAUSED_MODELS } from '../pause-conditions.js'
import { generations as g } from '../schema/generations.js'
import { backends as b } from '../schema/process.js'
import { statement } from '../statement.js'
import { ALIVE } from './backends.js'

/** A snapshot is used for this long, and then until the next one is ready. */
const ESTIMATES_FRESH_MS = 3000
/** Older ones are useless. */
const USABLE_MS = 30_000

const PIXEL_STEPS = sql`${g.width}::float8 * ${g.height} * ${g.steps} * ${g.batchSize} AS "pixelSteps"`
const frontOf = (lane: Lane) => sql`
  (SELECT ${g.filename}, ${PIXEL_STEPS} FROM ${g}
    WHERE ${g.status} = 'queued' AND ${g.lane} = ${lane} ORDER BY ${g.seq} LIMIT 500)`
const listOf = (item: SQL, from: SQL) => sql`coalesce((SELECT json_agg(${item}) FROM ${from}), '[]')`

interface WorkloadRow extends Omit<Workload, 'pace'> {
  readonly samples: readonly [filename: string, samples: Sample[]][]
}

// First attempts only: `started_at` is when the first one began.
const WORKLOAD = statement<WorkloadRow>('workload')`
  WITH queued AS MATERIALIZED (${frontOf('personal')} UNION ALL ${frontOf('create_image')}
  ), running AS MATERIALIZED (
    SELECT ${g.filename}, ${PIXEL_STEPS}, extract(epoch FROM now() - ${g.startedAt}) * 1000 AS "elapsedMs"
      FROM ${g} WHERE ${g.status} = 'processing' ORDER BY ${g.seq} DESC LIMIT 200
  ), pace AS (
    SELECT model.filename, (
      SELECT json_agg(recent) FROM (
        SELECT ${PIXEL_STEPS}, ${g.steps}, extract(epoch FROM ${g.finishedAt} - ${g.startedAt}) * 1000 AS ms
          FROM ${g}
         WHERE ${g.status} = 'succeeded' AND ${g.attempt} = 1 AND ${g.filename} = model.filename
         ORDER BY ${g.finishedAt} DESC LIMIT 25) recent) AS samples
      FROM (SELECT filename FROM queued UNION SELECT filename FROM running) model
  ), waiting AS (
    SELECT filename, count(*) AS count, sum("pixelSteps") AS "pixelSteps" FROM queued GROUP BY filename
  )
  SELECT ${listOf(sql`json_build_array(filename, samples)`, sql`pace WHERE samples IS NOT NULL`)} AS samples,
         ${listOf(sql`waiting`, sql`waiting`)} AS queued, ${listOf(sql`running`, sql`running`)} AS running,
         ${listOf(
           sql`${b.models}`,
           sql`${b} WHERE ${b.up} AND ${b.seenAt} > now() - ${ALIVE}
           AND NOT ${ALL_PAUSED} AND NOT ${PAUSED_BACKEND}`,
         )} AS backends,
         ${PAUSED_MODELS} AS paused`

/** Estimates from one snapshot per process, taken only while there are callers. */
export function durationEstimates({ pool }: Database): DurationEstimates {
  /** Kept across snapshots: the latest may lack the model of a generation that was submitted after it. */
  const pace = new Map<string, Pace>()
  const latest = snapshot(
    async (): Promise<Workload | undefined> => {
      const seen = await WORKLOAD.first(pool)
      if (!seen) return undefined
      const { samples, ...workload } = seen
      for (const [filename, ofModel] of samples) {
        const measured = paceOf(ofModel)
        if (measured) pace.set(filename, measured)
      }
      return { pace, ...workload }
    },
    { freshMs: ESTIMATES_FRESH_MS, usableMs: USABLE_MS },
  )

  return { current: () => latest().catch(() => undefined) }
}
