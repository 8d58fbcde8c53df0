/** What the live backends can do, and what none of them can. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Lacking, ServableNow } from '../../core/generations/failure-reason.js'
import { MAX_SEED, SAMPLERS, SIZE_STEP } from '../../core/generations/generation.js'
import type { BackendRegistry } from '../../core/generations/run/ports.js'
import { storable } from '../../lib/text.js'
import type { Database } from '../client.js'
import { ALL_PAUSED, PAUSED_BACKEND } from '../pause-conditions.js'
import { generations as g } from '../schema/generations.js'
import { backends as b } from '../schema/workers.js'
import { columns, commaList, insertInto, param, setList, statement, typedParams } from '../statement.js'

/** A backend is alive if it was seen within this time; workers report every few seconds. */
export const ALIVE = sql`interval '15 seconds'`
/** A generation fails only if for this long its model was missing on every live backend and no backend has changed. */
const MISSING = sql`interval '60 seconds'`

const ABILITIES = ['models', 'samplers', 'maxSeed', 'sizeMultiple', 'maxCfgScale'] as const
const abilitiesOf = (row: Readonly<Record<(typeof ABILITIES)[number], SQLWrapper>>) =>
  commaList(ABILITIES.map((name) => sql`${row[name]}`))
const excluded = alias(b, 'excluded')

// A backend that was not seen for a while counts as changed: after an outage others may not be back yet.
const ANNOUNCE = statement('announce_backend')`
  ${insertInto(b, {
    ...typedParams(b, 'worker', 'name', 'up', 'loaded', 'error', 'failing', ...ABILITIES),
    errorAt: sql`CASE WHEN ${param('error')}::text IS NOT NULL THEN now() END`,
  })}
  ON CONFLICT (worker, name) DO UPDATE SET ${setList(b, {
    ...columns(excluded, 'up', 'loaded', 'error', 'failing', ...ABILITIES),
    seenAt: sql`now()`,
    errorAt: sql`CASE WHEN ${b.error} IS NOT DISTINCT FROM ${excluded.error} AND (${excluded.up} OR NOT ${b.up})
      THEN ${b.errorAt} ELSE ${excluded.errorAt} END`,
    changedAt: sql`CASE WHEN ${b.seenAt} < now() - ${ALIVE}
      OR (${abilitiesOf(b)}) IS DISTINCT FROM (${abilitiesOf(excluded)}) THEN now() ELSE ${b.changedAt} END`,
  })}`

export const backendRegistry = ({ pool }: Database): BackendRegistry => ({
  async announce(
    worker,
    name,
    up,
    serves,
    { loaded, error, failing = false } = { loaded: undefined, error: undefined },
  ) {
    const said = error === undefined ? undefined : storable(error)
    await ANNOUNCE.run(pool, { worker, name, up, loaded, error: said, failing, maxCfgScale: undefined, ...serves })
  },
})

// A backend that is down might have any model, so generations wait for it, unless it has refused from the start: then
// it is announced without models.
const seenWithin = (time: SQL) => sql`SELECT FROM ${b} WHERE ${b.seenAt} > now() - ${time}`
const ALIVE_BACKEND = seenWithin(ALIVE)
// One that is paused may be away for as long as the operator likes.
const RECENT_BACKEND = sql`SELECT FROM ${b} WHERE (${b.seenAt} > now() - ${MISSING} OR ${PAUSED_BACKEND})`
const MAY_SERVE = sql`(NOT ${b.up} AND ${b.models} IS DISTINCT FROM '{}' OR ${b.models} IS NULL
  OR ${g.filename} = ANY (${b.models}))`
// Just started or back: after an outage others, which serve more, may not be back yet.
const CHANGED = sql`${b.changedAt} > now() - ${MISSING}`

/** False while everything is paused, or if one live backend serves everything: then the queue need not be searched. */
export const SOME_UNSERVED = sql`NOT ${ALL_PAUSED} AND EXISTS (${ALIVE_BACKEND}) AND NOT EXISTS (${ALIVE_BACKEND} AND ${b.models} IS NULL
  AND ${b.samplers} @> ARRAY[${commaList(SAMPLERS.map((sampler) => sql`${sampler}`))}]
  AND ${b.maxSeed} >= ${MAX_SEED} AND ${b.sizeMultiple} <= ${SIZE_STEP} AND ${b.maxCfgScale} IS NULL)`

/** Some backend serves the model, and none of these can do this. */
const noneCan = (can: SQL): SQL => sql`EXISTS (${ALIVE_BACKEND} AND ${b.up} AND ${MAY_SERVE}) AND NOT EXISTS (
  ${RECENT_BACKEND} AND (${CHANGED} OR ${MAY_SERVE} AND (NOT ${b.up} OR ${can})))`

const NO_SAMPLER = noneCan(sql`${g.sampler} = ANY (${b.samplers})`)

/** Over a generation `g`: that no live backend serves it, and the requested value, for the message to its owner. */
export const UNSERVABLE: Readonly<Record<Lacking, { readonly lacks: SQL; readonly asked: SQL }>> = {
  model: {
    lacks: sql`${g.createdAt} < now() - ${MISSING} AND NOT EXISTS (${RECENT_BACKEND} AND (${CHANGED} OR ${MAY_SERVE}))`,
    asked: sql`${g.modelName}`,
  },
  sampler: { lacks: NO_SAMPLER, asked: sql`${g.sampler}` },
  seed: {
    lacks: noneCan(sql`least(${g.seed} + ${g.batchSize} - 1, 4294967295) <= ${b.maxSeed}`),
    asked: sql`${g.seed}`,
  },
  size: {
    lacks: noneCan(sql`${g.width} % ${b.sizeMultiple} = 0 AND ${g.height} % ${b.sizeMultiple} = 0`),
    asked: sql`${g.width} || '×' || ${g.height}`,
  },
  cfg_scale: {
    lacks: noneCan(sql`(${b.maxCfgScale} IS NULL OR ${g.cfgScale} <= ${b.maxCfgScale})`),
    asked: sql`${g.cfgScale}`,
  },
}

const LACK_SAMPLER = statement('lack_sampler')`
  SELECT FROM (SELECT ${param('filename')}::text AS filename, ${param('sampler')}::text AS sampler) ${g}
   WHERE ${NO_SAMPLER}`

/** An answer serves every submit within this time. */
const BACKENDS_FRESH_MS = 1000

/** Uses the reconciler's conditions, so that a submit refuses nothing that the reconciler would let wait. */
export function backendAbilities({ pool }: Database): ServableNow {
  const known = new Map<string, { readonly since: number; readonly lack: Promise<boolean> }>()

  return {
    isSamplerUnavailable(filename, sampler) {
      const key = `${sampler} ${filename}`
      const now = performance.now()
      const last = known.get(key)
      if (last && now - last.since < BACKENDS_FRESH_MS) return last.lack
      const lack = LACK_SAMPLER.count(pool, { filename, sampler }).then((found) => found > 0)
      known.set(key, { since: now, lack })
      lack.catch(() => known.delete(key))
      return lack
    },
  }
}

/** Deletes the backends of workers that no longer run. */
export const CLEAN_BACKENDS = statement('forget_backends')`
  DELETE FROM ${b} WHERE ${b.seenAt} < now() - interval '10 minutes' AND NOT ${PAUSED_BACKEND}`
