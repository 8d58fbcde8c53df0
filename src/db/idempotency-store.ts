import type { IdempotencyStore } from '../generation/submit/reservation.js'
import type { Database } from './client.js'

/** How long a reservation without a generation counts as in flight; longer than any submit can take. */
const IN_FLIGHT_SECONDS = 15
const KEPT = `interval '24 hours'`

// `stored` is read from the row that the insert marks and this statement locks: having waited for an insert, it sees it.
// Generations are looked at too, for those of a server from before there was the mark; they show what was there before
// the wait, so that alone would take the key from an insert that commits meanwhile.
const NEVER_STORED = 'NOT k.stored AND NOT EXISTS (SELECT FROM generations g WHERE g.id = k.generation_id)'

const RESERVE = {
  name: 'reserve_idempotency_key',
  // Takes the key when it is new, has expired, or was reserved by a submit that died before it stored anything.
  text: `
    INSERT INTO idempotency_keys AS k (user_id, key, body_hash, generation_id) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, key) DO UPDATE
      SET body_hash = excluded.body_hash, generation_id = excluded.generation_id, created_at = now(), stored = false
      WHERE k.created_at < now() - ${KEPT}
         OR (k.created_at < now() - interval '${IN_FLIGHT_SECONDS} seconds' AND ${NEVER_STORED})
    RETURNING generation_id`,
}

const FIRST = {
  name: 'find_idempotent_first',
  text: `
    SELECT k.body_hash, g.id, g.model_version_id, g.model_name, g.cost, g.seed, g.slugs, g.created_at
      FROM idempotency_keys k LEFT JOIN generations g ON g.id = k.generation_id
     WHERE k.user_id = $1 AND k.key = $2`,
}

export const idempotencyStore = ({ pool }: Database): IdempotencyStore => ({
  async reserve(accountId, key, bodyHash, generationId) {
    const taken = await pool.query({ ...RESERVE, values: [accountId, key, bodyHash, generationId] })
    if (taken.rows[0]?.generation_id === generationId) return { outcome: 'reserved' }

    const first = (await pool.query({ ...FIRST, values: [accountId, key] })).rows[0]
    // Refused and released between the two statements: the repeat that the client is told to make will get it.
    if (!first) return { outcome: 'in_flight' }
    if (!bodyHash.equals(first.body_hash)) return { outcome: 'mismatch' }
    if (first.id === null) return { outcome: 'in_flight' }
    return {
      outcome: 'replay',
      generation: {
        id: first.id,
        modelVersionId: first.model_version_id,
        modelName: first.model_name,
        cost: first.cost,
        seed: first.seed,
        slugs: first.slugs,
        createdAt: first.created_at,
      },
    }
  },

  async release(accountId, key, generationId) {
    await pool.query(
      `DELETE FROM idempotency_keys k WHERE user_id = $1 AND key = $2 AND generation_id = $3
          AND ${NEVER_STORED}`,
      [accountId, key, generationId],
    )
  },
})
