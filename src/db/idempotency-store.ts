import { sql } from 'drizzle-orm'
import type { SubmittedGeneration } from '../generation/generation.js'
import type { IdempotencyStore } from '../generation/submit/reservation.js'
import type { Database } from './client.js'
import { generations as g, idempotencyKeys as k } from './schema.js'
import { named, param, pick, statement } from './statement.js'

/** A reservation without a generation is in flight for this long: longer than any submit can take. */
const IN_FLIGHT = sql`interval '15 seconds'`
const KEPT = sql`interval '24 hours'`

// The insert of a generation marks `stored` in the row that this statement locks, so after a wait for an insert the mark is
// seen. Generations of servers from before the mark are looked up too; that alone would not do, since it shows what was
// there before the wait.
const NEVER_STORED = sql`NOT ${k.stored} AND NOT EXISTS (
  SELECT FROM ${g} WHERE ${g.id} = ${k.generationId})`

// Takes the key if it is new, has expired, or was reserved by a submit that died before it stored anything.
const RESERVE = statement('reserve_idempotency_key')`
  INSERT INTO ${k} (user_id, key, body_hash, generation_id)
  VALUES (${param('accountId')}, ${param('key')}, ${param('bodyHash')}, ${param('generationId')})
  ON CONFLICT (user_id, key) DO UPDATE
    SET body_hash = excluded.body_hash, generation_id = excluded.generation_id, created_at = now(), stored = false
    WHERE ${k.createdAt} < now() - ${KEPT} OR (${k.createdAt} < now() - ${IN_FLIGHT} AND ${NEVER_STORED})`

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
    const reserved = await RESERVE.count(pool, { accountId, key, bodyHash, generationId })
    if (reserved === 1) return { outcome: 'reserved' }

    const first = await FIRST.first(pool, { accountId, key })
    // Released between the two statements: the client repeats the request and will get the key.
    if (!first) return { outcome: 'in_flight' }
    const { bodyHash: firstHash, ...generation } = first
    if (!bodyHash.equals(firstHash)) return { outcome: 'mismatch' }
    return generation.id === null ? { outcome: 'in_flight' } : { outcome: 'replay', generation }
  },

  release: (accountId, key, generationId) => RELEASE.run(pool, { accountId, key, generationId }),
})
