import { setTimeout as delay } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import { serviceUnavailable } from '../../../core/errors.js'
import type { Generation, SubmittedGeneration } from '../../../core/generations/generation.js'
import type { Delivery } from '../../../core/generations/ports.js'
import type { InsertOutcome, SubmissionStore } from '../../../core/generations/submit/ports.js'
import { batched, joined } from '../../../lib/batch.js'
import { DATABASE_TIMES, type Database, Rollback, withTransaction } from '../../client.js'
import { USABLE_KEY } from '../../key-conditions.js'
import { apiKeys as k, users as u } from '../../schema/accounts.js'
import { generations as g } from '../../schema/generations.js'
import { creditLedger } from '../../schema/ledger.js'
import { upNextIdeas as i, upNext as n } from '../../schema/up-next.js'
import { spentThisMonth } from '../../spending.js'
import { outcomeUnknown, sqlState, violatedConstraint } from '../../sql-state.js'
import {
  columns,
  eachOf,
  insertInto,
  itemsOf,
  param,
  type Queryable,
  selectAs,
  setList,
  statement,
} from '../../statement.js'
import { markEnqueued, noteMissingJob } from '../missing-jobs.js'
import { toView, VIEW, type ViewRow } from '../poll.js'
import { insertingMetered } from './metered.js'
import {
  INSERT_GENERATION,
  INSERTED_COLUMNS,
  lockReservations,
  markReservations,
  OPEN_KEY,
  RESERVATION_HELD,
  SUBMIT_ROW_TYPES,
  type SubmitRow,
  submitColumn,
} from './submit-row.js'

/** Active and charged: an account has at most one. */
const IS_ACTIVE_AND_CHARGED = sql`${g.status} IN ('queued', 'processing') AND NOT ${g.metered}`
const activeOf = (what: SQL, accountId: SQL) =>
  sql`SELECT ${what} FROM ${g} WHERE ${g.userId} = ${accountId} AND ${IS_ACTIVE_AND_CHARGED}`

interface Charged {
  readonly id: string
  readonly createdAt: Date | null
  readonly creditsLeft: number | null
  readonly activeId: string | null
  readonly mayStore: boolean
}

/**
 * For any number of submits, each treated as if it were alone. Looks for an active generation first, so that it is reported
 * before "insufficient"; in a race the unique index decides. The key's row is locked before the user's: once either is
 * closed, nothing more is charged. What expires first is spent first.
 * The planner expects a condition like `metered::integer = 0` to leave one item of a hundred. So it looks up rows by their
 * keys, where it would otherwise read whole tables that it believes to be small.
 * @param ifLocked what to do about a row that another transaction has locked: wait, unless given
 * @param withinLimit when a key with a monthly limit may be charged, after OR: never, unless given
 */
const insertCharged = (name: string, { ifLocked = sql``, withinLimit = sql`` } = {}) => statement<Charged>(name)`
  WITH item AS MATERIALIZED (
    SELECT * FROM ${itemsOf(SUBMIT_ROW_TYPES)} WHERE ${submitColumn('metered')}::integer = 0
  ), active AS (
    SELECT item.id AS item, found.id FROM item CROSS JOIN LATERAL (${activeOf(sql`${g.id}`, submitColumn('accountId'))} LIMIT 1) AS found
  ), reserved AS (${lockReservations(ifLocked)}), allowed AS (
    SELECT item.*, payer.expiring FROM item CROSS JOIN LATERAL (
      SELECT FROM ${k} WHERE ${k.id} = ${submitColumn('keyId')} AND ${USABLE_KEY} AND (${k.monthlyLimit} IS NULL${withinLimit})
      OFFSET 0 FOR SHARE ${ifLocked}
    ) AS unrevoked CROSS JOIN LATERAL (
      SELECT least(${u.expiringCredits}, ${submitColumn('cost')}) AS expiring FROM ${u}
       WHERE ${u.id} = ${submitColumn('accountId')} OFFSET 0 FOR NO KEY UPDATE ${ifLocked}
    ) AS payer
     WHERE NOT EXISTS (SELECT FROM active WHERE active.item = item.id) AND ${RESERVATION_HELD}
  ), debited AS (
    UPDATE ${u} SET ${setList(u, {
      credits: sql`${u.credits} - ${submitColumn('cost')}`,
      expiringCredits: sql`${u.expiringCredits} - item.expiring`,
    })} FROM allowed AS item
     WHERE ${u.id} = ${submitColumn('accountId')} AND ${u.credits} >= ${submitColumn('cost')} AND ${u.deletedAt} IS NULL
    RETURNING ${u.credits} AS balance, ${u.expiringCredits} AS expiring_balance, item.*
  ), stored AS (
    ${INSERT_GENERATION} FROM debited AS item RETURNING ${INSERTED_COLUMNS}
  ), marked AS (${markReservations('debited')}), noted AS (${noteMissingJob('stored')}), entered AS (
    ${insertInto(creditLedger, {
      userId: submitColumn('accountId'),
      kind: 'charge',
      delta: sql`-${submitColumn('cost')}`,
      balance: sql`item.balance`,
      generationId: submitColumn('id'),
      expiringDelta: sql`-item.expiring`,
      expiringBalance: sql`item.expiring_balance`,
    })} FROM debited AS item
  )
  SELECT item.id, stored.created_at AS "createdAt", debited.balance AS "creditsLeft", active.id AS "activeId",
         ${RESERVATION_HELD} AS "mayStore"
    FROM item LEFT JOIN stored ON stored.id = item.id LEFT JOIN debited ON debited.id = item.id
    LEFT JOIN active ON active.item = item.id`

// All share what a statement costs to start, check and commit, but none waits for another's lock.
const INSERT_CHARGED_TOGETHER = insertCharged('insert_charged_together', { ifLocked: sql`SKIP LOCKED` })
// What a key has spent is known only once its account is locked, before the statement begins.
const INSERT_CHARGED = insertCharged('insert_charged', {
  withinLimit: sql` OR ${spentThisMonth(submitColumn('accountId'), submitColumn('keyId'))} + ${submitColumn('cost')} <= ${k.monthlyLimit}`,
})

// In the order of insert_charged: the key's row, then the user's.
const LOCK_PAYER = statement<{ credits: number; monthlyLimit: number | null }>('lock_payer')`
  SELECT ${selectAs({ ...columns(u, 'credits'), ...columns(k, 'monthlyLimit') })} ${OPEN_KEY} FOR SHARE OF ${k} FOR NO KEY UPDATE OF ${u}`

const KEY_SPENT = statement<{ spent: number }>('spent_by_key')`
  SELECT ${spentThisMonth(sql`${param('accountId')}::uuid`, sql`${param('keyId')}::uuid`)} AS spent`

const ACTIVE_GENERATIONS = eachOf<ViewRow, 'accountId'>(
  'active_generations',
  { accountId: 'uuid' },
  activeOf(selectAs(VIEW), submitColumn('accountId')),
)

/** What its submitter gets back. */
export const SUBMITTED = {
  ...columns(g, 'id', 'modelVersionId', 'modelName', 'cost', 'seed', 'slugs', 'createdAt'),
  ...columns(g, 'steps', 'cfgScale', 'width', 'height'),
}
const FIND = statement<SubmittedGeneration>('find_submitted')`
  SELECT ${selectAs(SUBMITTED)} FROM ${g} WHERE ${g.id} = ${param('id')}`

const CHARGE = statement<{ balance: number }>('balance_after_charge')`
  SELECT ${creditLedger.balance} FROM ${creditLedger}
   WHERE ${creditLedger.generationId} = ${param('id')} AND ${creditLedger.kind} = 'charge'`

type FindActive = SubmissionStore['activeGeneration']

/** How long submits collect what they mark as enqueued; the reconciler looks for older ones only. */
const MARK_AFTER_MS = 50

/**
 * How long to look for what a statement stored whose answer was lost: the server may go on with it until its own time
 * limit. With the time that the answer was waited for, shorter than the lock and the reservation of the submit hold.
 */
const SETTLE_MS = DATABASE_TIMES.statementMs + 1000

export function submissionStore(db: Database, { settleMs = SETTLE_MS } = {}): SubmissionStore {
  const findActive = batched(async (accounts: readonly { readonly accountId: string }[]) =>
    (await ACTIVE_GENERATIONS(db.pool, accounts)).map((row) => row && toView(row)),
  )
  const activeGeneration: FindActive = (accountId) => findActive({ accountId })
  const chargeTogether = chargingTogether(db)
  const insertMetered = insertingMetered(db)

  return {
    async insert(generation, { deadlineSeconds, idempotencyKey, ideaId }) {
      const item: SubmitRow = { ...generation, deadlineSeconds, idempotencyKey }
      try {
        if (ideaId !== undefined) return await chargeAlone(db, item, ideaId)
        return generation.metered
          ? await insertMetered(item)
          : ((await chargeTogether(item)) ?? (await chargeAlone(db, item)))
      } catch (error) {
        if (error instanceof IdeaGone) return { outcome: 'idea_gone' }
        if (violatedConstraint(error) === 'generations_one_active')
          return { outcome: 'active', generationId: (await activeGeneration(generation.accountId))?.id }
        if (!outcomeUnknown(error)) throw error
        return settleUnknown(db, generation, error, settleMs)
      }
    },

    activeGeneration,
    spentThisMonth: async (accountId, keyId) => (await KEY_SPENT.first(db.pool, { accountId, keyId }))?.spent ?? 0,
    find: (id) => FIND.first(db.pool, { id }),
    markEnqueued: joined(
      (deliveries: readonly Delivery[]) => markEnqueued(db, deliveries),
      () => delay(MARK_AFTER_MS),
    ),
  }
}

const charge = async (how: typeof INSERT_CHARGED, on: Queryable, items: readonly SubmitRow[]): Promise<Charged[]> => {
  const rows = await how.rows(on, { items: JSON.stringify(items) })
  const charged = new Map(rows.map((row) => [row.id, row]))
  return items.map(({ id }) => charged.get(id) as Charged)
}

const TAKE_IDEA = statement('take_idea')`
  DELETE FROM ${i} WHERE ${i.id} = ${param('ideaId')}::uuid AND ${i.userId} = ${param('accountId')}::uuid`

// Whoever pauses it comes before the charge or after it. The payer is locked first, as where a generation ends.
const LOCK_UP_NEXT = statement('lock_up_next_to_submit')`
  SELECT FROM ${n} WHERE ${n.userId} = ${param('accountId')}::uuid AND ${n.paused} IS NULL FOR SHARE`

class IdeaGone extends Rollback {}

/** How many are charged in one statement: enough to share what one costs, few enough that several cores have work. */
const TOGETHER = 16

/** Charges what is submitted at once. Undefined: not stored, and `chargeAlone` tells why; the cause may be another item. */
const chargingTogether = (db: Database): ((item: SubmitRow) => Promise<InsertOutcome | undefined>) =>
  batched(async (items: readonly SubmitRow[]) => {
    const pages = Array.from({ length: Math.ceil(items.length / TOGETHER) }, (_, n) =>
      charge(INSERT_CHARGED_TOGETHER, db.pool, items.slice(n * TOGETHER, (n + 1) * TOGETHER)).catch((error) => {
        if (outcomeUnknown(error)) throw error
      }),
    )
    return items.map(async (_, n) => chargedOutcome((await pages[Math.floor(n / TOGETHER)])?.[n % TOGETHER]))
  })

/**
 * Locks who pays before it looks: a statement that waits for a lock sees the locked row as it is now, but all other rows
 * as they were before. So whoever else submits, refunds or closes the account comes entirely before or after.
 * @param ideaId of Up next, to be deleted with it
 * @throws IdeaGone where there is none, or the account has paused Up next: nothing is stored
 */
const chargeAlone = (db: Database, item: SubmitRow, ideaId?: string): Promise<InsertOutcome> =>
  withTransaction(db, async (_tx, client) => {
    const payer = await LOCK_PAYER.first(client, { keyId: item.keyId })
    if (!payer) return { outcome: 'gone' }
    if (ideaId !== undefined && (await LOCK_UP_NEXT.count(client, { accountId: item.accountId })) === 0)
      throw new IdeaGone()
    const [alone] = await charge(INSERT_CHARGED, client, [item])
    const charged = chargedOutcome(alone)
    if (charged?.outcome === 'inserted' && ideaId !== undefined)
      if ((await TAKE_IDEA.count(client, { ideaId, accountId: item.accountId })) === 0) throw new IdeaGone()
    if (charged) return charged
    if (!alone?.mayStore) return { outcome: 'reservation_lost' }
    const { credits: held, monthlyLimit: limit } = payer
    const spent = limit === null ? 0 : ((await KEY_SPENT.first(client, item))?.spent ?? 0)
    return limit !== null && spent + item.cost > limit
      ? { outcome: 'key_limit', limit, spent }
      : { outcome: 'insufficient', held }
  })

function chargedOutcome(charged: Charged | undefined): InsertOutcome | undefined {
  const { createdAt, creditsLeft, activeId } = charged ?? {}
  if (createdAt) return { outcome: 'inserted', createdAt, creditsLeft: creditsLeft ?? 0 }
  return activeId ? { outcome: 'active', generationId: activeId } : undefined
}

/**
 * The answer was lost, so the charge may have been committed. If the row with our new id is there, it was.
 * @throws AppError `unavailable` when Postgres can't be asked; the generation, if stored, then simply runs
 */
async function settleUnknown(
  { pool }: Database,
  { id, metered }: Generation,
  cause: unknown,
  settleMs: number,
): Promise<InsertOutcome> {
  const until = performance.now() + settleMs
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
