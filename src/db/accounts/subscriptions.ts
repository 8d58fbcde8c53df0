import { eq, sql } from 'drizzle-orm'
import type { Subscription } from '../../core/accounts/account.js'
import { type Database, withTransaction } from '../client.js'
import { subscriptions as s } from '../schema/accounts.js'
import { columns, param, selectAs, setList, statement } from '../statement.js'
import { endPeriod } from './subscription-periods.js'

/** Its status: expired once its end has passed, by Postgres's clock. */
export const STATUS_NOW = sql<string>`CASE WHEN ${s.endDate} <= now() THEN 'expired' ELSE ${s.status} END`
export const SUBSCRIPTION = { status: STATUS_NOW, ...columns(s, 'plan', 'endDate') }

type SubscriptionChange = { readonly [Field in keyof Subscription]: Subscription[Field] | undefined }

const STATUS = sql`${param('status')}::text`
const END_DATE = sql`${param('endDate')}::timestamptz`
const NOW = sql`coalesce(${param('now')}::timestamptz, now())`
// A period that was granted goes on when its subscription begins again in it.
const IS_IN_PERIOD = sql`coalesce(${s.periodCredits} > 0 AND ${s.periodEnd} > ${NOW}, false)`
const CHANGED = {
  status: sql`coalesce(${STATUS}, ${s.status})`,
  endDate: sql`coalesce(${END_DATE}, ${s.endDate})`,
  // One that begins again after its end counts its periods anew.
  startedAt: sql`CASE WHEN ${s.endDate} <= ${NOW} AND ${END_DATE} > ${NOW} AND NOT ${IS_IN_PERIOD} THEN ${NOW}
    ELSE ${s.startedAt} END`,
  checkAt: NOW,
  // A paid one comes back with the provider's next answer.
  paidUntil: null,
}

const CHANGE = statement<Subscription>('change_subscription')`
  UPDATE ${s} SET ${setList(s, CHANGED)} WHERE ${s.userId} = ${param('userId')} RETURNING ${selectAs(SUBSCRIPTION)}`

const CHANGE_OR_BEGIN = statement<Subscription>('begin_subscription')`
  INSERT INTO ${s} (user_id, plan, status, end_date, started_at, check_at)
  VALUES (${param('userId')}, ${param('plan')}, coalesce(${STATUS}, 'active'),
          coalesce(${END_DATE}, ${param('defaultEnd')}::timestamptz), ${NOW}, ${NOW})
  ON CONFLICT (user_id) DO UPDATE SET ${setList(s, { plan: sql`excluded.plan`, ...CHANGED })}
  RETURNING ${selectAs(SUBSCRIPTION)}`

/** @param clock instead of Postgres's */
export const operatorSubscriptionStore = (db: Database, clock?: () => Date) => ({
  /**
   * Changes what is given and keeps the rest. A new subscription is active until `defaultEnd` unless told otherwise; it
   * needs a plan: without one the result is undefined.
   */
  set: (userId: string, change: SubscriptionChange, defaultEnd: Date): Promise<Subscription | undefined> =>
    (change.plan === undefined ? CHANGE : CHANGE_OR_BEGIN).first(db.pool, {
      ...change,
      userId,
      defaultEnd,
      now: clock?.(),
    }),

  /** Ends its period, too: what expires at the end of it expires now. */
  remove: (userId: string): Promise<void> =>
    withTransaction(db, async (tx, client) => {
      await endPeriod(client, userId, clock?.())
      await tx.delete(s).where(eq(s.userId, userId))
    }),
})
