import { and, eq, isNull, sql } from 'drizzle-orm'
import { CANCELED } from '../../core/generations/failure-reason.js'
import { type Lane, PARAMETER_NAMES } from '../../core/generations/generation.js'
import { queuePosition } from '../../core/generations/queue-order.js'
import type {
  BackendState,
  FailedWork,
  Oversight,
  Overview,
  RunningWork,
  WaitingWork,
} from '../../core/operator/overview.js'
import { snapshot } from '../../lib/batch.js'
import { CALLER_COLUMNS, toCaller } from '../accounts/accounts.js'
import { orBroughtBack } from '../brought-back.js'
import type { Database } from '../client.js'
import { ALIVE } from '../generations/backends.js'
import { USABLE_KEY } from '../key-conditions.js'
import type { ReadDatabase } from '../read-replica.js'
import { apiKeys as k, plans as p, subscriptions as s, users as u } from '../schema/accounts.js'
import { allGenerations, generations as g, streakSoFar } from '../schema/generations.js'
import { backends as b } from '../schema/workers.js'
import { columns, param, selectAs, statement } from '../statement.js'
import { imageReportLog } from './image-reports.js'
import { pauseStore } from './pauses.js'

/** What is counted of the past are at most so many generations, the newest; they are live. */
const NEWEST = 20_000
const SHOWN = 20

interface WaitingRow extends Omit<WaitingWork, 'firstPlace' | 'lastPlace'> {
  readonly first: number
  readonly last: number
  readonly streak: number | null
}

// One pass along the queue's index gives counts, times and places.
const QUEUE = statement<WaitingRow>('oversee_queue')`
  SELECT lane, filename, count(*) AS count, min(created_at) AS "oldestAt", min(place) AS first, max(place) AS last,
         ${streakSoFar} AS streak
    FROM (SELECT ${g.lane}, ${g.filename}, ${g.createdAt}, row_number() OVER (PARTITION BY ${g.lane} ORDER BY ${g.seq}) AS place
            FROM ${g} WHERE ${g.status} = 'queued') waiting
   GROUP BY lane, filename ORDER BY lane, count(*) DESC, filename`

const RUNNING = statement<RunningWork & { readonly total: number }>('oversee_running')`
  SELECT ${selectAs({ ...columns(g, 'id', 'lane', 'filename', 'worker', 'backend', 'startedAt'), username: u.username })},
         count(*) OVER () AS total
    FROM ${g} JOIN ${u} ON ${u.id} = ${g.userId} WHERE ${g.status} = 'processing' ORDER BY ${g.seq} LIMIT 100`

/** Longer reasons begin in the same way. */
const WAS_CANCELED = sql`${g.error} LIKE ${`${CANCELED.replace('.', '')}%`}`

const newest = (status: 'succeeded' | 'failed') =>
  sql`(SELECT * FROM ${g} WHERE ${g.status} = ${status} ORDER BY ${g.seq} DESC LIMIT ${NEWEST}) ${g}`

const IMAGES = statement<{ images: number }>('oversee_images')`
  SELECT coalesce(sum(${g.batchSize}), 0) AS images FROM ${newest('succeeded')}
   WHERE ${g.finishedAt} > now() - interval '1 hour'`

interface FailureRow {
  readonly reason: string
  readonly count: number
  /** In the last hour; the same in each row. */
  readonly lastHour: number
}

const FAILURES = statement<FailureRow>('oversee_failures')`
  SELECT ${g.error} AS reason, count(*) AS count, sum(count(*) FILTER (
           WHERE ${g.finishedAt} > now() - interval '1 hour' AND NOT ${WAS_CANCELED})) OVER ()::bigint AS "lastHour"
    FROM ${newest('failed')} WHERE ${g.finishedAt} > now() - interval '1 day'
   GROUP BY ${g.error} ORDER BY count(*) DESC, ${g.error} LIMIT 50`

const FAILED = statement<FailedWork>('oversee_failed')`
  SELECT ${selectAs({ ...columns(g, 'id', 'filename', 'finishedAt'), reason: g.error, username: u.username })}
    FROM ${newest('failed')} JOIN ${u} ON ${u.id} = ${g.userId}
   WHERE NOT ${WAS_CANCELED} AND ${g.finishedAt} > now() - interval '1 day' ORDER BY ${g.seq} DESC LIMIT ${SHOWN}`

const BACKENDS = statement<BackendState>('oversee_backends')`
  SELECT ${selectAs({
    ...columns(b, 'worker', 'name', 'seenAt', 'models', 'loaded', 'lacks', 'error', 'errorAt'),
    up: sql`(${b.up} AND ${b.seenAt} > now() - ${ALIVE})`,
  })} FROM ${b} WHERE ${param('withinMs')}::float8 IS NULL OR ${b.seenAt} > now() - ${param('withinMs')}::float8 * interval '1 millisecond'
   ORDER BY ${b.name}, ${b.worker}`

/** @param withinMs leaves out what was not seen for so long */
export const backendStates = ({ pool }: Pick<ReadDatabase, 'pool'>, withinMs?: number): Promise<BackendState[]> =>
  BACKENDS.rows(pool, { withinMs })

const NOW = statement<{ now: Date }>('now')`SELECT now() AS now`

const GENERATION = {
  ...columns(
    allGenerations,
    'id',
    'status',
    'error',
    'lane',
    'metered',
    'modelVersionId',
    'modelName',
    'filename',
    'batchSize',
    'seed',
  ),
  ...columns(
    allGenerations,
    'cost',
    'attempt',
    'worker',
    'backend',
    'createdAt',
    'startedAt',
    'finishedAt',
    ...PARAMETER_NAMES,
  ),
  accountId: allGenerations.userId,
  keyId: allGenerations.apiKeyId,
  username: u.username,
}

/** A snapshot is used for this long, and longer the longer it takes, so that looking stays a small part of the time. */
const OVERVIEW_FRESH_MS = 1000
const PAST_FRESH_MS = 5000
const TIMES = 20
/** Then it is used until the next one is ready; after this time nobody has looked, and who comes waits for a new one. */
const USABLE_MS = 30_000

const staleWhileRevalidate = <T>(freshMs: number, take: () => Promise<T>): (() => Promise<T>) =>
  snapshot(take, { freshMs: (tookMs) => Math.max(freshMs, tookMs * TIMES), usableMs: USABLE_MS })

/** @param reads where the walls of the overview come from */
export const oversight = (db: Database, reads: ReadDatabase = db): Oversight => {
  const { orm } = db
  const { pool } = reads
  const pauses = pauseStore(db)
  const reports = imageReportLog(db)
  const queue = staleWhileRevalidate(OVERVIEW_FRESH_MS, async () => withPlaces(await QUEUE.rows(pool)))
  const present = staleWhileRevalidate(OVERVIEW_FRESH_MS, async () => {
    const [now, running, backends] = [await NOW.first(pool), await RUNNING.rows(pool), await backendStates(reads)]
    return { at: now?.now ?? new Date(), running, runningCount: running[0]?.total ?? 0, backends }
  })
  const past = staleWhileRevalidate(PAST_FRESH_MS, async () => {
    const [images, failures] = [await IMAGES.first(pool), await FAILURES.rows(pool)]
    const reportedImages = await reports.countImages()
    const counts = { reportedImages, imagesLastHour: images?.images ?? 0, failedLastHour: failures[0]?.lastHour ?? 0 }
    return { ...counts, failures, failed: await FAILED.rows(pool) }
  })

  return {
    async overview(): Promise<Overview> {
      const [waiting, now, before, paused] = await Promise.all([queue(), present(), past(), pauses.list()])
      return { ...now, ...before, queue: waiting, pauses: paused }
    },

    generation: (id) =>
      orBroughtBack(db, id, async () => {
        const [row] = await orm
          .select(GENERATION)
          .from(allGenerations)
          .innerJoin(u, eq(u.id, allGenerations.userId))
          .where(eq(allGenerations.id, id))
        return row
      }),

    async callerOf(keyId) {
      const [row] = await orm
        .select(CALLER_COLUMNS)
        .from(k)
        .innerJoin(u, eq(u.id, k.userId))
        .leftJoin(s, eq(s.userId, u.id))
        .leftJoin(p, eq(p.name, s.plan))
        .where(and(eq(k.id, keyId), USABLE_KEY, isNull(u.deletedAt)))
      return row && toCaller(row as Parameters<typeof toCaller>[0])
    },
  }
}

function withPlaces(rows: readonly WaitingRow[]): WaitingWork[] {
  const depth = (of: Lane) => rows.reduce((sum, { lane, count }) => sum + (lane === of ? count : 0), 0)
  const waiting = { personal: depth('personal'), create_image: depth('create_image') }
  return rows.map(({ lane, filename, count, oldestAt, first, last, streak }) => {
    const place = (rank: number) => queuePosition(lane, rank, { streak: streak ?? 0, waiting })
    return { lane, filename, count, oldestAt, firstPlace: place(first), lastPlace: place(last) }
  })
}
