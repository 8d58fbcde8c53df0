import { describe, expect, it } from 'vitest'
import { operatorCreditStore } from '../../../src/db/accounts/ledger.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { operatorSubscriptionStore } from '../../../src/db/accounts/subscriptions.js'
import { useDatabase } from '../../support/database.js'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const SOME_DAY = new Date('2031-05-06T07:08:09.010Z')

/** What the user was told, oldest first, after what their first subscription has told. */
async function toldTo({ id }: { readonly id: string }) {
  const { rows } = await context.db.pool.query(
    'SELECT kind, data, mail_at FROM notices WHERE user_id = $1 ORDER BY id',
    [id],
  )
  return rows.map(({ kind, data, mail_at }) => [kind, data, mail_at !== null])
}

async function given(credits = 100) {
  const { db } = context
  const user = await givenUser(db, { credits, subscription: null })
  const store = operatorCreditStore(db)
  return {
    user,
    take: (amount: number, belowZero = false) => store.adjust(user.id, -amount, { note: 'Corrected', belowZero }),
    grant: (amount: number) => store.grant(user.id, amount, { note: undefined, ref: undefined }),
    told: () => toldTo(user),
  }
}

describe('the notice of few credits', () => {
  it('comes once, when fewer than a fifth are left of what was held after the last grant', async () => {
    const { take, told } = await given()
    await take(80)
    expect(await told()).toEqual([])
    await take(1)
    expect(await told()).toEqual([['credits.low', { credits: 19, below: 20 }, true]])
    await take(5)
    expect(await told()).toHaveLength(1)
  })

  it('is followed by one at 0, and by none below', async () => {
    const { take, told } = await given()
    await take(99)
    await take(1)
    await take(50, true)
    expect((await told()).map(([kind]) => kind)).toEqual(['credits.low', 'credits.out'])
  })

  it('is a single mail where the credits end at once', async () => {
    const { take, told } = await given()
    await take(120, true)
    expect(await told()).toEqual([
      ['credits.low', { credits: -20, below: 20 }, false],
      ['credits.out', { credits: -20 }, true],
    ])
  })

  it('comes again after the next grant, of what is then held', async () => {
    const { take, grant, told } = await given()
    await take(90)
    await grant(190)
    await take(160)
    expect(await told()).toHaveLength(1)
    await take(1)
    expect((await told()).at(-1)).toEqual(['credits.low', { credits: 39, below: 40 }, true])
  })

  it('comes with a charge, and not again when what was given back is charged anew', async () => {
    const { db } = context
    const user = await givenUser(db, { credits: 5 })
    const mine = async () => (await toldTo(user)).filter(([kind]) => kind !== 'subscription.changed')
    await givenEndedGeneration(db, user, { batchSize: 4 }, 'fail')
    expect(await mine()).toEqual([['credits.low', { credits: 1, below: 2 }, true]])
    await givenGeneration(db, user, { batchSize: 4 })
    expect(await mine()).toHaveLength(1)
  })

  it('does not come when a period takes what is left and grants the next credits', async () => {
    const { db } = context
    const user = await givenSubscriber(db, await givenPlan(db, { credits: 100 }))
    await periodStore(db).settle(user.periodEnd)
    const { rows } = await db.pool.query('SELECT kind FROM credit_ledger WHERE user_id = $1 ORDER BY id', [user.id])
    expect(rows.map(({ kind }) => kind)).toEqual(['grant', 'expire', 'grant'])
    expect((await toldTo(user)).filter(([kind]) => kind !== 'subscription.changed')).toEqual([])
  })

  it('is undone with the charge that it came with', async () => {
    const { db } = context
    const { user, told } = await given()
    const client = await db.pool.connect()
    await client.query('BEGIN')
    await client.query('UPDATE users SET credits = 3 WHERE id = $1', [user.id])
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    await client.query('ROLLBACK')
    client.release()
    expect(await told()).toEqual([])
  })
})

describe('the notice of a changed subscription', () => {
  const subscription = (status: string, plan: string, endDate = SOME_DAY) => ({
    subscription: { status, plan, endDate: endDate.toISOString() },
  })
  const changes = async (user: { readonly id: string }) => (await toldTo(user)).map(([, data]) => data)

  it('comes with each change of status, plan or end, and with nothing else', async () => {
    const { db } = context
    const { user } = await given()
    const set = (change: object) =>
      operatorSubscriptionStore(db).set(
        user.id,
        { status: undefined, plan: undefined, endDate: undefined, ...change },
        SOME_DAY,
      )
    await set({ plan: 'Basic' })
    await set({ plan: 'Basic' })
    await set({ plan: 'Pro', status: 'past_due' })
    await set({ endDate: new Date(SOME_DAY.getTime() + 1) })
    await periodStore(db).settle()
    await operatorSubscriptionStore(db).remove(user.id)
    expect(await changes(user)).toEqual([
      subscription('active', 'Basic'),
      subscription('past_due', 'Pro'),
      subscription('past_due', 'Pro', new Date(SOME_DAY.getTime() + 1)),
      { subscription: null },
    ])
  })

  it('comes once when the end passes, however many reconcilers look', async () => {
    const { db } = context
    const user = await givenUser(db)
    await db.pool.query(
      `UPDATE subscriptions SET end_date = now() + interval '200 milliseconds', status = 'canceled' WHERE user_id = $1`,
      [user.id],
    )
    const isOver = async () =>
      (await db.pool.query('SELECT FROM subscriptions WHERE user_id = $1 AND end_date <= now()', [user.id])).rowCount
    await until(isOver, 'the end of the subscription')
    await Promise.all(Array.from({ length: 5 }, () => periodStore(db).noteEnded()))
    await periodStore(db).noteEnded()
    const [, , ...last] = await changes(user)
    expect(last).toEqual([{ subscription: expect.objectContaining({ status: 'expired', plan: 'Pro' }) }])
  })

  it('comes once where the end is set into the past', async () => {
    const { db } = context
    const user = await givenUser(db)
    const past = new Date(Date.now() - 1000)
    await operatorSubscriptionStore(db).set(user.id, { status: undefined, plan: undefined, endDate: past }, SOME_DAY)
    await periodStore(db).noteEnded()
    expect((await changes(user)).slice(1)).toEqual([subscription('expired', 'Pro', past)])
  })

  it('does not come to a deleted account', async () => {
    const { db } = context
    const user = await givenUser(db)
    await db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [user.id])
    await db.pool.query(`UPDATE subscriptions SET status = 'ended' WHERE user_id = $1`, [user.id])
    await db.pool.query('DELETE FROM subscriptions WHERE user_id = $1', [user.id])
    expect(await toldTo(user)).toHaveLength(1)
  })
})

describe('the webhook of a notice', () => {
  it('is not claimed by a server of the release before, which would send it as a test', async () => {
    const { db } = context
    const { user, take } = await given()
    await db.pool.query(
      `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
       VALUES ('whe_of_notices', $1, 'account', 'https://x.example/', '{credits.low}', 's')`,
      [user.id],
    )
    await take(90)
    const claimedBy = async (claim: string) =>
      (await db.pool.query(`SELECT (delivery).type, (delivery).data FROM ${claim}`)).rows.filter(({ type }) => type)
    expect(await claimedBy(`claim_webhook_delivery('{}', interval '20 seconds', 5)`)).toEqual([])
    await db.pool.query(`UPDATE webhook_endpoints SET due_at = now() WHERE id = 'whe_of_notices'`)
    expect(await claimedBy(`claim_webhook('{}', interval '20 seconds', 5, true)`)).toEqual([
      { type: 'credits.low', data: { credits: 10, below: 20 } },
    ])
  })
})
