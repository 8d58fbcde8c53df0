import { sql } from 'drizzle-orm'
import type { SubmittedGeneration } from '../../../core/generations/generation.js'
import type { UnansweredStore } from '../../../core/generations/submit/repeats.js'
import type { Database } from '../../client.js'
import { generations as g, unansweredRequests as u } from '../../schema/generations.js'
import { param, selectAs, statement } from '../../statement.js'
import { SUBMITTED } from './charged.js'

/** Clients repeat within seconds and job queues within minutes; whoever asks again later wants another image. */
const KEPT = sql`interval '5 minutes'`

const NOTE = statement('note_unanswered_request')`
  INSERT INTO ${u} (generation_id, api_key_id, request_hash)
  VALUES (${param('generationId')}, ${param('keyId')}, ${param('requestHash')})
  ON CONFLICT (generation_id) DO UPDATE SET created_at = now()`

const TAKE = statement<SubmittedGeneration>('take_unanswered_request')`
  DELETE FROM ${u} USING ${g}
   WHERE ${g.id} = ${u.generationId} AND ${u.generationId} = (
     SELECT generation_id FROM ${u} AS alike
      WHERE api_key_id = ${param('keyId')} AND request_hash = ${param('requestHash')} AND created_at > now() - ${KEPT}
        AND NOT EXISTS (SELECT FROM ${g} AS first WHERE first.id = generation_id AND first.status = 'failed')
      ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${selectAs(SUBMITTED)}`

export const CLEAN_UNANSWERED = statement('clean_unanswered_requests')`
  DELETE FROM ${u} WHERE ${u.createdAt} < now() - ${KEPT}`

export const unansweredStore = ({ pool }: Database): UnansweredStore => ({
  note: (generationId, request) => NOTE.run(pool, { generationId, ...request }),
  take: (request) => TAKE.first(pool, request),
})
