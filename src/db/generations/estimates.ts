import { type SQL, sql } from 'drizzle-orm'
import type { DurationEstimates, Workload } from '../../core/generations/follow/eta.js'
import type { QueuePositions } from '../../core/generations/follow/poll.js'
import type { Lane } from '../../core/generations/generation.js'
import { type Pace, paceOf, type Sample } from '../../core/generations/inference-pace.js'
import { queuePosition } from '../../core/generations/queue-order.js'
import { snapshot } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { ALL_PAUSED, PAUSED_BACKEND, PAUSED_MODELS } from '../pause-conditions.js'
import { generations as g, streakSoFar } from '../schema/generations.js'
import { backends as b } from '../schema/workers.js'
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
const IS_UP = sql`${b.up} AND ${b.seenAt} > now() - ${ALIVE}`
/** One that has a single model has nothing to load. */
const LOADED = sql`coalesce(${b.loaded}, CASE WHEN cardinality(${b.models}) = 1 THEN ${b.models}[1] END)`
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
         ${listOf(sql`${b.models}`, sql`${b} WHERE ${IS_UP} AND NOT ${ALL_PAUSED} AND NOT ${PAUSED_BACKEND}`)} AS backends,
         ${listOf(sql`${b.models}`, sql`${b} WHERE ${IS_UP} AND ${PAUSED_BACKEND}`)} AS "pausedBackends",
         ${listOf(LOADED, sql`${b} WHERE ${IS_UP} AND NOT ${PAUSED_BACKEND} AND ${LOADED} IS NOT NULL`)} AS loaded,
         ${PAUSED_MODELS} AS paused, ${ALL_PAUSED} AS "allPaused"`

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

/** Of a long queue it takes long: a server spends a tenth of its time on it at most. */
const positionsFreshMs = (tookMs: number): number => Math.max(400, 9 * tookMs)

// Each lane's waiting seqs, sorted, as eight big-endian bytes each: a hundred thousand are 800 kB and need no parsing.
const waitingIn = (lane: Lane) => sql`
  (SELECT coalesce(string_agg(int8send(${g.seq}), ''::bytea ORDER BY ${g.seq}), '') FROM ${g}
    WHERE ${g.status} = 'queued' AND ${g.lane} = ${lane})`

const SNAPSHOT = statement<{ streak: number } & Readonly<Record<Lane, Buffer>>>('queue_snapshot')`
  SELECT ${streakSoFar} AS streak,
         ${waitingIn('personal')} AS personal, ${waitingIn('create_image')} AS create_image`

/**
 * Positions in the queue, from one snapshot per process, half a second old (of a very long queue a second or two), which is
 * taken only while there are polls of queued generations. A poll is a binary search, in a queue of any length.
 */
export function queuePositions({ pool }: Database): QueuePositions {
  const take = async () => {
    const { streak, ...lanes } = (await SNAPSHOT.first(pool)) ?? { streak: 0, personal: EMPTY, create_image: EMPTY }
    const waiting = { personal: lanes.personal.length / 8, create_image: lanes.create_image.length / 8 }
    return { lanes, depths: { streak, waiting } }
  }
  const current = snapshot(take, { freshMs: positionsFreshMs })

  return {
    async of({ lane, seq }) {
      const { lanes, depths } = await current()
      // A generation that was submitted after the snapshot comes after all in it.
      return queuePosition(lane, countBelow(lanes[lane], seq) + 1, depths)
    },
  }
}

const EMPTY = Buffer.alloc(0)

/** How many of the sorted seqs are smaller. They stay below 2^48, so the low six bytes of each are enough. */
function countBelow(seqs: Buffer, seq: number): number {
  let low = 0
  let high = seqs.length / 8
  while (low < high) {
    const middle = (low + high) >>> 1
    if (seqs.readUIntBE(middle * 8 + 2, 6) < seq) low = middle + 1
    else high = middle
  }
  return low
}
