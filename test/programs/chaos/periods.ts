/**
 * Subscribers of a plan whose periods end all the time, and what they must have been granted for it; and others whose
 * subscriptions end all the time, and what they must have been told.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../../../src/db/client.js'
import { givenPlan } from '../../support/given-plan.js'
import { givenUser } from '../../support/givens.js'
import type { Seeded } from '../../support/seeded.js'
import type { Violation } from './history.js'

/** Some of its credits expire at the end of each period. */
export const CHAOS_PLAN = 'Chaos'

/** Of accounts that do nothing: their subscriptions begin, and end a moment later. It is no plan that grants. */
const ENDING_PLAN = 'Ending'
const ENDING = 2

/** With the table that counts the periods that have ended. */
export async function givenChaosPlan(db: Database): Promise<void> {
  await givenPlan(db, { name: CHAOS_PLAN, credits: 40, carryOver: 10, signUpCredits: 5 })
  await db.pool.query('CREATE TABLE chaos_period_ends (user_id uuid)')
  for (let i = 0; i < ENDING; i++)
    await givenUser(db, { credits: 0, subscription: { plan: ENDING_PLAN, endDate: new Date(0) } })
  await db.pool.query('CREATE TABLE chaos_subscription_ends (user_id uuid)')
}

/** On average. */
const EVERY_MS = 800

/** The period of one subscriber ends, as if a month had passed. Only a settled one: each end brings about one grant. */
const END_PERIOD = `
  WITH ended AS (
    UPDATE subscriptions SET period_end = now(), started_at = now(), check_at = now()
     WHERE user_id = (SELECT user_id FROM subscriptions WHERE plan = '${CHAOS_PLAN}' AND check_at > now() ORDER BY random() LIMIT 1)
       AND check_at > now() AND period_credits IS NOT NULL
    RETURNING user_id
  )
  INSERT INTO chaos_period_ends SELECT user_id FROM ended`

/** Only one whose last end was noticed: each brings about two notices, one of its new end, and one when that has passed. */
const END_SUBSCRIPTION = `
  WITH ended AS (
    UPDATE subscriptions SET end_date = now() + interval '200 milliseconds'
     WHERE user_id = (SELECT user_id FROM subscriptions WHERE plan = '${ENDING_PLAN}' AND notice_at IS NULL ORDER BY random() LIMIT 1)
       AND notice_at IS NULL
    RETURNING user_id
  )
  INSERT INTO chaos_subscription_ends SELECT user_id FROM ended`

/** @param connect to Postgres, past the faults */
export function passPeriods(chance: Seeded, connect: () => Promise<pg.Client>): { stop(): Promise<void> } {
  const stopped = new AbortController()
  const run = async () => {
    while (!stopped.signal.aborted) {
      await delay(chance.gap(EVERY_MS), undefined, { signal: stopped.signal }).catch(() => undefined)
      // Postgres may be away.
      const client = await connect().catch(() => undefined)
      await client?.query(END_PERIOD).catch(() => undefined)
      await client?.query(END_SUBSCRIPTION).catch(() => undefined)
      await client?.end().catch(() => undefined)
    }
  }
  const running = run()
  return {
    async stop() {
      stopped.abort()
      await running
    },
  }
}

const SETTLED_WITHIN_MS = 10_000

/** Each period that has begun was granted once, and nothing else was; each end of a subscription was told once. */
export async function periodViolations(client: pg.Client): Promise<Violation[]> {
  for (const until = Date.now() + SETTLED_WITHIN_MS; ; await delay(250)) {
    const found = [...(await wronglyGranted(client)), ...(await wronglyTold(client))]
    if (found.length === 0 || Date.now() > until) return found
  }
}

async function wronglyGranted(client: pg.Client): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT * FROM (
       SELECT u.username,
              (SELECT count(*) FROM chaos_period_ends e WHERE e.user_id = u.id)::integer + 1 AS begun,
              (SELECT count(*) FROM credit_ledger l WHERE l.user_id = u.id AND l.ref LIKE 'period:%')::integer AS granted,
              (SELECT count(*) FROM credit_ledger l WHERE l.user_id = u.id AND l.ref = 'plan:sign-up')::integer AS welcomes
         FROM subscriptions s JOIN users u ON u.id = s.user_id WHERE s.plan = '${CHAOS_PLAN}') it
      WHERE granted <> begun OR welcomes <> 1`,
  )
  return rows.map(({ username, begun, granted, welcomes }) => ({
    invariant: 'periods',
    what: `${username} was granted ${granted} periods, where ${begun} have begun, and ${welcomes} times credits at sign-up`,
  }))
}

async function wronglyTold(client: pg.Client): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT * FROM (
       SELECT u.username,
              (SELECT count(*) FROM chaos_subscription_ends e WHERE e.user_id = u.id)::integer * 2 + 1 AS changes,
              (SELECT count(*) FROM notices n WHERE n.user_id = u.id AND n.kind = 'subscription.changed')::integer AS told
         FROM subscriptions s JOIN users u ON u.id = s.user_id WHERE s.plan = '${ENDING_PLAN}') it
      WHERE told <> changes`,
  )
  return rows.map(({ username, changes, told }) => ({
    invariant: 'notices',
    what: `${username} was told ${told} times of its subscription, which has changed ${changes} times`,
  }))
}

/** What plans have granted less what has expired, by the user's name. */
export async function grantedByPlans(client: pg.Client): Promise<Map<string, number>> {
  const { rows } = await client.query(
    `SELECT u.username, sum(l.delta)::integer AS credits FROM credit_ledger l JOIN users u ON u.id = l.user_id
      WHERE l.kind = 'expire' OR l.ref = 'plan:sign-up' OR l.ref LIKE 'period:%' GROUP BY 1`,
  )
  return new Map(rows.map(({ username, credits }) => [username, credits]))
}
