/** A submit, as the statements that store any number of submits take it, and the parts that these statements share. */
import { sql } from 'drizzle-orm'
import { type Generation, PARAMETER_NAMES } from '../../../core/generations/generation.js'
import { USABLE_KEY } from '../../key-conditions.js'
import { apiKeys as k, users as u } from '../../schema/accounts.js'
import { generations as g, idempotencyKeys as r } from '../../schema/generations.js'
import { insertInto, param, setList, typesOf } from '../../statement.js'

const SUBMITTED_COLUMNS = [
  ...([
    'id',
    'lane',
    'metered',
    'modelVersionId',
    'modelName',
    'filename',
    ...PARAMETER_NAMES,
    'batchSize',
    'seed',
  ] as const),
  ...(['slugs', 'cost', 'webhookUrl', 'requestId', 'traceparent'] as const),
] as const

export interface SubmitRow extends Generation {
  readonly deadlineSeconds: number
  readonly idempotencyKey: string | undefined
}
/** The types of the values that these statements read. */
export const SUBMIT_ROW_TYPES = {
  ...typesOf(g, ...SUBMITTED_COLUMNS),
  ...{ accountId: 'uuid', keyId: 'uuid', deadlineSeconds: 'float8', idempotencyKey: 'text' },
} satisfies Partial<Record<keyof SubmitRow, string>>
/** A value of the item, which is named `item` in each statement. */
export const submitColumn = (name: keyof typeof SUBMIT_ROW_TYPES) => sql`item.${sql.identifier(name)}`

/** Inserts the generation; a FROM with the items follows. */
export const INSERT_GENERATION = insertInto(g, {
  ...Object.fromEntries(SUBMITTED_COLUMNS.map((name) => [name, submitColumn(name)])),
  userId: submitColumn('accountId'),
  apiKeyId: submitColumn('keyId'),
  deadlineAt: sql`now() + make_interval(secs => ${submitColumn('deadlineSeconds')})`,
})
/** What `STORE` returns: what `noteMissingJob` needs, and the time. */
export const INSERTED_COLUMNS = sql`${g.id}, ${g.attempt}, ${g.createdAt}`

const OF_RESERVATION = sql`
  ${r.userId} = ${submitColumn('accountId')} AND ${r.key} = ${submitColumn('idempotencyKey')} AND ${r.generationId} = ${submitColumn('id')}`
/**
 * Locks the reservations of the items; `mark` follows in the same transaction. So a request that takes a reservation over
 * either sees the mark or keeps this generation from being stored.
 * @param ifLocked what to do about a row that another transaction has locked: wait, unless given
 */
export const lockReservations = (ifLocked = sql``) => sql`
  SELECT item.id FROM item CROSS JOIN LATERAL (
    SELECT FROM ${r} WHERE ${OF_RESERVATION} OFFSET 0 FOR UPDATE ${ifLocked}) AS held
   WHERE ${submitColumn('idempotencyKey')} IS NOT NULL`
/** Whether the item has no Idempotency-Key, or its reservation is in the statement's `reserved`. */
export const RESERVATION_HELD = sql`(${submitColumn('idempotencyKey')} IS NULL OR EXISTS (SELECT FROM reserved WHERE reserved.id = item.id))`
/** Marks the reservations of what is stored. @param stored the name of a query with these items */
export const markReservations = (stored: string) => sql`
  UPDATE ${r} SET ${setList(r, { stored: true })} FROM ${sql.identifier(stored)} AS item WHERE ${OF_RESERVATION}`

/** The key, if it and its user are still valid: moderation may have taken long since the key was last read. */
export const OPEN_KEY = sql`
  FROM ${k} JOIN ${u} ON ${u.id} = ${k.userId}
   WHERE ${k.id} = ${param('keyId')} AND ${USABLE_KEY} AND ${u.deletedAt} IS NULL`
