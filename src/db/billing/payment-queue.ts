import { sql } from 'drizzle-orm'
import { nextLookAtGone, nextLookAtPayment, nextLookAtSubscription } from '../../core/billing/effects.js'
import type { Asked, PaymentQueue, Problem } from '../../core/billing/ports.js'
import { type Database, withTransaction } from '../client.js'
import { plans } from '../schema/accounts.js'
import {
  paymentCustomers as c,
  paymentEvents as e,
  payments as m,
  paymentObjects as o,
  paidSubscriptions as p,
} from '../schema/billing.js'
import { columns, param, selectAs, setList, statement } from '../statement.js'
import { accountOfEmail } from './account-of-customer.js'
import { applyPayment } from './apply-payment.js'
import { applySubscription } from './apply-subscription.js'
import { KEPT } from './payment-events.js'
import { CLEAN_FAULTS } from './payment-faults.js'

const EVENTS_PER_PAGE = 1000
const FAILURE_LENGTH = 500

/** Worded like the index. */
const DUE_SINCE = sql`greatest(${o.dueAt}, ${o.notBefore})`
const OPEN_EVENTS = sql`${e.kind} IS NOT NULL AND ${e.workedOffAt} IS NULL`
const IN_SECONDS = sql`now() + make_interval(secs => ${param('seconds')}::float8)`

const CLAIM = statement<Asked>('claim_payment_object')`
  UPDATE ${o} SET ${setList(o, { version: sql`${o.version} + 1`, notBefore: IN_SECONDS, askedAt: sql`now()` })}
    FROM (
      SELECT ${selectAs({ dueKind: o.kind, dueId: o.id })} FROM ${o}
       WHERE ${o.dueAt} IS NOT NULL AND ${DUE_SINCE} <= now()
       ORDER BY ${DUE_SINCE} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) due
   WHERE ${o.kind} = due."dueKind" AND ${o.id} = due."dueId"
  RETURNING ${selectAs({
    ...columns(o, 'kind', 'id', 'version', 'failures', 'createdAt'),
    lastEvent: sql<number>`(
      SELECT coalesce(max(${e.seq}), 0) FROM ${e}
       WHERE ${OPEN_EVENTS} AND ${e.kind} = ${o.kind} AND ${e.objectId} = ${o.id})`,
  })}`

// Who is no customer of an account here has bought something from another service of the same owner.
const ADD = statement('add_found_purchases')`
  INSERT INTO ${o} (kind, id, customer)
  SELECT found.kind, found.id, found.customer
    FROM unnest(${param('kinds')}::text[], ${param('ids')}::text[], ${param('customers')}::text[]) AS found (kind, id, customer)
   WHERE EXISTS (SELECT FROM ${c} WHERE ${c.id} = found.customer AND ${c.userId} IS NOT NULL)
  ON CONFLICT DO NOTHING`

const PLAN_PRICES = statement<{ price: string | null }>('prices_of_plans')`
  SELECT ${plans.price} FROM ${plans} WHERE ${plans.price} IS NOT NULL
  UNION SELECT ${p.price} FROM ${p} WHERE ${p.id} = ${param('id')}::text AND ${p.plan} IS NOT NULL`

const IT = sql`${o.kind} = ${param('kind')}::text AND ${o.id} = ${param('id')}::text`
/** Nobody else has claimed it since. */
const THIS_CLAIM = sql`${IT} AND ${o.version} = ${param('version')}::bigint`

const LOCK = statement<{ now: Date }>('lock_payment_object')`
  SELECT now() AS now FROM ${o} WHERE ${THIS_CLAIM} FOR NO KEY UPDATE`

const ITS_EVENTS = sql`${OPEN_EVENTS} AND ${e.kind} = ${param('kind')}::text AND ${e.objectId} = ${param('id')}::text`
const LAST_EVENT = sql`${param('lastEvent')}::bigint`
const PROBLEM = sql`${param('problem')}::text`

/** Of what the provider had before; a payment counts until it cannot usually be disputed any more. */
const PAID_UNTIL = statement<{ paidUntil: Date | null }>('paid_until_of_gone')`
  SELECT CASE ${param('kind')}::text
    WHEN 'subscription' THEN (SELECT ${p.paidUntil} FROM ${p} WHERE ${p.id} = ${param('id')}::text AND ${p.status} <> 'ended')
    ELSE (SELECT ${m.paidAt} + interval '120 days' FROM ${m} WHERE ${m.id} = ${param('id')}::text)
  END AS "paidUntil"`

const DONE = statement('payment_object_done')`
  WITH worked_off AS (
    UPDATE ${e} SET ${setList(e, { workedOffAt: sql`now()` })} WHERE ${ITS_EVENTS} AND ${e.seq} <= ${LAST_EVENT}
  )
  UPDATE ${o} SET ${setList(o, {
    // What came while it was asked for may be news.
    dueAt: sql`CASE WHEN EXISTS (SELECT FROM ${e} WHERE ${ITS_EVENTS} AND ${e.seq} > ${LAST_EVENT}) THEN now()
                    ELSE ${param('nextLook')}::timestamptz END`,
    notBefore: sql`'-infinity'`,
    customer: sql`coalesce(${param('customer')}::text, ${o.customer})`,
    failures: 0,
    failure: null,
    failingSince: null,
    problem: PROBLEM,
    dismissedAt: sql`CASE WHEN ${o.problem} IS NOT DISTINCT FROM ${PROBLEM} THEN ${o.dismissedAt} END`,
  })} WHERE ${THIS_CLAIM}`

const FAILED = statement('payment_object_failed')`
  UPDATE ${o} SET ${setList(o, {
    failures: sql`${o.failures} + 1`,
    failure: param('failure'),
    failingSince: sql`coalesce(${o.failingSince}, now())`,
    notBefore: IN_SECONDS,
  })} WHERE ${THIS_CLAIM}`

const RELEASE = statement('release_payment_object')`
  UPDATE ${o} SET ${setList(o, { notBefore: sql`'-infinity'` })} WHERE ${THIS_CLAIM}`

const CAN_BE_MATCHED = sql`CASE ${o.problem}
  WHEN 'no_account' THEN EXISTS (
    SELECT FROM ${c} WHERE ${c.id} = ${o.customer} AND (${c.userId} IS NOT NULL OR EXISTS ${accountOfEmail(c.email)}))
  WHEN 'no_plan' THEN EXISTS (SELECT FROM ${p} JOIN ${plans} ON ${plans.price} = ${p.price} WHERE ${p.id} = ${o.id})
  WHEN 'superfluous' THEN EXISTS (
    SELECT FROM ${o} other JOIN ${c} one ON one.id = other.customer JOIN ${c} its ON its.user_id = one.user_id
     WHERE its.id = ${o.customer} AND other.kind = 'subscription' AND other.problem IS NULL AND other.asked_at > ${o.askedAt})
  ELSE false END`

const RETRY_PROBLEMS = statement('retry_payment_problems')`
  UPDATE ${o} SET ${setList(o, { dueAt: sql`now()` })}
   WHERE (${o.problem} IS NOT NULL OR ${o.failures} > 0) AND ${o.dismissedAt} IS NULL
     AND ${o.problem} IS NOT NULL AND (${o.dueAt} IS NULL OR ${o.dueAt} > now()) AND ${CAN_BE_MATCHED}`

const CLEAN = statement('forget_payment_events')`
  DELETE FROM ${e} WHERE ${e.id} = ANY (ARRAY(
    SELECT ${e.id} FROM ${e}
     WHERE ${e.receivedAt} < now() - ${KEPT} AND (${e.kind} IS NULL OR ${e.workedOffAt} IS NOT NULL)
     LIMIT ${EVENTS_PER_PAGE}))`

/** @param now instead of Postgres's clock, for tests */
export function paymentQueue(
  db: Database,
  { graceDays, now: clock }: { readonly graceDays: number; readonly now?: () => Date },
): PaymentQueue {
  const { pool } = db
  return {
    claim: (seconds) => CLAIM.first(pool, { seconds }),

    add: async (purchases) => {
      if (purchases.length === 0) return 0
      const [kinds, ids] = [purchases.map(({ kind }) => kind), purchases.map(({ id }) => id)]
      return ADD.count(pool, { kinds, ids, customers: purchases.map(({ customer }) => customer) })
    },

    planPrices: async (id) => (await PLAN_PRICES.rows(pool, { id })).flatMap(({ price }) => price ?? []),

    apply: (asked, answer) =>
      withTransaction(db, async (_tx, client) => {
        const held = await LOCK.first(client, asked)
        if (!held) return 'stale'
        const now = clock?.() ?? held.now
        let problem: Problem | null = null
        let nextLook: Date | null = null
        let customer: string | undefined
        if (answer.kind !== 'cancellation' && !answer.found) {
          problem = 'gone'
          nextLook = nextLookAtGone((await PAID_UNTIL.first(client, asked))?.paidUntil ?? null, now)
        }
        if (answer.kind === 'subscription' && answer.found) {
          problem = await applySubscription(client, answer.found, graceDays, now)
          nextLook = nextLookAtSubscription(answer.found, now)
          customer = answer.found.customer.id
        }
        if (answer.kind === 'payment' && answer.found) {
          const applied = await applyPayment(client, answer.found)
          problem = applied.problem
          if (!applied.isForeign)
            nextLook = nextLookAtPayment(answer.found, { firstHeard: asked.createdAt, ...applied }, now)
          customer = answer.found.customer?.id
        }
        await DONE.run(client, { ...asked, problem, nextLook, customer })
        return { problem }
      }),

    failed: (asked, failure, seconds) =>
      FAILED.run(pool, { ...asked, failure: failure.slice(0, FAILURE_LENGTH), seconds }),

    release: (asked) => RELEASE.run(pool, asked),

    retryProblems: () => RETRY_PROBLEMS.count(pool),

    clean: async () => (await CLEAN.count(pool)) + (await CLEAN_FAULTS.count(pool)),
  }
}
