import type { InsertOutcome } from '../../../core/generations/submit/ports.js'
import { batchedInTurn } from '../../../lib/batch.js'
import { type Database, withTransaction } from '../../client.js'
import { apiKeys as k, users as u } from '../../schema/accounts.js'
import { generations as g } from '../../schema/generations.js'
import { sqlState } from '../../sql-state.js'
import { itemsOf, param, statement } from '../../statement.js'
import { noteMissingJob } from '../missing-jobs.js'
import {
  INSERT_GENERATION,
  INSERTED_COLUMNS,
  lockReservations,
  markReservations,
  OPEN_KEY,
  RESERVATION_HELD,
  SUBMIT_ROW_TYPES,
  type SubmitRow,
  submitColumn,
} from './submit-row.js'

// The key's row is the lock: submits count one after the other; closing the key or its user waits.
const LOCK_KEY = statement<{ concurrency: number }>('lock_open_key')`
  SELECT ${k.concurrency} ${OPEN_KEY} FOR UPDATE OF ${k} FOR SHARE OF ${u}`

interface Answer {
  readonly id: string
  readonly createdAt: Date | null
  readonly mayStore: boolean
}

/**
 * Stores as many of one key's submits as may be active. It runs after the key was locked, so that it counts all that
 * others have stored. The condition on `metered` is for the planner, as in insert_charged.
 */
const INSERT_METERED = statement<Answer>('insert_metered')`
  WITH item AS MATERIALIZED (
    SELECT * FROM ${itemsOf(SUBMIT_ROW_TYPES)} WHERE ${submitColumn('metered')}::integer = 1
  ), reserved AS (${lockReservations()}), allowed AS (
    SELECT item.*, row_number() OVER () AS place FROM item WHERE ${RESERVATION_HELD}
  ), placed AS (
    SELECT * FROM allowed WHERE place <= ${param('limit')}::bigint - (
      SELECT count(*) FROM ${g}
       WHERE ${g.apiKeyId} = ${param('keyId')} AND ${g.status} IN ('queued', 'processing') AND ${g.metered})
  ), stored AS (
    ${INSERT_GENERATION} FROM placed AS item RETURNING ${INSERTED_COLUMNS}
  ), marked AS (${markReservations('placed')}), noted AS (${noteMissingJob('stored')})
  SELECT item.id, stored.created_at AS "createdAt", ${RESERVATION_HELD} AS "mayStore"
    FROM item LEFT JOIN stored ON stored.id = item.id`

/**
 * Stores metered submits. Those of one key go in turn: each that waited for the key's lock would hold a connection. If a
 * transaction hangs, the next submits of its key wait until the time limit of its query ends it.
 */
export function insertingMetered(db: Database): (item: SubmitRow) => Promise<InsertOutcome> {
  const insert = (items: readonly SubmitRow[]): Promise<InsertOutcome[]> =>
    withTransaction(db, async (_tx, client) => {
      const { keyId } = items[0] as SubmitRow
      const key = await LOCK_KEY.first(client, { keyId })
      if (!key) return items.map(() => ({ outcome: 'gone' }))
      const limit = key.concurrency
      const rows = await INSERT_METERED.rows(client, { keyId, limit, items: JSON.stringify(items) })
      const answers = new Map(rows.map((row) => [row.id, row]))
      return items.map(({ id }) => meteredOutcome(answers.get(id) as Answer, limit))
    })
  return batchedInTurn(({ keyId }) => keyId, insertInHalves)

  /** Where the cause of an error may be one item, each half is tried without the other. */
  async function insertInHalves(items: readonly SubmitRow[]): Promise<(InsertOutcome | Promise<InsertOutcome>)[]> {
    try {
      return await insert(items)
    } catch (error) {
      if (items.length > 1 && mayBeOfOneItem(error)) {
        const half = items.length >> 1
        return [...(await insertInHalves(items.slice(0, half))), ...(await insertInHalves(items.slice(half)))]
      }
      // Not a rejection of all: the other half may be stored.
      const failed = Promise.reject<InsertOutcome>(error)
      failed.catch(() => undefined)
      return items.map(() => failed)
    }
  }
}

/** A data exception, a violated constraint or a deadlock. Not a lock's time limit: each half would wait as long again. */
const mayBeOfOneItem = (error: unknown) => /^(22|23|40P01)/.test(sqlState(error) ?? '')

function meteredOutcome({ createdAt, mayStore }: Answer, limit: number): InsertOutcome {
  if (createdAt) return { outcome: 'inserted', createdAt, creditsLeft: 0 }
  return mayStore ? { outcome: 'too_many', limit } : { outcome: 'reservation_lost' }
}
