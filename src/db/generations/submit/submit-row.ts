/** A submit, as the statements that store any number of submits take it, and the parts that these statements share. */
import { sql } from 'drizzle-orm'
import { DRAWING, type Generation } from '../../../core/generations/generation.js'
import { generations as g, apiKeys as k, idempotencyKeys as r, users as u } from '../../schema/generations.js'
import { assign, insertInto, param, typesOf } from '../../statement.js'

const STORED_AS_GIVEN = [
  ...(['id', 'lane', 'metered', 'modelVersionId', 'modelName', 'filename', ...DRAWING, 'batchSize', 'seed'] as const),
  ...(['slugs', 'cost', 'webhookUrl', 'requestId', 'traceparent'] as const),
] as const

export interface Item extends Generation {
  readonly deadlineSeconds: number
  readonly idempotencyKey: string | undefined
}
/** The types of the values that these statements read. */
export const ITEM_TYPES = {
  ...typesOf(g, ...STORED_AS_GIVEN),
  ...{ accountId: 'uuid', keyId: 'uuid', deadlineSeconds: 'float8', idempotencyKey: 'text' },
} satisfies Partial<Record<keyof Item, string>>
/** A value of the item, which is named `item` in each statement. */
export const its = (name: keyof typeof ITEM_TYPES) => sql`item.${sql.identifier(name)}`

/** Inserts the generation; a FROM with the items follows. */
export const STORE = insertInto(g, {
  ...Object.fromEntries(STORED_AS_GIVEN.map((name) => [name, its(name)])),
  userId: its('accountId'),
  apiKeyId: its('keyId'),
  deadlineAt: sql`now() + make_interval(secs => ${its('deadlineSeconds')})`,
})
/** What `STORE` returns: what `noteMissingJob` needs, and the time. */
export const STORED = sql`${g.id}, ${g.attempt}, ${g.createdAt}`

const OF_RESERVATION = sql`
  ${r.userId} = ${its('accountId')} AND ${r.key} = ${its('idempotencyKey')} AND ${r.generationId} = ${its('id')}`
/**
 * Locks the reservations of the items; `mark` follows in the same transaction. So a request that takes a reservation over
 * either sees the mark or keeps this generation from being stored.
 * @param ifLocked what to do about a row that another transaction has locked: wait, unless given
 */
export const reserved = (ifLocked = sql``) => sql`
  SELECT item.id FROM item CROSS JOIN LATERAL (
    SELECT FROM ${r} WHERE ${OF_RESERVATION} OFFSET 0 FOR UPDATE ${ifLocked}) AS held
   WHERE ${its('idempotencyKey')} IS NOT NULL`
/** Whether the item has no Idempotency-Key, or its reservation is in the statement's `reserved`. */
export const MAY_STORE = sql`(${its('idempotencyKey')} IS NULL OR EXISTS (SELECT FROM reserved WHERE reserved.id = item.id))`
/** Marks the reservations of what is stored. @param stored the name of a query with these items */
export const mark = (stored: string) => sql`
  UPDATE ${r} SET ${assign(r, { stored: true })} FROM ${sql.identifier(stored)} AS item WHERE ${OF_RESERVATION}`

/** The key, if it and its user are still valid: moderation may have taken long since the key was last read. */
export const OPEN_KEY = sql`
  FROM ${k} JOIN ${u} ON ${u.id} = ${k.userId}
   WHERE ${k.id} = ${param('keyId')} AND ${k.revokedAt} IS NULL AND ${u.deletedAt} IS NULL`
