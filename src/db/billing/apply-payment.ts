/** What a payment brings its account, and what is taken back when its money went back. */
import { takenBackOf } from '../../core/billing/effects.js'
import type { Payment } from '../../core/billing/payment-provider.js'
import type { Problem } from '../../core/billing/ports.js'
import { moveCredits } from '../accounts/move-credits.js'
import { grantedPeriods as g, users as u } from '../schema/accounts.js'
import { paymentCustomers as c, payments as m, paidSubscriptions as p } from '../schema/billing.js'
import { creditLedger as l } from '../schema/ledger.js'
import {
  columns,
  insertInto,
  param,
  type Queryable,
  type RowOf,
  selectAs,
  setList,
  statement,
  typedParams,
} from '../statement.js'
import { accountOfCustomer, uuidOrNull } from './account-of-customer.js'

const FACTS = [
  ...(['customer', 'amount', 'currency', 'returned', 'paidAt', 'isPending'] as const),
  ...(['pack', 'subscription', 'periodStart'] as const),
] as const
const MOVED = columns(m, 'userId', 'credits', 'takenBack', 'moves', 'periodStart')
type Moved = RowOf<typeof MOVED>

// Which period it was for depends on the subscription as it was then.
const KEEP = statement<Moved>('keep_payment')`
  ${insertInto(m, typedParams(m, 'id', ...FACTS))}
  ON CONFLICT (id) DO UPDATE SET
    customer = excluded.customer, amount = excluded.amount, currency = excluded.currency, returned = excluded.returned,
    paid_at = excluded.paid_at, is_pending = excluded.is_pending, pack = excluded.pack, subscription = excluded.subscription,
    period_start = coalesce(payments.period_start, excluded.period_start)
  RETURNING ${selectAs(MOVED)}`

const SAVE = statement('payment_moved')`
  UPDATE ${m} SET ${setList(m, typedParams(m, 'userId', 'credits', 'takenBack', 'moves'))} WHERE ${m.id} = ${param('id')}::text`

const ACCOUNT = statement<{ deletedAt: Date | null }>('lock_account_of_payment')`
  SELECT ${u.deletedAt} AS "deletedAt" FROM ${u} WHERE ${u.id} = ${param('userId')}::uuid FOR NO KEY UPDATE`

/** What another service of the same owner has sold is of no subscription that is known, and of nobody's customer here. */
const IS_OURS = statement('payment_is_ours')`
  SELECT WHERE EXISTS (SELECT FROM ${p} WHERE ${p.id} = ${param('subscription')}::text)
     OR EXISTS (SELECT FROM ${c} WHERE ${c.id} = ${param('customer')}::text AND ${c.userId} IS NOT NULL)`

const OF_SUBSCRIPTION = statement<{ userId: string | null }>('account_of_paid_subscription')`
  SELECT ${c.userId} AS "userId" FROM ${p} JOIN ${c} ON ${c.id} = ${p.customer} WHERE ${p.id} = ${param('id')}::text`

// Also what a larger plan granted later in the period. What has expired was not spent.
const PERIOD = statement<{ credits: number; expiring: number }>('granted_in_period')`
  SELECT coalesce(sum(${l.delta}), 0)::bigint AS credits, coalesce(sum(${l.expiringDelta}), 0)::bigint AS expiring
    FROM ${l} WHERE ${l.userId} = ${param('userId')}::uuid
     AND (${l.ref} LIKE ${param('granted')}::text || '%' OR ${l.ref} LIKE ${param('expired')}::text || '%')`

const TAKEN_BY_OTHERS = statement<{ credits: number }>('taken_back_of_period')`
  SELECT coalesce(sum(${m.takenBack}), 0)::bigint AS credits FROM ${m}
   WHERE ${m.subscription} = ${param('subscription')}::text AND ${m.periodStart} = ${param('start')}::timestamptz
     AND ${m.id} <> ${param('id')}::text`

/** What was given back of a year pays for none of its months any more. After the account, as where periods are granted. */
const OF_YEAR = statement('year_of_payment_moved')`
  UPDATE ${g} SET credits_left = least(greatest(${g.left} + ${param('delta')}::bigint, 0), ${g.credits})
   WHERE ${g.userId} = ${param('userId')}::uuid AND NOT ${g.byHand} AND ${g.kind} = 'year'
     AND ${g.start} = ${param('start')}::timestamptz`

interface PaymentEffect {
  readonly problem: Problem | null
  /** Whether money went back for credits that are not there yet. */
  readonly hasWaiting: boolean
  /** Another service of the same owner has sold it. */
  readonly isForeign?: boolean
}

const nothing = (problem: Problem | null): PaymentEffect => ({ problem, hasWaiting: false })

/** In a transaction. */
export async function applyPayment(on: Queryable, payment: Payment): Promise<PaymentEffect> {
  const { id, of, isPaid } = payment
  const subscription = of && 'subscription' in of ? of.subscription : null
  const isOurs =
    (of && 'pack' in of) ||
    (payment.customer?.accountId ?? null) !== null ||
    (await IS_OURS.count(on, { subscription, customer: payment.customer?.id })) > 0
  if (!isOurs) return { ...nothing(null), isForeign: true }
  const ofCustomer = payment.customer ? await accountOfCustomer(on, payment.customer) : undefined
  const known = await KEEP.first(on, {
    ...payment,
    isPending: payment.isPending ?? false,
    customer: payment.customer?.id,
    pack: of && 'pack' in of ? of.pack : undefined,
    subscription,
    periodStart: of && 'subscription' in of ? of.periodStart : undefined,
  })
  if (!known) throw new Error('a payment was neither added nor changed')
  const isOpen = isPaid && payment.returned < payment.amount
  if (!of) return nothing(isOpen ? 'not_asked_for' : null)

  const userId = known.userId ?? (await accountOf(on, of)) ?? ofCustomer
  if (!userId) return nothing(isOpen ? 'no_account' : null)
  const account = await ACCOUNT.first(on, { userId })
  if (!account) return nothing(isOpen ? 'no_account' : null)
  if (account.deletedAt) return nothing(isOpen && 'pack' in of ? 'account_deleted' : null)

  const before = { ...known, userId, id }
  if ('pack' in of) {
    const after = isPaid && known.credits === 0 ? await grant(on, before, of) : before
    await takeBack(on, after, payment, { what: of.pack, expires: false })
    return nothing(null)
  }
  if (payment.returned === 0 && known.credits === 0) return nothing(null)
  const start = (known.periodStart ?? of.periodStart).toISOString()
  const period = await PERIOD.first(on, { userId, granted: `period:${start}`, expired: `expire:${start}` })
  // As it was when the money went back first: what is left of it later says nothing.
  const others = await TAKEN_BY_OTHERS.first(on, { subscription: of.subscription, start, id })
  const credits = known.credits || Math.max((period?.credits ?? 0) - (others?.credits ?? 0), 0)
  const what = `the period from ${start.slice(0, 10)}`
  const delta = await takeBack(on, { ...before, credits }, payment, { what, expires: (period?.expiring ?? 0) > 0 })
  if (delta !== 0) await OF_YEAR.run(on, { userId, start, delta })
  return { problem: null, hasWaiting: credits === 0 }
}

type Of = NonNullable<Payment['of']>

/** That which it was paid for. */
async function accountOf(on: Queryable, of: Of): Promise<string | undefined> {
  if ('subscription' in of) return (await OF_SUBSCRIPTION.first(on, { id: of.subscription }))?.userId ?? undefined
  const userId = uuidOrNull(of.accountId)
  return userId && (await ACCOUNT.first(on, { userId })) ? userId : undefined
}

type Held = Moved & { readonly id: string; readonly userId: string }

async function grant(on: Queryable, held: Held, of: Extract<Of, { pack: string }>): Promise<Held> {
  const { id, userId } = held
  const { credits, pack: note } = of
  if (credits > 0) await moveCredits(on, { userId, kind: 'purchase', delta: credits, ref: `payment:${id}`, note })
  await SAVE.run(on, { ...held, credits })
  return { ...held, credits }
}

/** Takes back what is to be, and has not been; gives again what was taken for a dispute that was won. Resolves to what the account got. */
async function takeBack(
  on: Queryable,
  held: Held,
  payment: Payment,
  { what, expires }: { readonly what: string; readonly expires: boolean },
): Promise<number> {
  const { id, userId, credits } = held
  const takenBack = takenBackOf(credits, payment)
  if (takenBack === held.takenBack) return 0
  const delta = held.takenBack - takenBack
  const moves = held.moves + 1
  const note = delta < 0 ? `Payment given back: ${what}` : `Payment kept after all: ${what}`
  const ref = `payment:${id}:${moves}`
  await moveCredits(on, { userId, kind: 'adjustment', delta, expiring: expires ? delta : 0, ref, note })
  await SAVE.run(on, { ...held, takenBack, moves })
  return delta
}
