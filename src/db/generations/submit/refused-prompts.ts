import { sql } from 'drizzle-orm'
import type { RefusedPrompts } from '../../../core/generations/submit/ports.js'
import { batchedInTurn } from '../../../lib/batch.js'
import { type Database, withTransaction } from '../../client.js'
import { users as u } from '../../schema/accounts.js'
import { refusedPrompts as r } from '../../schema/operator.js'
import { insertInto, param, statement, typedParams } from '../../statement.js'

/** Stored of one account; of a flood the rest is dropped, or it would fill the disk. */
const MOST = [
  { within: '1 minute', count: 10 },
  { within: '1 day', count: 200 },
] as const
/** Of what an account was refused at once: more of it is a flood. */
const MOST_AT_ONCE = 20
/** A form that is sent twice, or again after *back*, and a check before its submit, are one refusal. */
const SAME_WITHIN = '1 hour'
const KEPT_FOR = '90 days'
const CLEANED = 1000

const isFlooded = sql.join(
  MOST.map(
    ({ within, count }) =>
      sql`(SELECT ${r.at} FROM ${r} WHERE ${r.userId} = ${param('userId')}::uuid
            ORDER BY ${r.id} DESC LIMIT 1 OFFSET ${count - 1}) > now() - ${within}::interval`,
  ),
  sql` OR `,
)

const isNoted = sql`EXISTS (
  SELECT FROM ${r}
   WHERE ${r.userId} = ${param('userId')}::uuid AND ${r.at} > now() - ${SAME_WITHIN}::interval AND ${r.prompt} = ${param('prompt')}
     AND ${r.parameter} = ${param('parameter')} AND ${r.category} = ${param('category')})`

// One of an account at a time: two presses of a button come at once.
const LOCK = statement('lock_refused_prompts')`
  SELECT pg_advisory_xact_lock(hashtextextended(${param('userId')}, 52))`

const NOTE = statement('note_refused_prompt')`
  ${insertInto(r, typedParams(r, 'userId', 'parameter', 'category', 'matched', 'prompt'))} WHERE (${isFlooded}) IS NOT TRUE AND NOT ${isNoted}
     AND EXISTS (SELECT FROM ${u} WHERE ${u.id} = ${param('userId')}::uuid AND ${u.deletedAt} IS NULL)`

// Only the oldest are looked at: no index has the time.
export const CLEAN_REFUSED_PROMPTS = statement('clean_refused_prompts')`
  DELETE FROM ${r} WHERE ${r.id} = ANY (ARRAY(
    SELECT id FROM (SELECT ${r.id}, ${r.at} FROM ${r} ORDER BY ${r.id} LIMIT ${CLEANED}) oldest
     WHERE at < now() - ${KEPT_FOR}::interval))`

type Refused = Parameters<RefusedPrompts['note']>[0]

/** @param onError is told of prompts that could not be stored; nobody waits for them */
export function refusedPromptNotes(db: Database, onError: (error: unknown) => void): RefusedPrompts {
  // Of an account one transaction at a time: those that wait for its lock would hold all connections.
  const noteInTurn = batchedInTurn<Refused, void>(
    ({ accountId }) => accountId,
    async (notes) => {
      const some = notes.slice(0, MOST_AT_ONCE)
      await withTransaction(db, async (_, client) => {
        for (const [n, { accountId: userId, ...refused }] of some.entries()) {
          if (n === 0) await LOCK.run(client, { userId })
          await NOTE.run(client, { userId, ...refused })
        }
      })
      return notes.map(() => undefined)
    },
  )
  return { note: (refused) => void noteInTurn(refused).catch(onError) }
}
