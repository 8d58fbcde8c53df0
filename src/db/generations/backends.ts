/** What the backends say of themselves. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { BackendCondition, BackendRegistry } from '../../core/generations/run/ports.js'
import { ALIVE_MS, type AnnouncedBackend, type ServableNow, unservable } from '../../core/generations/servable.js'
import { batchedInTurn, snapshot } from '../../lib/batch.js'
import { storable } from '../../lib/text.js'
import type { Database } from '../client.js'
import { PAUSED_BACKEND } from '../pause-conditions.js'
import { backends as b } from '../schema/workers.js'
import { isSqlRefusal } from '../sql-state.js'
import {
  columns,
  commaList,
  insertInto,
  itemsOf,
  NOT_SYNCED,
  selectAs,
  setList,
  statement,
  typesOf,
} from '../statement.js'

export const ALIVE = sql`interval '1 millisecond' * ${ALIVE_MS}`

const ABILITIES = ['models', 'samplers', 'maxSeed', 'sizeMultiple', 'maxCfgScale'] as const
const abilitiesOf = (row: Readonly<Record<(typeof ABILITIES)[number], SQLWrapper>>) =>
  commaList(ABILITIES.map((name) => sql`${row[name]}`))
const excluded = alias(b, 'excluded')

const ANNOUNCED_COLUMNS = ['worker', 'name', 'up', 'loaded', 'error', 'failing', 'lacks', ...ABILITIES] as const
type Announcement = Pick<typeof b.$inferInsert, (typeof ANNOUNCED_COLUMNS)[number]>
const announced = Object.fromEntries(ANNOUNCED_COLUMNS.map((name) => [name, sql`item.${sql.identifier(name)}`]))

// A backend that was not seen for a while counts as changed: after an outage others may not be back yet.
const ANNOUNCE = statement('announce_backends')`
  ${insertInto(b, { ...announced, errorAt: sql`CASE WHEN item.error IS NOT NULL THEN now() END` })}
    FROM ${itemsOf(typesOf(b, ...ANNOUNCED_COLUMNS))}, ${NOT_SYNCED}
  ON CONFLICT (worker, name) DO UPDATE SET ${setList(b, {
    ...columns(excluded, 'up', 'loaded', 'error', 'failing', 'lacks', ...ABILITIES),
    seenAt: sql`now()`,
    errorAt: sql`CASE WHEN ${b.error} IS NOT DISTINCT FROM ${excluded.error} AND (${excluded.up} OR NOT ${b.up})
      THEN ${b.errorAt} ELSE ${excluded.errorAt} END`,
    changedAt: sql`CASE WHEN ${b.seenAt} < now() - ${ALIVE}
      OR (${abilitiesOf(b)}) IS DISTINCT FROM (${abilitiesOf(excluded)}) THEN now() ELSE ${b.changedAt} END`,
  })}`

/** What a worker says of all its backends at once is one statement. */
export function backendRegistry({ pool }: Database): BackendRegistry {
  const write = (all: readonly Announcement[]) => ANNOUNCE.run(pool, { items: JSON.stringify(all) })
  const announce = batchedInTurn<Announcement, void>(
    () => '',
    async (all) => {
      // A row can be written once in a statement: the latest counts.
      const latest = [...new Map(all.map((one) => [one.name, one])).values()]
      try {
        await write(latest)
      } catch (error) {
        if (!isSqlRefusal(error) || latest.length === 1) throw error
        // What one of them says is refused.
        return all.map((one) => write([one]))
      }
      return all.map(() => undefined)
    },
  )
  return {
    announce(worker, name, up, serves, condition = { loaded: undefined, error: undefined }) {
      const { loaded, error, failing = false, lacks } = condition
      const stored = { loaded, error: error === undefined ? undefined : storable(error), failing, lacks: kept(lacks) }
      return announce({
        worker,
        name,
        up,
        ...stored,
        ...serves,
        samplers: [...serves.samplers],
        models: serves.models && [...serves.models],
      })
    },
  }
}

/** Of each definition so many sentences; each may name files of the server, however long their names are. */
const SENTENCES = 20
const MAX_LENGTH = 500

const kept = (lacks: BackendCondition['lacks'] = new Map()) =>
  Object.fromEntries(
    [...lacks].map(([filename, sentences]) => [
      filename,
      sentences.slice(0, SENTENCES).map((it) => storable(it.slice(0, MAX_LENGTH))),
    ]),
  )

const msSince = (time: SQLWrapper) => sql`extract(epoch FROM now() - ${time})::float8 * 1000`

const ANNOUNCED = statement<AnnouncedBackend>('announced_backends')`
  SELECT ${selectAs({
    ...columns(b, 'up', ...ABILITIES),
    paused: PAUSED_BACKEND,
    seenMsAgo: msSince(b.seenAt),
    changedMsAgo: msSince(b.changedAt),
  })} FROM ${b}`

export const announcedBackends = ({ pool }: Database): Promise<AnnouncedBackend[]> => ANNOUNCED.rows(pool)

/** Judges as the reconciler does, so that a submit refuses nothing that the reconciler would let wait. */
export function backendAbilities(db: Database): ServableNow {
  const looks = new Map<string, () => Promise<boolean>>()
  return {
    isSamplerUnavailable(filename, sampler) {
      const key = `${sampler} ${filename}`
      const kind = { filename, sampler, needs: 0 }
      const take = async () => unservable(await announcedBackends(db), kind) === 'sampler'
      const look = looks.get(key) ?? snapshot(take, { freshMs: 1000 })
      looks.set(key, look)
      return look()
    },
  }
}

/** Deletes the backends of workers that no longer run. */
export const CLEAN_BACKENDS = statement('forget_backends')`
  DELETE FROM ${b} WHERE ${b.seenAt} < now() - interval '10 minutes' AND NOT ${PAUSED_BACKEND}`
