import { setTimeout as delay } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import { batched, joined } from '../batch.js'
import { serviceUnavailable } from '../errors.js'
import { DRAWING, drawingOf, type Generation, type SubmittedGeneration } from '../generation/generation.js'
import type { Delivery } from '../generation/shared-ports.js'
import type { InsertOutcome, SubmissionStore } from '../generation/submit/submission.js'
import { type Database, outcomeUnknown, sqlState, violatedConstraint, withTransaction } from './client.js'
import { markEnqueued, noteMissingJob } from './missing-jobs.js'
import { creditLedger, generations as g, apiKeys as k, idempotencyKeys as r, users as u } from './schema.js'
import { assign, eachOf, given, insertInto, named, param, pick, statement } from './statement.js'

const ACCOUNT = sql`${param('accountId')}::uuid`
const KEY = sql`${param('keyId')}::uuid`
const COST = sql`${param('cost')}::bigint`
const RESERVATION = sql`${param('idempotencyKey')}::text`

const STORE = insertInto(g, {
  ...given(g, 'id', 'lane', 'metered', 'modelVersionId', 'modelName', 'filename', ...DRAWING),
  ...given(g, 'batchSize', 'seed', 'slugs', 'cost', 'webhookUrl', 'requestId', 'traceparent'),
  userId: ACCOUNT,
  apiKeyId: KEY,
  deadlineAt: sql`now() + make_interval(secs => ${param('deadlineSeconds')}::float8)`,
})
const STORED = sql`${g.id}, ${g.attempt}, ${g.createdAt}`

// Locks the reservation, then marks it: a request that takes it over either sees the mark or keeps this generation from
// being stored.
const ofReservation = (id: SQL) =>
  sql`${r.userId} = ${ACCOUNT} AND ${r.key} = ${RESERVATION} AND ${r.generationId} = ${id}`
const RESERVED = sql`SELECT 1 FROM ${r} WHERE ${ofReservation(sql`${param('id')}`)} FOR UPDATE`
const MAY_STORE = sql`(${RESERVATION} IS NULL OR EXISTS (SELECT FROM reserved))`
const MARK = sql`
  UPDATE ${r} SET ${assign(r, { stored: true })} FROM stored WHERE ${ofReservation(sql`stored.id`)}`

/** Active and charged: an account has at most one. */
const ACTIVE = sql`${g.status} IN ('queued', 'processing') AND NOT ${g.metered}`

// Looks for an active generation first, so that it is reported before "insufficient"; in a race the unique index decides.
// The key's row is locked before the user's: once either is closed, nothing more is charged.
const INSERT_CHARGED = statement<{
  createdAt: Date | null
  creditsLeft: number | null
  activeId: string | null
  mayStore: boolean
}>('insert_charged')`
  WITH active AS (
    SELECT ${g.id} FROM ${g} WHERE ${g.userId} = ${ACCOUNT} AND ${ACTIVE} LIMIT 1
  ), reserved AS (${RESERVED}), unrevoked AS (
    SELECT 1 FROM ${k} WHERE ${k.id} = ${KEY} AND ${k.revokedAt} IS NULL FOR SHARE
  ), debited AS (
    UPDATE ${u} SET ${assign(u, { credits: sql`${u.credits} - ${COST}` })}
     WHERE ${u.id} = ${ACCOUNT} AND ${u.credits} >= ${COST} AND ${u.deletedAt} IS NULL
       AND NOT EXISTS (SELECT FROM active) AND ${MAY_STORE} AND EXISTS (SELECT FROM unrevoked)
    RETURNING ${u.credits}
  ), stored AS (
    ${STORE} FROM debited RETURNING ${STORED}
  ), marked AS (${MARK}), noted AS (${noteMissingJob('stored')}), entered AS (
    ${insertInto(creditLedger, {
      userId: ACCOUNT,
      kind: 'charge',
      delta: sql`-${COST}`,
      balance: sql`debited.credits`,
      generationId: sql`stored.id`,
    })} FROM stored, debited
  )
  SELECT (SELECT created_at FROM stored) AS "createdAt", (SELECT credits FROM debited) AS "creditsLeft",
         (SELECT id FROM active) AS "activeId", ${MAY_STORE} AS "mayStore"`

const INSERT_METERED = statement<{ createdAt: Date }>('insert_metered')`
  WITH reserved AS (${RESERVED}), stored AS (
    ${STORE} WHERE ${MAY_STORE} RETURNING ${STORED}
  ), marked AS (${MARK}), noted AS (${noteMissingJob('stored')})
  SELECT created_at AS "createdAt" FROM stored`

/** The key, if it and its user are still valid: moderation may have taken long since the key was last read. */
const OPEN_KEY = sql`
  FROM ${k} JOIN ${u} ON ${u.id} = ${k.userId}
   WHERE ${k.id} = ${param('keyId')} AND ${k.revokedAt} IS NULL AND ${u.deletedAt} IS NULL`

const HELD = statement<{ credits: number }>('credits_held_by_key')`SELECT ${u.credits} ${OPEN_KEY}`

// The key's row is the lock: two submits count one after the other; closing the key or its user waits.
const LOCK_KEY = statement('lock_open_key')`SELECT ${OPEN_KEY} FOR UPDATE OF ${k} FOR SHARE OF ${u}`

const COUNT_METERED = statement<{ active: number }>('count_active_metered')`
  SELECT count(*) AS active FROM ${g}
   WHERE ${g.apiKeyId} = ${param('keyId')} AND ${g.status} IN ('queued', 'processing') AND ${g.metered}`

const ACTIVE_GENERATIONS = eachOf<{ id: string }, 'accountId'>(
  'active_generations',
  { accountId: 'uuid' },
  sql`SELECT ${g.id} FROM ${g} WHERE ${g.userId} = item."accountId" AND ${ACTIVE}`,
)

/** What its submitter gets back. */
export const SUBMITTED = pick(g, 'id', 'modelVersionId', 'modelName', 'cost', 'seed', 'slugs', 'createdAt')
const FIND = statement<SubmittedGeneration>('find_submitted')`
  SELECT ${named(SUBMITTED)} FROM ${g} WHERE ${g.id} = ${param('id')}`

const CHARGE = statement<{ balance: number }>('balance_after_charge')`
  SELECT ${creditLedger.balance} FROM ${creditLedger}
   WHERE ${creditLedger.generationId} = ${param('id')} AND ${creditLedger.kind} = 'charge'`

type FindActive = SubmissionStore['activeGeneration']

/** How long submits collect what they mark as enqueued; the reconciler looks for older ones only. */
const MARK_AFTER_MS = 50

/** What a generation may lack. */
const UNKNOWN = { webhookUrl: undefined, requestId: undefined, traceparent: undefined }

export function submissionStore(db: Database): SubmissionStore {
  const findActive = batched(async (accounts: readonly { readonly accountId: string }[]) =>
    (await ACTIVE_GENERATIONS(db.pool, accounts)).map((row) => row?.id),
  )
  const activeGeneration: FindActive = (accountId) => findActive({ accountId })

  return {
    async insert(generation, { deadlineSeconds, idempotencyKey, concurrency }) {
      const values = { ...UNKNOWN, ...generation, ...drawingOf(generation), deadlineSeconds, idempotencyKey }
      try {
        return generation.metered
          ? await insertMetered(db, generation, concurrency, values)
          : await insertCharged(db, generation, values, activeGeneration)
      } catch (error) {
        if (violatedConstraint(error) === 'generations_one_active')
          return { outcome: 'active', generationId: await activeGeneration(generation.accountId) }
        if (!outcomeUnknown(error)) throw error
        return settleUnknown(db, generation, error)
      }
    },

    activeGeneration,
    find: (id) => FIND.first(db.pool, { id }),
    markEnqueued: joined(
      (deliveries: readonly Delivery[]) => markEnqueued(db, deliveries),
      () => delay(MARK_AFTER_MS),
    ),
  }
}

/** How often to try after a race with another submit or a refund, before "insufficient" is reported. */
const LOOKS = 3

async function insertCharged(
  db: Database,
  { accountId, keyId, cost }: Generation,
  values: object,
  activeGeneration: FindActive,
): Promise<InsertOutcome> {
  for (let look = 1; ; look++) {
    const { createdAt, creditsLeft, activeId, mayStore } = (await INSERT_CHARGED.first(db.pool, values)) ?? {}
    if (createdAt) return { outcome: 'inserted', createdAt, creditsLeft: creditsLeft ?? 0 }
    if (activeId) return { outcome: 'active', generationId: activeId }
    if (!mayStore) return { outcome: 'reservation_lost' }
    // Nothing was debited: too few credits, or the key or its user was closed. In a race with another statement, this
    // one saw credits, key and user as they are now, but the other rows as they were before.
    const held = await HELD.first(db.pool, { keyId })
    if (!held) return { outcome: 'gone' }
    const active = await activeGeneration(accountId)
    if (active) return { outcome: 'active', generationId: active }
    if (held.credits < cost || look === LOOKS) return { outcome: 'insufficient', held: held.credits }
  }
}

function insertMetered(db: Database, { keyId }: Generation, limit: number, values: object): Promise<InsertOutcome> {
  return withTransaction(db, async (_tx, client) => {
    if ((await LOCK_KEY.count(client, { keyId })) === 0) return { outcome: 'gone' }
    const metered = await COUNT_METERED.first(client, { keyId })
    if (metered && metered.active >= limit) return { outcome: 'too_many', limit }
    const stored = await INSERT_METERED.first(client, values)
    return stored
      ? { outcome: 'inserted', createdAt: stored.createdAt, creditsLeft: 0 }
      : { outcome: 'reservation_lost' }
  })
}

/** How long to query the outcome of a statement whose answer was lost; longer than the server's statement timeout. */
const SETTLE_MS = 5000

/**
 * The answer was lost, so the charge may have been committed. If the row with our new id is there, it was.
 * @throws AppError `unavailable` when Postgres can't be asked; the generation, if stored, then simply runs
 */
async function settleUnknown({ pool }: Database, { id, metered }: Generation, cause: unknown): Promise<InsertOutcome> {
  const until = performance.now() + SETTLE_MS
  for (let pauseMs = 50; performance.now() < until; pauseMs = Math.min(pauseMs * 2, 500)) {
    await delay(pauseMs)
    try {
      const found = await FIND.first(pool, { id })
      if (!found) {
        // With a SQLSTATE the server itself ended the statement: it can no longer be committed.
        if (sqlState(cause) !== undefined) break
        continue
      }
      const charge = metered ? undefined : await CHARGE.first(pool, { id })
      return { outcome: 'inserted', createdAt: found.createdAt, creditsLeft: charge?.balance ?? 0 }
    } catch (error) {
      if (!outcomeUnknown(error)) throw error
    }
  }
  throw serviceUnavailable(5, cause)
}
