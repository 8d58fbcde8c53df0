import { idempotencyInFlight, idempotencyMismatch } from '../../core/errors.js'
import type { AdminRequests } from '../../core/operator/admin-requests.js'
import type { Database } from '../client.js'
import { adminRequests as r } from '../schema/operator.js'
import { sqlState } from '../sql-state.js'
import { columns, param, selectAs, statement } from '../statement.js'
import { administration, recordedIn } from './administration.js'
import { inTransaction } from './operator-actions.js'

const LOCK_NOT_AVAILABLE = '55P03'

// Of two requests at once, one waits until the other's transaction has ended.
const RESERVE = statement('reserve_admin_request')`
  INSERT INTO ${r} (api_key_id, key, request_hash, status, answer)
  VALUES (${param('keyId')}::uuid, ${param('key')}, ${param('hash')}::bytea, 0, '{}')
  ON CONFLICT (api_key_id, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = now()
   WHERE ${r.createdAt} < now() - interval '24 hours'`

const FIRST = statement<{ requestHash: Buffer; status: number; answer: unknown }>('first_admin_request')`
  SELECT ${selectAs(columns(r, 'requestHash', 'status', 'answer'))} FROM ${r}
   WHERE ${r.apiKeyId} = ${param('keyId')}::uuid AND ${r.key} = ${param('key')}`

const ANSWERED = statement('answer_admin_request')`
  UPDATE ${r} SET status = ${param('status')}::integer, answer = ${param('answer')}::jsonb
   WHERE ${r.apiKeyId} = ${param('keyId')}::uuid AND ${r.key} = ${param('key')}`

export const adminRequestStore = (db: Database): AdminRequests => ({
  once: ({ keyId, key, hash }, work) =>
    inTransaction(db, async (on) => {
      const reserved = await RESERVE.count(on.pool, { keyId, key, hash }).catch((error) => {
        throw sqlState(error) === LOCK_NOT_AVAILABLE ? idempotencyInFlight() : error
      })
      if (reserved === 0) {
        const first = await FIRST.first(on.pool, { keyId, key })
        if (!first) throw idempotencyInFlight()
        if (!first.requestHash.equals(hash)) throw idempotencyMismatch()
        return { first: { status: first.status, body: first.answer } }
      }
      const done = await work({ stores: administration(on), recorded: recordedIn(on) })
      await ANSWERED.run(on.pool, { keyId, key, status: done.status, answer: JSON.stringify(done.body) })
      return { done }
    }),
})
