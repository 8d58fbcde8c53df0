/** What the backends that are alive can do, and what no one can. */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Abilities, Lacking } from '../generation/failure-reason.js'
import { MAX_SEED, SIZE_STEP } from '../generation/generation.js'
import type { BackendRegistry } from '../generation/run/claim.js'
import { SAMPLERS } from '../generation/sampler.js'
import type { Database } from './client.js'
import { backends } from './process-schema.js'
import { generations } from './schema.js'
import { param, statement } from './statement.js'

const b = alias(backends, 'b')
const g = alias(generations, 'g')

/** A backend counts as alive while it was seen this recently; workers report every few seconds. */
export const ALIVE = sql`interval '15 seconds'`
/** How long a model may be missing on every live backend, and any ability after one has changed, before generations fail. */
const MISSING = sql`interval '60 seconds'`

const abilities = (of: string) =>
  sql.raw(
    ['models', 'samplers', 'max_seed', 'size_multiple', 'max_cfg_scale'].map((name) => `${of}.${name}`).join(', '),
  )

// One that was not seen for a while counts as changed: after an outage others may not have come back yet.
const ANNOUNCE = statement('announce_backend')`
  INSERT INTO ${backends} AS b (worker, name, up, models, samplers, max_seed, size_multiple, max_cfg_scale)
  VALUES (${param('worker')}, ${param('name')}, ${param('up')}, ${param('models')}, ${param('samplers')},
          ${param('maxSeed')}, ${param('sizeMultiple')}, ${param('maxCfgScale')})
  ON CONFLICT (worker, name) DO UPDATE SET up = excluded.up, seen_at = now(),
    (models, samplers, max_seed, size_multiple, max_cfg_scale) = ROW (${abilities('excluded')}),
    changed_at = CASE WHEN ${b.seenAt} < now() - ${ALIVE}
      OR (${abilities('b')}) IS DISTINCT FROM (${abilities('excluded')}) THEN now() ELSE ${b.changedAt} END`

export const backendRegistry = ({ pool }: Database): BackendRegistry => ({
  async announce(worker, name, up, serves) {
    await ANNOUNCE.count(pool, { worker, name, up, maxCfgScale: undefined, ...serves })
  },
})

// A backend that is down may have anything, so while one is, nothing that needs a model is given up; only one that has
// refused ever since it was started (it has no models at all) is not waited for.
const seenWithin = (time: SQL) => sql`SELECT FROM ${backends} ${b} WHERE ${b.seenAt} > now() - ${time}`
const ALIVE_BACKEND = seenWithin(ALIVE)
const RECENT_BACKEND = seenWithin(MISSING)
const MIGHT = sql`(NOT ${b.up} AND ${b.models} IS DISTINCT FROM '{}' OR ${b.models} IS NULL
  OR ${g.filename} = ANY (${b.models}))`
// Just started or back: after an outage others may be on their way, which can do what this one cannot.
const CHANGED = sql`${b.changedAt} > now() - ${MISSING}`

/** Where one live backend serves everything there is nothing to look for, however long the queue. */
export const SOME_UNSERVED = sql`EXISTS (${ALIVE_BACKEND}) AND NOT EXISTS (${ALIVE_BACKEND} AND ${b.models} IS NULL
  AND ${b.samplers} @> ARRAY[${sql.join(
    SAMPLERS.map((sampler) => sql`${sampler}`),
    sql`, `,
  )}] AND ${b.maxSeed} >= ${MAX_SEED} AND ${b.sizeMultiple} <= ${SIZE_STEP} AND ${b.maxCfgScale} IS NULL)`

/** Some backend serves the model, and none of those that do, can do this. */
const noneCan = (can: SQL): SQL => sql`EXISTS (${ALIVE_BACKEND} AND ${b.up} AND ${MIGHT}) AND NOT EXISTS (
  ${RECENT_BACKEND} AND (${CHANGED} OR ${MIGHT} AND (NOT ${b.up} OR ${can})))`

const NO_SAMPLER = noneCan(sql`${g.sampler} = ANY (${b.samplers})`)

/** Over `g`, a generation: no live backend can do it; and what it asked for, as its owner is told. */
export const UNSERVABLE: Readonly<Record<Lacking, { readonly lacks: SQL; readonly asked: SQL }>> = {
  model: {
    lacks: sql`${g.createdAt} < now() - ${MISSING} AND NOT EXISTS (${RECENT_BACKEND} AND (${CHANGED} OR ${MIGHT}))`,
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
const FRESH_MS = 1000

/** Goes by what the reconciler goes by, so that nothing is refused here that it would let wait. */
export function backendAbilities({ pool }: Database): Abilities {
  const known = new Map<string, { readonly since: number; readonly lack: Promise<boolean> }>()

  return {
    lackSampler(filename, sampler) {
      const key = `${sampler} ${filename}`
      const now = performance.now()
      const last = known.get(key)
      if (last && now - last.since < FRESH_MS) return last.lack
      const lack = LACK_SAMPLER.count(pool, { filename, sampler }).then((found) => found > 0)
      known.set(key, { since: now, lack })
      lack.catch(() => known.delete(key))
      return lack
    },
  }
}

const FORGET = statement('forget_backends')`
  DELETE FROM ${backends} WHERE ${backends.seenAt} < now() - interval '10 minutes'`

/** Forgets the backends of workers that have gone. */
export const forgetBackends = ({ pool }: Database): Promise<number> => FORGET.count(pool)
