/** Which generations a backend leaves to the others. */
import { type SQL, sql } from 'drizzle-orm'
import { MAX_SEED } from '../../core/generations/generation.js'
import { BACKEND_FAULTS } from '../../core/generations/run/backend.js'
import { PAUSED_BACKEND } from '../pause-conditions.js'
import { generations as g, putBackAttempts } from '../schema/generations.js'
import { backends as b } from '../schema/workers.js'
import { commaList, hidden, param, statement } from '../statement.js'
import { ALIVE } from './backends.js'

/** The kind of a generation `g`, as the index `generations_queue_of_kind` has it behind the lane. */
export const KIND = sql`${g.filename}, ${g.sampler},
  generation_needs(${g.seed}, ${g.batchSize}, ${g.width}, ${g.height}, ${g.cfgScale})`

const FAULTS = sql`(${commaList(BACKEND_FAULTS.map((kind) => sql`${kind}`))})`

/** The needs of a generation that a backend `b` does not meet, as `unmetNeeds` has them. */
const UNMET = sql`(CASE WHEN ${b.maxSeed} < ${MAX_SEED} THEN 1 ELSE 0 END
  + CASE WHEN ${b.sizeMultiple} > 16 THEN 6 WHEN ${b.sizeMultiple} > 8 THEN 2 ELSE 0 END
  + CASE WHEN ${b.maxCfgScale} IS NULL THEN 0 ELSE 8 END)`

const ME = [sql`${param('worker')}::text`, sql`${param('backend')}::text`] as const

/** Of the generation of that ID. */
const failedAt = (id: SQL, worker: SQL, name: SQL) => sql`EXISTS (
  SELECT FROM ${putBackAttempts} AS ended WHERE ended.generation_id = ${id} AND ended.worker = ${worker}
     AND ended.backend = ${name} AND ended.reason IN ${FAULTS})`

/** The live backends, as `live` in the statements that use the conditions below: read once, however often they ask. */
export const LIVE = sql`SELECT ${b.worker}, ${b.name}, ${b.models}, ${b.samplers}, ${UNMET} AS unmet, ${b.failing} FROM ${b}
  WHERE ${b.seenAt} > now() - ${ALIVE} AND ${b.up} AND NOT ${PAUSED_BACKEND}`

/**
 * Those of them, besides that one, that could serve the kind `k`. In SQL, unlike `unservable`: a claim asks this of kinds
 * and rows that only its own statement knows, under its locks.
 */
const othersThan = (
  worker: SQL,
  name: SQL,
) => sql`SELECT FROM live WHERE (live.worker, live.name) <> (${worker}, ${name})
  AND coalesce(k.filename = ANY (live.models), true) AND k.sampler = ANY (live.samplers) AND k.needs & live.unmet = 0`

/** Whether this backend leaves the kind `k` to others: it yields, and one that works could serve it. */
export const YIELDED = sql`(${hidden('yields', 'boolean')} AND EXISTS (${othersThan(...ME)} AND NOT live.failing))`

/**
 * Whether this backend may take the generation of that ID and attempt, of the kind `k`: not an excepted one, nor one that
 * failed here while another could serve it that has not failed with it, unless only that one fails others. So one always may.
 */
export const mayTake = (id: SQL, attempt: SQL) => sql`${id} <> ALL (${hidden('except', 'text[]')})
  AND NOT (${attempt} > 1 AND ${failedAt(id, ...ME)} AND EXISTS (${othersThan(...ME)}
    AND (${hidden('failing', 'boolean')} OR NOT live.failing) AND NOT ${failedAt(id, sql`live.worker`, sql`live.name`)}))`

export const SERVED_BY_OTHER = statement('generation_served_by_other')`
  WITH live AS (${LIVE})
  SELECT FROM (SELECT ${KIND} AS needs, ${g.id}, ${g.worker}, ${g.backend} FROM ${g} WHERE ${g.id} = ${param('id')}) AS k
   WHERE EXISTS (${othersThan(sql`k.worker`, sql`k.backend`)} AND NOT ${failedAt(sql`k.id`, sql`live.worker`, sql`live.name`)})`
