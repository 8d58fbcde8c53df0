import { sql } from 'drizzle-orm'
import type { SubmittedGeneration } from '../../../core/generations/generation.js'
import { SUBMIT_LOCK_MS } from '../../../core/generations/ports.js'
import type { IdempotencyStore } from '../../../core/generations/submit/ports.js'
import type { Database } from '../../client.js'
import { generations as g, idempotencyKeys as r } from '../../schema/generations.js'
import { param, selectAs, statement } from '../../statement.js'
import { SUBMITTED } from './charged.js'

/**
 * How long a reservation without a stored generation counts as in flight. A submit that dies may leave its lock, which it
 * took after the reservation: who takes the key over comes after that lock's end, or would be refused as busy.
 */
const IN_FLIGHT = sql.raw(`interval '${SUBMIT_LOCK_MS + 5000} milliseconds'`)
const KEPT = sql`interval '24 hours'`

// Storing a generation marks `stored` in the key's row. The statements below lock that row, so they see the mark even of
// an insert that they waited for. The generation is also looked up, for servers older than the mark; that alone would not do,
// since it reads the snapshot from before the wait.
const NEVER_STORED = sql`NOT ${r.stored} AND NOT EXISTS (SELECT FROM ${g} WHERE ${g.id} = ${r.generationId})`

// Takes the key if it is new, has expired, or was reserved by a submit that died before it stored anything.
const RESERVE = statement('reserve_idempotency_key')`
  INSERT INTO ${r} (user_id, key, body_hash, generation_id)
  VALUES (${param('accountId')}, ${param('key')}, ${param('bodyHash')}, ${param('generationId')})
  ON CONFLICT (user_id, key) DO UPDATE
    SET body_hash = excluded.body_hash, generation_id = excluded.generation_id, created_at = now(), stored = false
    WHERE ${r.createdAt} < now() - ${KEPT} OR (${r.createdAt} < now() - ${IN_FLIGHT} AND ${NEVER_STORED})`

const FIRST = statement<{ bodyHash: Buffer } & (SubmittedGeneration | { id: null })>('find_idempotent_first')`
  SELECT ${selectAs({ ...SUBMITTED, bodyHash: r.bodyHash })} FROM ${r} LEFT JOIN ${g} ON ${g.id} = ${r.generationId}
   WHERE ${r.userId} = ${param('accountId')} AND ${r.key} = ${param('key')}`

const RELEASE = statement('release_idempotency_key')`
  DELETE FROM ${r}
   WHERE ${r.userId} = ${param('accountId')} AND ${r.key} = ${param('key')}
     AND ${r.generationId} = ${param('generationId')} AND ${NEVER_STORED}`

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

  find: async (accountId, key) => (await FIRST.first(pool, { accountId, key }))?.id ?? undefined,

  release: (accountId, key, generationId) => RELEASE.run(pool, { accountId, key, generationId }),
})
