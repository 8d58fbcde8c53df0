import { describe, expect, it } from 'vitest'
import type { Plan } from '../../../src/core/accounts/plan.js'
import { operatorCreditStore } from '../../../src/db/accounts/ledger.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import type { Slice } from '../../../src/db/audit/audit-database.js'
import { tableChecks } from '../../../src/db/audit/table-checks.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { useDatabase } from '../../support/database.js'
import { givenPlan as givenPlanIn } from '../../support/given-plan.js'
import { aGeneration, creditsOf, type GivenUser, givenUser } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const END = new Date('2040-01-01')

const givenPlan = (more: Partial<Plan> = {}) => givenPlanIn(context.db, more)

/** Subscribed since that moment, without any credits. */
async function givenSubscriber(plan: Plan, startedAt: string): Promise<GivenUser> {
  const { db } = context
  const user = await givenUser(db, { credits: 0, subscription: { plan: plan.name, endDate: END } })
  await db.pool.query('UPDATE subscriptions SET started_at = $1, check_at = $1 WHERE user_id = $2', [
    startedAt,
    user.id,
  ])
  return user
}

/** As the reconciler does it, at that moment, until nothing is due. */
async function settle(at: string | Date) {
  for (;;) if ((await periodStore(context.db).settle(new Date(at))) === 0) return
}

const ledgerOf = async ({ id }: GivenUser) =>
  (
    await context.db.pool.query(
      `SELECT kind, delta, balance, expiring_delta AS expires, expiring_balance AS expiring, note
         FROM credit_ledger WHERE user_id = $1 ORDER BY id`,
      [id],
    )
  ).rows

const linesOf = async (user: GivenUser) =>
  (await ledgerOf(user)).map(
    ({ kind, delta, balance, note }) => `${kind} ${delta} → ${balance}${note ? ` (${note})` : ''}`,
  )

const expiringOf = async ({ id }: GivenUser) =>
  (await context.db.pool.query('SELECT expiring_credits FROM users WHERE id = $1', [id])).rows[0].expiring_credits

const expiringViolations = async () => {
  const check = tableChecks(true)['expiring-credits-add-up']
  const tables = { near: 'credit_ledger', isNearest: 'true', ledger: 'credit_ledger' }
  const all = { generations: 'generations', ledger: 'credit_ledger', tables } as Slice
  return (await context.db.pool.query(typeof check === 'function' ? check(all) : (check as string))).rows
}

/** Charges so many credits. */
async function spend(user: GivenUser, credits: number): Promise<string> {
  const generation = { ...aGeneration(user), cost: credits }
  const { outcome } = await submissionStore(context.db).insert(generation, {
    deadlineSeconds: 600,
    idempotencyKey: undefined,
  })
  expect(outcome).toBe('inserted')
  return generation.id
}
/** As by a generation that is not given back. */
const spendForGood = async (user: GivenUser, credits: number) => {
  const id = await spend(user, credits)
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE id = $1`,
    [id],
  )
}

describe('three years of a subscription', () => {
  it.each([
    ['month', 0],
    ['month', 250],
    ['month', null],
    ['year', 0],
    ['year', null],
  ] as const)(
    'by %s, of whose credits %s stay, grant each period once and explain each credit',
    async (period, carryOver) => {
      const plan = await givenPlan({ period, carryOver })
      const start = new Date('2027-01-31T10:30:00Z')
      const user = await givenSubscriber(plan, start.toISOString())
      await operatorCreditStore(context.db).grant(user.id, 1000, { note: 'bought', ref: undefined })
      let spent = 0
      for (let day = 0; day <= 3 * 365 + 1; day += 1) {
        const now = new Date(start.getTime() + day * 86_400_000)
        // Twice at once, as by two reconcilers of which one has lost the lease.
        await Promise.all([settle(now), settle(now)])
        if (day % 40 === 5) {
          await spendForGood(user, 30)
          spent += 30
        }
        if (day % 97 === 9)
          await cancelStore(context.db).cancel(await spend(user, 50), 'Canceled.', { onlyQueued: true })
      }
      const ledger = await ledgerOf(user)
      const sum = (which: (row: (typeof ledger)[number]) => boolean) =>
        ledger.filter(which).reduce((total, { delta }) => total + delta, 0)
      const periods = period === 'month' ? 37 : 4
      expect(ledger.filter(({ kind, note }) => kind === 'grant' && note !== 'bought')).toHaveLength(periods)
      expect(sum(({ kind }) => kind === 'grant')).toBe(1000 + periods * 100)
      expect(sum(({ kind }) => kind === 'charge') + sum(({ kind }) => kind === 'refund')).toBe(-spent)
      expect(await creditsOf(context.db, user)).toBe(sum(() => true))
      // What was bought never expires.
      let [balance, expiring] = [0, 0]
      for (const row of ledger) {
        const held = expiring
        balance += row.delta
        expiring += row.expires
        expect(row).toMatchObject({ balance, expiring })
        // What expires is spent first, and nothing else ever expires.
        if (row.kind === 'charge') expect(row.expires + Math.min(held, -row.delta)).toBe(0)
        if (row.kind === 'expire') expect(row.expires).toBe(row.delta)
        expect(expiring).toBeGreaterThanOrEqual(0)
      }
      if (carryOver !== null) expect(await expiringOf(user)).toBeLessThanOrEqual(carryOver + 100)
      else expect(sum(({ kind }) => kind === 'expire')).toBe(0)
    },
  )
})

describe('credits of a plan', () => {
  it('are spent before bought ones, given back as what they were, and expire at the end of the period', async () => {
    const user = await givenSubscriber(await givenPlan({ name: 'Basic' }), '2027-01-01')
    await settle('2027-01-01')
    await operatorCreditStore(context.db).grant(user.id, 50, { note: 'bought', ref: undefined })
    const id = await spend(user, 120)
    expect(await expiringOf(user)).toBe(0)
    await cancelStore(context.db).cancel(id, 'Canceled.', { onlyQueued: true })
    expect(await expiringOf(user)).toBe(100)
    await spendForGood(user, 10)
    await settle('2027-02-01')
    expect(await linesOf(user)).toEqual([
      'grant 100 → 100 (Basic, 2027-01-01 to 2027-02-01)',
      'grant 50 → 150 (bought)',
      'charge -120 → 30',
      'refund 120 → 150',
      'charge -10 → 140',
      'expire -90 → 50 (Basic, left of 2027-01-01 to 2027-02-01)',
      'grant 100 → 150 (Basic, 2027-02-01 to 2027-03-01)',
    ])
  })

  it('never expire for an account that owes more than it has', async () => {
    const user = await givenSubscriber(await givenPlan({ name: 'Debt' }), '2027-01-01')
    await settle('2027-01-01')
    await operatorCreditStore(context.db).adjust(user.id, -130, { note: 'dispute', belowZero: true })
    await settle('2027-02-01')
    expect(await linesOf(user)).toEqual([
      'grant 100 → 100 (Debt, 2027-01-01 to 2027-02-01)',
      'adjustment -130 → -30 (dispute)',
      'grant 100 → 70 (Debt, 2027-02-01 to 2027-03-01)',
    ])
  })

  it('that pay a debt do not expire, nor does then what is bought', async () => {
    const plan = await givenPlan({ name: 'Owed', carryOver: 50 })
    const user = await givenSubscriber(plan, '2027-01-01')
    const { adjust, grant } = operatorCreditStore(context.db)
    await settle('2027-01-01')
    const id = await spend(user, 90)
    await adjust(user.id, -130, { note: 'dispute', belowZero: true })
    await cancelStore(context.db).cancel(id, 'Canceled.', { onlyQueued: true })
    expect(await expiringOf(user)).toBe(0)
    await settle('2027-02-01')
    expect(await expiringOf(user)).toBe(70)
    await grant(user.id, 40, { note: 'bought', ref: undefined })
    // Over two ends of periods at once.
    await settle('2027-04-01')
    expect(await linesOf(user)).toEqual([
      'grant 100 → 100 (Owed, 2027-01-01 to 2027-02-01)',
      'charge -90 → 10',
      'adjustment -130 → -120 (dispute)',
      'refund 90 → -30',
      'grant 100 → 70 (Owed, 2027-02-01 to 2027-03-01)',
      'grant 40 → 110 (bought)',
      'expire -20 → 90 (Owed, left of 2027-02-01 to 2027-03-01)',
      'grant 100 → 190 (Owed, 2027-03-01 to 2027-04-01)',
      'expire -100 → 90 (Owed, left of 2027-03-01 to 2027-04-01)',
      'grant 100 → 190 (Owed, 2027-04-01 to 2027-05-01)',
    ])
    expect(await expiringOf(user)).toBe(150)
  })

  it('are left as they are by a release that knows none, and never more than the balance after it', async () => {
    const user = await givenSubscriber(await givenPlan({ name: 'Older' }), '2027-01-01')
    await settle('2027-01-01')
    await spendForGood(user, 10)
    const id = await spend(user, 70)
    await unguarded(context.db, 'UPDATE users SET expiring_credits = 90 WHERE id = $1', [user.id])
    await unguarded(
      context.db,
      'UPDATE credit_ledger SET expiring_delta = DEFAULT, expiring_balance = DEFAULT WHERE generation_id = $1',
      [id],
    )
    expect(await expiringViolations()).toEqual([])
    await operatorCreditStore(context.db).grant(user.id, 50, { note: 'bought', ref: undefined })
    expect(await expiringOf(user)).toBe(20)
    await settle('2027-02-01')
    expect((await linesOf(user)).slice(-2)).toEqual([
      'expire -20 → 50 (Older, left of 2027-01-01 to 2027-02-01)',
      'grant 100 → 150 (Older, 2027-02-01 to 2027-03-01)',
    ])
    expect(await expiringViolations()).toEqual([])
  })

  it('are given at sign-up also where an operator has given some with the reference "sign-up"', async () => {
    const user = await givenSubscriber(await givenPlan({ credits: 0, signUpCredits: 30 }), '2027-01-01')
    await operatorCreditStore(context.db).grant(user.id, 7, { note: undefined, ref: 'sign-up' })
    await settle('2027-01-01')
    expect(await creditsOf(context.db, user)).toBe(37)
  })

  it('expire at once when the subscription is taken away, and nothing is granted without one', async () => {
    const user = await givenSubscriber(await givenPlan({ name: 'Gone' }), '2027-01-01')
    await settle('2027-01-10')
    await operatorSubscriptionStore(context.db).remove(user.id)
    await settle('2027-06-01')
    expect(await linesOf(user)).toEqual([
      'grant 100 → 100 (Gone, 2027-01-01 to 2027-02-01)',
      'expire -100 → 0 (Gone, left of 2027-01-01 to 2027-02-01)',
    ])
  })

  it('are granted to nobody whose plan there is not, until there is one, and to no deleted account', async () => {
    const name = `Later ${crypto.randomUUID()}`
    const [user, deleted] = [
      await givenSubscriber({ name } as Plan, '2027-01-01'),
      await givenSubscriber({ name } as Plan, '2027-01-01'),
    ]
    await settle('2027-01-02')
    await context.db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [deleted.id])
    await givenPlan({ name })
    await settle('2027-03-15')
    expect(await linesOf(user)).toHaveLength(1)
    expect(await linesOf(deleted)).toEqual([])
  })

  it('expire at the end of the period also when the subscription then names no plan, and nothing is granted for that time', async () => {
    const plan = await givenPlan({ name: 'Left' })
    const user = await givenSubscriber(plan, '2027-01-01')
    const name = (plan: string) =>
      context.db.pool.query(`UPDATE subscriptions SET plan = $2, check_at = '2027-01-02' WHERE user_id = $1`, [
        user.id,
        plan,
      ])
    await settle('2027-01-10')
    await name('No such plan')
    await settle('2027-01-20')
    expect(await creditsOf(context.db, user)).toBe(100)
    await settle('2027-03-20')
    await name(plan.name)
    await settle('2027-06-10')
    expect(await linesOf(user)).toEqual([
      'grant 100 → 100 (Left, 2027-01-01 to 2027-02-01)',
      'expire -100 → 0 (Left, left of 2027-01-01 to 2027-02-01)',
      'grant 100 → 100 (Left, 2027-06-10 to 2027-07-10)',
    ])
  })

  it('are granted by a plan that is imported just when the reconciler leaves a subscription that names it', async () => {
    const name = `Meanwhile ${crypto.randomUUID()}`
    const user = await givenSubscriber({ name } as Plan, '2027-01-01')
    const reconciler = await context.db.pool.connect()
    await reconciler.query('BEGIN')
    await reconciler.query('UPDATE subscriptions SET check_at = NULL WHERE user_id = $1', [user.id])
    const imported = givenPlan({ name })
    const waits = until(async () => {
      const { rows } = await context.db.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    }, 'the import waits')
    await Promise.race([imported, waits])
    await reconciler.query('COMMIT')
    reconciler.release()
    await Promise.all([imported, waits.catch(() => undefined)])
    await settle(new Date(Date.now() + 60_000))
    expect(await creditsOf(context.db, user)).toBe(100)
  })

  it('hold no other subscription up when one cannot be granted', async () => {
    const plan = await givenPlan()
    const [full, user] = [await givenSubscriber(plan, '2027-01-01'), await givenSubscriber(plan, '2027-01-02')]
    await operatorCreditStore(context.db).grant(full.id, Number.MAX_SAFE_INTEGER, { note: undefined, ref: undefined })
    await expect(periodStore(context.db).settle(new Date('2027-01-03'))).rejects.toThrow(/users_credits_check/)
    expect(await creditsOf(context.db, user)).toBe(100)
    await context.db.pool.query('UPDATE subscriptions SET check_at = NULL WHERE user_id = $1', [full.id])
  })
})

describe('a change of a subscription', () => {
  /** A subscriber whose clock the test sets, and what an operator does to the subscription at a moment. */
  async function givenChanges(plan: Plan, start: string) {
    let now = new Date(start)
    const user = await givenUser(context.db, { credits: 0, subscription: null })
    const store = operatorSubscriptionStore(context.db, () => now)
    const at = async (moment: string | Date, act: () => Promise<unknown> = async () => undefined) => {
      now = new Date(moment)
      await settle(now)
      await act()
      await settle(now)
    }
    const set = (change: { plan?: string; status?: string; endDate?: Date }) => () =>
      store.set(user.id, { plan: undefined, status: undefined, endDate: undefined, ...change }, END)
    await at(start, set({ plan: plan.name }))
    return { user, at, set, remove: () => store.remove(user.id) }
  }
  const amountsOf = async (user: GivenUser) => (await ledgerOf(user)).map(({ kind, delta }) => `${kind} ${delta}`)

  it('is settled within the next pass, and brings a larger plan the difference at once', async () => {
    const [small, large] = [await givenPlan(), await givenPlan({ credits: 300 })]
    const { user, at, set } = await givenChanges(small, '2027-01-01')
    await at('2027-01-02', set({ plan: large.name }))
    expect(await amountsOf(user)).toEqual(['grant 100', 'grant 200'])
  })

  it.each([0, null])(
    'from month to year and back all year grants what one year does, if %s stay of a period',
    async (carryOver) => {
      const month = await givenPlan({ carryOver })
      const year = await givenPlan({ credits: 1200, period: 'year', carryOver })
      const { user, at, set } = await givenChanges(month, '2027-01-01')
      for (let day = 3; day < 360; day += 9)
        await at(new Date(Date.UTC(2027, 0, day)), set({ plan: (day % 2 ? year : month).name }))
      const granted = (await ledgerOf(user)).filter(({ kind }) => kind === 'grant')
      expect(granted.map(({ delta }) => delta)).toEqual([100, 1100])
    },
  )

  it('from a year to months leaves the months what is left of the year, and grants what they are worth more', async () => {
    const [month, year] = [await givenPlan({ credits: 500 }), await givenPlan({ credits: 1200, period: 'year' })]
    const { user, at, set } = await givenChanges(year, '2027-01-01')
    await at('2027-01-10', set({ plan: month.name }))
    await at('2027-04-10')
    // At the end of each month stays what is for those to come.
    expect(await amountsOf(user)).toEqual([
      ...['grant 1200', 'expire -500', 'expire -500', 'grant 300'],
      ...['expire -500', 'grant 500'],
    ])
  })

  it('that takes it away and begins it again grants within the period what expired, and no more', async () => {
    const plan = await givenPlan()
    const { user, at, set, remove } = await givenChanges(plan, '2027-01-01')
    await at('2027-01-05', () => spendForGood(user, 30))
    for (const day of [6, 7]) {
      await at(`2027-01-0${day}`, remove)
      await at(`2027-01-0${day}T12:00:00Z`, set({ plan: plan.name }))
    }
    await at('2027-02-01')
    expect(await amountsOf(user)).toEqual([
      ...['grant 100', 'charge -30'],
      ...['expire -70', 'grant 70', 'expire -70', 'grant 70'],
      ...['expire -70', 'grant 100'],
    ])
  })

  it('that lets it end and begin again in the same period grants nothing, and after the period a new one', async () => {
    const { user, at, set } = await givenChanges(await givenPlan({ carryOver: null }), '2027-01-31')
    for (const day of [1, 5, 9]) {
      await at(`2027-02-0${day}`, set({ endDate: new Date(`2027-02-0${day + 1}`) }))
      await at(`2027-02-0${day + 2 > 9 ? 9 : day + 2}T23:00:00Z`, set({ endDate: END }))
    }
    await at('2027-02-20', set({ endDate: new Date('2027-02-21') }))
    await at('2027-03-10', set({ endDate: END }))
    await at('2027-04-10')
    expect((await linesOf(user)).map((line) => line.replace(/Plan [-0-9a-f]+/, 'Plan'))).toEqual([
      'grant 100 → 100 (Plan, 2027-01-31 to 2027-02-28)',
      'grant 100 → 200 (Plan, 2027-03-10 to 2027-04-10)',
      'grant 100 → 300 (Plan, 2027-04-10 to 2027-05-10)',
    ])
  })

  it('that lets it end and begin again in the same period takes nothing either', async () => {
    const { user, at, set } = await givenChanges(await givenPlan(), '2027-01-01')
    await at('2027-01-05', set({ endDate: new Date('2027-01-06') }))
    await at('2027-01-08', set({ endDate: END }))
    expect(await amountsOf(user)).toEqual(['grant 100'])
    await at('2027-02-01')
    expect(await amountsOf(user)).toEqual(['grant 100', 'expire -100', 'grant 100'])
  })

  it('of the plan itself from months to years begins with the next period', async () => {
    const plan = await givenPlan({ carryOver: null })
    const { user, at } = await givenChanges(plan, '2027-01-15')
    await at('2027-03-20')
    await givenPlan({ ...plan, credits: 1200, period: 'year' })
    await at('2027-03-21')
    await at('2028-04-15')
    expect(await amountsOf(user)).toEqual(['grant 100', 'grant 100', 'grant 100', 'grant 1200', 'grant 1200'])
  })
})

describe('a subscription that has ended', () => {
  it('keeps its last period when it is changed without a later end', async () => {
    const user = await givenSubscriber(await givenPlan(), new Date(Date.now() - 1000).toISOString())
    const subscriptions = operatorSubscriptionStore(context.db)
    const set = (change: { status?: string; endDate?: Date }) =>
      subscriptions.set(user.id, { plan: undefined, status: undefined, endDate: undefined, ...change }, END)
    await settle(new Date())
    await set({ endDate: new Date(Date.now() - 1000) })
    await set({ status: 'canceled' })
    await settle(new Date(Date.now() + 1000))
    expect(await creditsOf(context.db, user)).toBe(100)
  })
})

describe('a correction of credits', () => {
  it('takes what is there, and more only if told to', async () => {
    const user = await givenUser(context.db, { credits: 10 })
    const { adjust } = operatorCreditStore(context.db)
    const by = (amount: number, belowZero = false) => adjust(user.id, amount, { note: 'because', belowZero })
    expect(await by(-4)).toEqual({ outcome: 'adjusted', delta: -4, balance: 6 })
    expect(await by(-50)).toEqual({ outcome: 'adjusted', delta: -6, balance: 0 })
    expect(await by(-1)).toEqual({ outcome: 'nothing_to_take', balance: 0 })
    expect(await by(-5, true)).toEqual({ outcome: 'adjusted', delta: -5, balance: -5 })
    expect(await by(-5)).toEqual({ outcome: 'nothing_to_take', balance: -5 })
    expect(await by(8)).toEqual({ outcome: 'adjusted', delta: 8, balance: 3 })
    expect(await linesOf(user)).toEqual([
      'grant 10 → 10',
      'adjustment -4 → 6 (because)',
      'adjustment -6 → 0 (because)',
      'adjustment -5 → -5 (because)',
      'adjustment 8 → 3 (because)',
    ])
  })

  it('takes bought credits before those that expire, which are then fewer only if nothing else is left', async () => {
    const user = await givenSubscriber(await givenPlan(), '2027-01-01')
    await settle('2027-01-01')
    const { adjust, grant } = operatorCreditStore(context.db)
    await grant(user.id, 40, { note: undefined, ref: undefined })
    await adjust(user.id, -30, { note: 'x', belowZero: false })
    expect(await expiringOf(user)).toBe(100)
    await adjust(user.id, -30, { note: 'x', belowZero: false })
    expect(await expiringOf(user)).toBe(80)
  })
})
