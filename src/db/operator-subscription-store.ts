import type { Subscription } from '../account/account.js'
import type { Database } from './client.js'

export interface SubscriptionChange {
  readonly plan: string | undefined
  readonly status: string | undefined
  readonly endDate: Date | undefined
}

/** As a subscription `s` is now, whatever a process's own clock says; null without one. */
export const STATUS_NOW = `CASE WHEN s.end_date <= now() THEN 'expired' ELSE s.status END`

const CHANGE = `
  UPDATE subscriptions s
     SET plan = coalesce($2, plan), status = coalesce($3, status), end_date = coalesce($4, end_date)
   WHERE user_id = $1
  RETURNING ${STATUS_NOW} AS status, plan, end_date AS "endDate"`

const BEGIN = `
  INSERT INTO subscriptions AS s (user_id, plan, status, end_date)
  VALUES ($1, $2, coalesce($3, 'active'), coalesce($4::timestamptz, $5::timestamptz))
  ON CONFLICT (user_id) DO UPDATE
    SET plan = excluded.plan, status = coalesce($3, s.status), end_date = coalesce($4, s.end_date)
  RETURNING ${STATUS_NOW} AS status, plan, end_date AS "endDate"`

export const operatorSubscriptionStore = ({ pool }: Database) => ({
  /**
   * Changes what is given and keeps the rest. A first subscription is active until `defaultEnd` unless told otherwise;
   * without a plan there is none to begin, and the answer is undefined.
   */
  async set(userId: string, change: SubscriptionChange, defaultEnd: Date): Promise<Subscription | undefined> {
    const values = [userId, change.plan ?? null, change.status ?? null, change.endDate ?? null]
    const changed = await pool.query<Subscription>(CHANGE, values)
    if (changed.rows[0] || change.plan === undefined) return changed.rows[0]
    return (await pool.query<Subscription>(BEGIN, [...values, defaultEnd])).rows[0]
  },

  async remove(userId: string): Promise<void> {
    await pool.query('DELETE FROM subscriptions WHERE user_id = $1', [userId])
  },
})
