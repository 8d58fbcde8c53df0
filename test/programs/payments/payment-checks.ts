/** What payments must have come to, when all of their events are worked off. */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { decidingSubscription } from '../../../src/core/billing/effects.js'
import type { PaidSubscription, PaymentProvider } from '../../../src/core/billing/payment-provider.js'
import { type Bought, type Buyer, keptOf } from './buyers.js'

interface Reader {
  query<Row extends pg.QueryResultRow>(sql: string): Promise<{ readonly rows: Row[] }>
}

export interface Paid {
  readonly on: Reader
  readonly provider: Pick<PaymentProvider, 'subscription'>
  readonly graceDays: number
  readonly buyers: readonly Buyer[]
  readonly bought: readonly Bought[]
}

/** A period is granted a moment after its payment is known. */
const GRANTED_WITHIN_MS = 10_000

/** What is wrong, in a line each. */
export async function wrongOf(paid: Paid): Promise<string[]> {
  for (const until = Date.now() + GRANTED_WITHIN_MS; ; await delay(250)) {
    const found = await wrongNow(paid)
    if (found.length === 0 || Date.now() > until) return found
  }
}

const wrongNow = async (paid: Paid): Promise<string[]> => [
  ...(await wrongPayments(paid)),
  ...(await wrongSubscriptions(paid)),
  ...(await unmatched(paid)),
  ...(await forged(paid)),
]

export async function isWorkedOff(on: Reader): Promise<boolean> {
  const { rows } = await on.query<{ open: string }>(
    `SELECT (SELECT count(*) FROM payment_events WHERE kind IS NOT NULL AND worked_off_at IS NULL)
          + (SELECT count(*) FROM payment_objects WHERE due_at <= now()) AS open`,
  )
  return Number(rows[0]?.open) === 0
}

async function wrongPayments({ on, bought }: Paid): Promise<string[]> {
  const { rows } = await on.query<{ payment: string; purchases: number; kept: number }>(
    `SELECT split_part(ref, ':', 2) AS payment, sum(delta)::integer AS kept,
            (count(*) FILTER (WHERE kind = 'purchase'))::integer AS purchases
       FROM credit_ledger WHERE ref LIKE 'payment:%' GROUP BY 1`,
  )
  const found = new Map(rows.map((row) => [row.payment, row]))
  return bought.flatMap((it) => {
    const { purchases = 0, kept = 0 } = found.get(it.id) ?? {}
    const should = keptOf(it)
    if (kept === should && purchases <= 1) return []
    return [`payment ${it.id} brought ${kept} credits in ${purchases} purchases where it should have brought ${should}`]
  })
}

interface Had {
  readonly user_id: string
  readonly price: string | null
  readonly status: string
  readonly end_date: Date
  readonly paid_until: Date | null
  readonly period_start: Date | null
  readonly now: Date
  readonly grants: number
}

async function wrongSubscriptions({ on, provider, graceDays, buyers }: Paid): Promise<string[]> {
  const { rows } = await on.query<{ user_id: string; id: string }>(
    'SELECT c.user_id, p.id FROM paid_subscriptions p JOIN payment_customers c ON c.id = p.customer',
  )
  const { rows: had } = await on.query<Had>(
    `SELECT s.*, now() AS now, p.price,
            (SELECT count(*) FROM credit_ledger l WHERE l.user_id = s.user_id AND l.ref = 'period:' || to_char(
               s.period_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::integer AS grants
       FROM subscriptions s LEFT JOIN plans p ON p.name = s.plan`,
  )
  const wrong: string[] = []
  for (const { accountId, subscription } of buyers) {
    if (subscription === undefined) continue
    const own = rows.filter((row) => row.user_id === accountId).map(({ id }) => id)
    if (!own.includes(subscription)) wrong.push(`subscription ${subscription} is not known`)
    const states = await Promise.all(own.map((id) => provider.subscription(id)))
    const paid = states.filter((it): it is PaidSubscription => it !== undefined)
    const has = had.find((it) => it.user_id === accountId)
    const decided =
      has &&
      decidingSubscription(
        paid.map((it) => ({ ...it, plan: it.price })),
        graceDays,
        has.now,
      )
    if (!decided) continue
    const should = [decided.plan, decided.status, decided.endDate, decided.paidUntil].join(' ')
    const is = [has.price, has.status, has.end_date, has.paid_until].join(' ')
    if (is !== should) wrong.push(`${accountId} has ${is} where it should have ${should}`)
    const isPaid = decided.isLive && has.period_start !== null && decided.paidUntil > has.period_start
    if (has.grants !== 1 && (isPaid || has.grants > 1))
      wrong.push(`${accountId} was granted its period ${has.grants} times`)
  }
  return wrong
}

/** An account of which several subscriptions count is shown to its operators; all else could be applied. */
async function unmatched({ on }: Paid): Promise<string[]> {
  const { rows } = await on.query<{ kind: string; id: string; problem: string }>(
    `SELECT kind, id, problem FROM payment_objects
      WHERE problem <> 'superfluous' AND dismissed_at IS NULL`,
  )
  return rows.map(({ kind, id, problem }) => `the ${kind} ${id} could not be applied: ${problem}`)
}

async function forged({ on }: Paid): Promise<string[]> {
  const { rows } = await on.query<{ id: string }>(`SELECT id FROM payment_events WHERE id LIKE 'evt_forged%'`)
  return rows.map(({ id }) => `the forged event ${id} was kept`)
}

/** As SQL, for a run that must notice: what was granted is forgotten, and the ledger takes the same reference again. */
export const FORGETS_GRANTS = `
  DROP INDEX credit_ledger_ref;
  CREATE FUNCTION forgets_grants() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.credits := 0; NEW.taken_back := 0; RETURN NEW; END $$;
  CREATE TRIGGER forgets_grants BEFORE INSERT OR UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION forgets_grants()`
