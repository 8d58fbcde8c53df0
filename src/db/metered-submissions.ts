import { batchedInTurn } from '../batch.js'
import type { InsertOutcome } from '../generation/submit/submission.js'
import { type Database, sqlState, withTransaction } from './client.js'
import { noteMissingJob } from './missing-jobs.js'
import { generations as g, apiKeys as k, users as u } from './schema.js'
import { itemsOf, param, statement } from './statement.js'
import { ITEM_TYPES, type Item, its, MAY_STORE, mark, OPEN_KEY, reserved, STORE, STORED } from './submission-item.js'

interface MeteredItem extends Item {
  /** How many its key may have active. */
  readonly concurrency: number
}

// The key's row is the lock: submits count one after the other; closing the key or its user waits.
const LOCK_KEY = statement('lock_open_key')`SELECT ${OPEN_KEY} FOR UPDATE OF ${k} FOR SHARE OF ${u}`

interface Stored {
  readonly id: string
  readonly createdAt: Date | null
  readonly mayStore: boolean
}

/**
 * Stores as many of one key's submits as may be active. A statement after the lock's: it counts what others stored until
 * then. The condition on `metered` is for the planner, as in insert_charged.
 */
const INSERT_METERED = statement<Stored>('insert_metered')`
  WITH item AS MATERIALIZED (
    SELECT * FROM ${itemsOf({ ...ITEM_TYPES, concurrency: 'integer' })} WHERE ${its('metered')}::integer = 1
  ), reserved AS (${reserved()}), allowed AS (
    SELECT item.*, row_number() OVER () AS place FROM item WHERE ${MAY_STORE}
  ), placed AS (
    SELECT * FROM allowed WHERE concurrency >= place + (
      SELECT count(*) FROM ${g}
       WHERE ${g.apiKeyId} = ${param('keyId')} AND ${g.status} IN ('queued', 'processing') AND ${g.metered})
  ), stored AS (
    ${STORE} FROM placed AS item RETURNING ${STORED}
  ), marked AS (${mark('placed')}), noted AS (${noteMissingJob('stored')})
  SELECT item.id, stored.created_at AS "createdAt", ${MAY_STORE} AS "mayStore"
    FROM item LEFT JOIN stored ON stored.id = item.id`

/** Stores metered submits: those of a key in turn, for each that waited for the key's lock would hold a connection. */
export function insertingMetered(db: Database): (item: MeteredItem) => Promise<InsertOutcome> {
  const insert = (items: readonly MeteredItem[]): Promise<InsertOutcome[]> =>
    withTransaction(db, async (_tx, client) => {
      const { keyId } = items[0] as MeteredItem
      if ((await LOCK_KEY.count(client, { keyId })) === 0) return items.map(() => ({ outcome: 'gone' }))
      const rows = await INSERT_METERED.rows(client, { keyId, items: JSON.stringify(items) })
      const stored = new Map(rows.map((row) => [row.id, row]))
      return items.map((item) => outcomeOf(item, stored.get(item.id)))
    })
  return batchedInTurn(
    ({ keyId }) => keyId,
    async (items) => {
      try {
        return await insert(items)
      } catch (error) {
        if (items.length === 1 || !isAboutValues(error)) throw error
        // Of one item: the others are stored without it.
        return items.map(async (item) => (await insert([item]))[0] as InsertOutcome)
      }
    },
  )
}

/** Data exceptions and violated constraints. */
const isAboutValues = (error: unknown) => /^2[23]/.test(sqlState(error) ?? '')

function outcomeOf({ concurrency }: MeteredItem, stored: Stored | undefined): InsertOutcome {
  if (stored?.createdAt) return { outcome: 'inserted', createdAt: stored.createdAt, creditsLeft: 0 }
  return stored?.mayStore ? { outcome: 'too_many', limit: concurrency } : { outcome: 'reservation_lost' }
}
