import { sql } from 'drizzle-orm'
import type { SubmittedGeneration } from '../generation/generation.js'
import type { IdempotencyStore } from '../generation/submit/reservation.js'
import type { Database } from './client.js'
import { generations as g, idempotencyKeys as k } from './schema.js'
import { named, param, pick, statement } from './statement.js'

/** How long a reservation without a generation counts as in flight; longer than any submit can take. */
const IN_FLIGHT = sql`interval '15 seconds'`
const KEPT = sql`interval '24 hours'`

// `stored` is read from the row that the insert marks and this statement locks: having waited for an insert, it sees it.
// Generations are looked at too, for those of a server from before there was the mark; they show what was there before
// the wait, so that alone would take the key from an insert that commits meanwhile.
const NEVER_STORED = sql`NOT ${k.stored} AND NOT EXISTS (
  SELECT FROM ${g} WHERE ${g.id} = ${k.generationId})`

// Takes the key when it is new, has expired, or was reserved by a submit that died before it stored anything.
const RESERVE = statement<{ generationId: string }>('reserve_idempotency_key')`
  INSERT INTO ${k} (user_id, key, body_hash, generation_id)
  VALUES (${param('accountId')}, ${param('key')}, ${param('bodyHash')}, ${param('generationId')})
  ON CONFLICT (user_id, key) DO UPDATE
    SET body_hash = excluded.body_hash, generation_id = excluded.generation_id, created_at = now(), stored = false
    WHERE ${k.createdAt} < now() - ${KEPT} OR (${k.createdAt} < now() - ${IN_FLIGHT} AND ${NEVER_STORED})
  RETURNING ${k.generationId} AS "generationId"`

const FIRST = statement<{ bodyHash: Buffer } & (SubmittedGeneration | { id: null })>('find_idempotent_first')`
  SELECT ${named({
    ...pick(k, 'bodyHash'),
    ...pick(g, 'id', 'modelVersionId', 'modelName', 'cost', 'seed', 'slugs', 'createdAt'),
  })}
    FROM ${k} LEFT JOIN ${g} ON ${g.id} = ${k.generationId}
   WHERE ${k.userId} = ${param('accountId')} AND ${k.key} = ${param('key')}`

const RELEASE = statement('release_idempotency_key')`
  DELETE FROM ${k}
   WHERE ${k.userId} = ${param('accountId')} AND ${k.key} = ${param('key')}
     AND ${k.generationId} = ${param('generationId')} AND ${NEVER_STORED}`

export const idempotencyStore = ({ pool }: Database): IdempotencyStore => ({
  async reserve(accountId, key, bodyHash, generationId) {
    const taken = await RESERVE.first(pool, { accountId, key, bodyHash, generationId })
    if (taken?.generationId === generationId) return { outcome: 'reserved' }

    const first = await FIRST.first(pool, { accountId, key })
    // Refused and released between the two statements: the repeat that the client is told to make will get it.
    if (!first) return { outcome: 'in_flight' }
    const { bodyHash: firstHash, ...generation } = first
    if (!bodyHash.equals(firstHash)) return { outcome: 'mismatch' }
    return generation.id === null ? { outcome: 'in_flight' } : { outcome: 'replay', generation }
  },

  async release(accountId, key, generationId) {
    await RELEASE.count(pool, { accountId, key, generationId })
  },
})
