/** The claim: which generation a worker runs next. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PARAMETER_NAMES } from '../../core/generations/generation.js'
import { CREATE_IMAGE_RUN } from '../../core/generations/queue-order.js'
import type { ClaimedGeneration, RunStore } from '../../core/generations/run/ports.js'
import { LEASE_SECONDS } from '../../core/generations/run/times.js'
import { unmetNeeds } from '../../core/generations/servable.js'
import { ALL_PAUSED, pausedBackend, pausedModel } from '../pause-conditions.js'
import { CREATE_IMAGE_STREAK, generations as g } from '../schema/generations.js'
import { columns, hidden, param, type Queryable, selectAs, setList, statement } from '../statement.js'
import { KIND, LIVE, mayTake, YIELDED } from './other-backends.js'

/** Both lanes; none while everything or this backend is paused. */
const LANES = sql`
  SELECT lane FROM (VALUES ('create_image'), ('personal')) AS its (lane)
   WHERE NOT ${ALL_PAUSED} AND NOT ${pausedBackend(sql`${param('backend')}::text`)}`

const MODELS = hidden('models', 'text[]')

/**
 * Whether this backend takes the kind `k`: it has the model, which is not paused, and the sampler, meets all needs, and
 * does not leave the kind to another backend.
 */
const SERVES = sql`NOT ${pausedModel(sql`k.filename`)} AND coalesce(k.filename = ANY (${MODELS}), true)
  AND k.sampler = ANY (${param('samplers')}::text[]) AND k.needs & ${param('unmetNeeds')}::smallint = 0 AND NOT ${YIELDED}`

/** It has no retry delay left, and its deadline has not passed. */
const DUE = sql`not_before <= now() AND deadline_at > now()`

/** Worded like the index generations_queue_of_kind alone: the planner must take that one, or the primary key. */
const WAITING = sql`${g.status} NOT IN ('processing', 'succeeded', 'failed')`
export const QUEUED = sql`${WAITING} AND ${g.error} IS NULL`

const DUE_OF_KIND = sql`${QUEUED} AND ${g.lane} = k.lane AND (${KIND}) = (k.filename, k.sampler, k.needs) AND ${DUE}
  AND ${mayTake(sql`${g.id}`, sql`${g.attempt}`)}`

/** How long this backend will take for a generation `g`. */
const EXPECTED = sql`make_interval(secs =>
  ${param('msPerPixelStep')}::float8 / 1000 * ${g.width} * ${g.height} * ${g.steps} * ${g.batchSize})`

/** The model file that the backend has loaded; null without affinity. */
const LOADED = hidden('filename', 'text')
export const LEASE_UNTIL = sql`now() + make_interval(secs => ${LEASE_SECONDS})`

/** How many rows a claim checks one by one: in step 1 of each lane, in step 3 of each model, in step 8 of each kind. */
const ROWS_LOOKED_AT = 20

/** The kinds of rows that can be claimed, with the `seq` of their first row: of `most` among the first that `rows` finds. */
const kindsAmong = (from: SQL, rows: SQL, most: SQLWrapper | number) => sql`
  SELECT lane, k.filename, k.sampler, k.needs, min(k.seq) AS seq FROM ${from} CROSS JOIN LATERAL (
    SELECT * FROM (
      SELECT ${KIND} AS needs, ${g.id}, ${g.attempt}, ${g.seq}, ${g.notBefore}, ${g.deadlineAt} FROM ${g}
       WHERE ${rows} ORDER BY ${g.seq} LIMIT ${ROWS_LOOKED_AT}) k
     WHERE ${DUE} AND ${SERVES} AND ${mayTake(sql`k.id`, sql`k.attempt`)} ORDER BY k.seq LIMIT ${most}) k
   GROUP BY lane, k.filename, k.sampler, k.needs`

/** 1. At the head of each lane. Usually that is enough. */
const AT_HEAD = kindsAmong(sql`lanes`, sql`${g.status} = 'queued' AND ${g.lane} = lanes.lane`, ROWS_LOOKED_AT)

/**
 * 2. Where else to look: in a lane without a kind in step 1, for the models of the backend, or for all ('' sorts before
 * them); in a lane that has some, but none of the loaded model, for that model.
 */
const SEARCHED = sql`
  SELECT lane, unnest(CASE WHEN lane IN (SELECT lane FROM at_head) THEN ARRAY[${LOADED}]
                      ELSE coalesce(${MODELS}, '{""}') END) AS filename FROM lanes
   WHERE NOT EXISTS (SELECT FROM at_head WHERE at_head.lane = lanes.lane AND at_head.filename = ${LOADED})`

/** 3. Among the first rows of each of these models. Worded like the index generations_queue_of_model alone. */
const OF_MODELS = kindsAmong(
  sql`searched`,
  sql`${g.worker} IS NULL AND ${g.error} IS NULL AND ${g.lane} = searched.lane AND ${g.filename} = searched.filename`,
  sql`CASE WHEN searched.filename = ${LOADED} THEN ${ROWS_LOOKED_AT} ELSE 1 END`,
)

/**
 * 4. All kinds of the models without one in step 3, by a loose index scan: one row read for each, however many it has.
 * They may be very many.
 */
const KINDS = sql`
  SELECT nullif(searched.filename, ''), lane, first.* FROM searched CROSS JOIN LATERAL (
    SELECT ${KIND} FROM ${g}
     WHERE ${QUEUED} AND ${g.lane} = searched.lane AND ${g.filename} >= searched.filename
     ORDER BY ${KIND} LIMIT 1) first
   WHERE searched.filename IN ('', first.filename) AND (lane, searched.filename) NOT IN (SELECT lane, filename FROM of_models)
  UNION ALL
  SELECT model, lane, following.* FROM kinds k CROSS JOIN LATERAL (
    SELECT ${KIND} FROM ${g}
     WHERE ${QUEUED} AND ${g.lane} = k.lane AND (${KIND}) > (k.filename, k.sampler, k.needs)
     ORDER BY ${KIND} LIMIT 1) following
   WHERE model IS NULL OR model = following.filename`

/** 5. The kinds that this backend takes, with the `seq` of their first row that is due. */
const CANDIDATES = sql`
  SELECT * FROM at_head
  UNION ALL
  SELECT * FROM of_models
  UNION ALL
  SELECT k.lane, k.filename, k.sampler, k.needs, first.seq FROM kinds k CROSS JOIN LATERAL (
    SELECT ${g.seq} FROM ${g} WHERE ${DUE_OF_KIND} ORDER BY ${g.seq} LIMIT 1) first WHERE ${SERVES}`

/**
 * 6. Whose turn it is by the rule in queue-order.ts. A sequence, not a row: each claim would keep the row locked until its
 * commit is on the disk. Every fourth number, or a later one, is the Personal API's, and begins the count anew at once, so
 * that claims that come meanwhile go on counting. While only Create Image waits the count stays full.
 */
const TURN = sql`
  SELECT n > ${CREATE_IMAGE_RUN} AS is_personal, CASE
           WHEN NOT has_create_image THEN setval(${CREATE_IMAGE_STREAK}, 0)
           WHEN n > ${CREATE_IMAGE_RUN} THEN setval(${CREATE_IMAGE_STREAK}, CASE WHEN has_personal THEN 0 ELSE ${CREATE_IMAGE_RUN} END)
         END
    FROM (SELECT nextval(${CREATE_IMAGE_STREAK}) AS n, has_create_image, has_personal FROM (
            SELECT bool_or(lane = 'create_image') AS has_create_image, bool_or(lane = 'personal') AS has_personal
              FROM candidates HAVING count(*) > 0) seen OFFSET 0) counted`

/**
 * 7. The generation that comes first, by that rule and then by `seq`. Looked up anew: another claim may have taken the
 * first row meanwhile.
 */
const CHOSEN = sql`
  SELECT first.* FROM (
    SELECT candidates.* FROM candidates, turn ORDER BY (lane = 'personal') = is_personal DESC, seq) k CROSS JOIN LATERAL (
    SELECT ${g.id}, ${g.lane}, ${g.filename}, ${g.passedOverAt} FROM ${g} WHERE ${DUE_OF_KIND}
     ORDER BY ${g.seq} LIMIT 1 FOR UPDATE SKIP LOCKED) first
   LIMIT 1`

/** 8. One of the loaded model to run instead, if it ends before the chosen one has been passed over for too long. */
const PREFERRED = sql`
  SELECT first.* FROM (
    SELECT candidates.*,
           coalesce(passed_over_at, now()) + make_interval(secs => ${param('maxDelayMs')}::float8 / 1000) AS until
      FROM candidates JOIN chosen USING (lane)
     WHERE candidates.filename = ${LOADED} AND chosen.filename <> ${LOADED} ORDER BY seq) k CROSS JOIN LATERAL (
    SELECT ${g.id} FROM ${g} WHERE k.until > now() AND ${DUE_OF_KIND} ORDER BY ${g.seq} LIMIT ${ROWS_LOOKED_AT}) look
   CROSS JOIN LATERAL (
    SELECT ${g.id} FROM ${g}
     WHERE ${g.id} = look.id AND ${WAITING} AND now() + ${EXPECTED} <= k.until FOR UPDATE SKIP LOCKED) first
   LIMIT 1`

/** 9. If it is passed over, notes since when. */
const PASSED_OVER = sql`
  UPDATE ${g} SET ${setList(g, { passedOverAt: sql`coalesce(${g.passedOverAt}, now())` })}
   WHERE ${g.id} = (SELECT id FROM chosen) AND EXISTS (SELECT FROM preferred)`

/** 10. The attempt begins. */
const CLAIMED = sql`
  UPDATE ${g} SET ${setList(g, {
    status: 'processing',
    worker: param('worker'),
    backend: param('backend'),
    claimedAt: sql`now()`,
    startedAt: sql`coalesce(${g.startedAt}, greatest(now(), ${g.createdAt}))`,
    leaseUntil: LEASE_UNTIL,
  })}
   WHERE ${g.id} = coalesce((SELECT id FROM preferred), (SELECT id FROM chosen))
  RETURNING ${selectAs({
    ...columns(g, 'id', 'lane', 'metered', 'modelVersionId', 'modelName', 'filename', ...PARAMETER_NAMES),
    ...columns(g, 'batchSize', 'seed', 'slugs', 'cost', 'attempt', 'tries', 'requestId', 'traceparent'),
    accountId: g.userId,
    keyId: g.apiKeyId,
  })}`

/**
 * Claims one generation that this backend can do, in ten steps. What it costs does not grow with the queue. The row is
 * of nulls where there were candidates, but none is left.
 */
const CLAIM = statement<ClaimedGeneration>('claim_generation')`
  WITH RECURSIVE live AS MATERIALIZED (${LIVE}),
    lanes AS MATERIALIZED (${LANES}),
    at_head AS MATERIALIZED (${AT_HEAD}),
    searched AS (${SEARCHED}),
    of_models AS MATERIALIZED (${OF_MODELS}),
    kinds (model, lane, filename, sampler, needs) AS (${KINDS}),
    candidates AS MATERIALIZED (${CANDIDATES}),
    turn AS MATERIALIZED (${TURN}),
    chosen AS MATERIALIZED (${CHOSEN}),
    preferred AS MATERIALIZED (${PREFERRED}),
    passed_over AS (${PASSED_OVER}),
    claimed AS (${CLAIMED})
  SELECT claimed.* FROM (SELECT FROM candidates LIMIT 1) AS seen LEFT JOIN claimed ON true`

/** How often a claim looks again when others have taken all that it saw. Each time one of them got something. */
const LOOKS = 10

export async function claim(on: Queryable, ...[by, serves, affinity]: Parameters<RunStore['claim']>) {
  const asked = { failing: false, yields: false, except: [], ...by, ...serves, ...(affinity ?? NO_AFFINITY) }
  for (let look = 0; look < LOOKS; look++) {
    const row = await CLAIM.first(on, { ...asked, unmetNeeds: unmetNeeds(serves) })
    if (row?.id !== null) return row
  }
  return undefined
}

const NO_AFFINITY = { filename: null, maxDelayMs: 0, msPerPixelStep: 0 }
