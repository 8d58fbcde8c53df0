/** Fails what no live backend can do. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import type { UnservableGeneration } from '../../core/generations/repair/ports.js'
import { type KindOfWork, LACKING, type Lacking, MISSING_MS, unservable } from '../../core/generations/servable.js'
import type { Database } from '../client.js'
import { ALL_PAUSED, pausedModel } from '../pause-conditions.js'
import { generations as g } from '../schema/generations.js'
import { backends as b } from '../schema/workers.js'
import { itemsOf, param, statement } from '../statement.js'
import { announcedBackends } from './backends.js'
import { QUEUED } from './claim.js'
import { type FailInPages, type FailureRule, failureRule } from './end.js'
import { KIND } from './other-backends.js'

interface WaitingKind extends KindOfWork {
  readonly lane: string
  /** How long its first generation has waited. */
  readonly waitedMs: number
}

/** How many kinds a pass reads, by a loose index scan. The next pass goes on behind them. */
const KINDS_PER_PASS = 500

/** How many generations of a kind, and of all, a pass fails at most. The next pass goes on with the rest. */
const ENDED_OF_KIND = 500
const ENDED_PER_PASS = 2000

const NEXT_KIND = sql`SELECT ${g.lane}, ${KIND} AS needs, ${g.createdAt} FROM ${g}
  WHERE ${QUEUED} AND (${g.lane}, ${KIND}) > (k.lane, k.filename, k.sampler, k.needs)
  ORDER BY ${g.lane}, ${KIND}, ${g.seq} LIMIT 1`

const WAITING_KINDS = statement<WaitingKind>('waiting_kinds')`
  WITH RECURSIVE kinds AS (
    SELECT following.* FROM (SELECT ${param('lane')}::text AS lane, ${param('filename')}::text AS filename,
      ${param('sampler')}::text AS sampler, ${param('needs')}::smallint AS needs) k CROSS JOIN LATERAL (${NEXT_KIND}) following
    UNION ALL
    SELECT following.* FROM kinds k CROSS JOIN LATERAL (${NEXT_KIND}) following
  )
  SELECT lane, filename, sampler, needs, extract(epoch FROM now() - created_at)::float8 * 1000 AS "waitedMs"
    FROM kinds LIMIT ${KINDS_PER_PASS}`

const BEFORE_FIRST = { lane: '', filename: '', sampler: '', needs: 0 }

const MISSING = sql`interval '1 millisecond' * ${MISSING_MS}`
const ITEM = { lane: 'text', filename: 'text', sampler: 'text', needs: 'smallint', lacking: 'text' }

// The first rows of each kind; where the model is missing, only those of them that have waited long enough.
const OF_KINDS = statement<{ readonly id: string; readonly lacking: Lacking }>('unservable_generations')`
  SELECT first.id, item.lacking FROM ${itemsOf(ITEM)} CROSS JOIN LATERAL (
    SELECT ${g.id}, ${g.createdAt} FROM ${g}
     WHERE ${QUEUED} AND ${g.lane} = item.lane AND (${KIND}) = (item.filename, item.sampler, item.needs)
     ORDER BY ${g.seq} LIMIT ${ENDED_OF_KIND}) first
   WHERE NOT ${ALL_PAUSED} AND NOT ${pausedModel(sql`item.filename`)}
     AND (item.lacking <> 'model' OR first.created_at < now() - ${MISSING})
   LIMIT ${ENDED_PER_PASS}`

/** @param requested what no backend can serve, as SQL over `g`: it replaces the `%` of the message */
const unserved = (lacking: Lacking, requested: SQLWrapper): FailureRule =>
  failureRule(
    `fail_for_${lacking}`,
    // Nothing is failed if a backend has changed meanwhile, since it may be able to serve these. With "= 'queued'" the
    // planner would read the whole queue while its statistics are those of an empty one.
    sql`${g.id} = ANY (${param('ids')}::text[]) AND ${g.status} <> 'processing'
      AND NOT EXISTS (SELECT FROM ${b} WHERE ${b.changedAt} > now() - ${MISSING})`,
    sql`replace(${LACKING[lacking]}, '%', (${requested})::text)`,
    sql`${g.seq}`,
  )

const UNSERVED: Readonly<Record<Lacking, FailureRule>> = {
  model: unserved('model', g.modelName),
  sampler: unserved('sampler', g.sampler),
  seed: unserved('seed', g.seed),
  size: unserved('size', sql`${g.width} || '×' || ${g.height}`),
  cfg_scale: unserved('cfg_scale', g.cfgScale),
}

/** Each call judges the next kinds that wait; after the last one it begins again. */
export function failingUnservable(db: Database, fail: FailInPages) {
  let after: typeof BEFORE_FIRST = BEFORE_FIRST
  return async (): Promise<UnservableGeneration[]> => {
    const backends = await announcedBackends(db)
    const kinds = await WAITING_KINDS.rows(db.pool, after)
    after = kinds.length < KINDS_PER_PASS ? BEFORE_FIRST : (kinds.at(-1) ?? BEFORE_FIRST)
    const items = kinds.flatMap(({ waitedMs, ...kind }) => {
      const lacking = unservable(backends, kind, waitedMs)
      return lacking ? [{ ...kind, lacking }] : []
    })
    if (items.length === 0) return []
    const found = await OF_KINDS.rows(db.pool, { items: JSON.stringify(items) })
    const ended: UnservableGeneration[] = []
    try {
      for (const lacking of new Set(found.map((it) => it.lacking))) {
        const ids = found.filter((it) => it.lacking === lacking).map(({ id }) => id)
        for (const generation of await fail(UNSERVED[lacking], { ids })) ended.push({ ...generation, lacking })
      }
    } catch (error) {
      // The caller must get what was ended; a later pass meets the error again.
      if (ended.length === 0) throw error
    }
    return ended
  }
}
